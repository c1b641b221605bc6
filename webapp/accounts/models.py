"""People, teams and who is what in which team."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.core.validators import RegexValidator
from django.db import models

from webapp.accounts.subject import Subject

NAMESPACE_PATTERN = r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$"


class User(AbstractUser):
    """A person. `is_staff` makes a platform admin; everybody else sees only what their teams own."""

    class Meta:
        db_table = "accounts_user"

    @property
    def is_platform_admin(self) -> bool:
        return self.is_active and self.is_staff


class Team(models.Model):
    """A group of people who share workloads. Each team is one namespace: users never name a namespace."""

    slug = models.SlugField(max_length=40, unique=True)
    name = models.CharField(max_length=80)
    namespace = models.CharField(
        max_length=40,
        unique=True,
        validators=[
            RegexValidator(NAMESPACE_PATTERN, "A namespace is a DNS label of 1 to 40 characters.")
        ],
    )
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="teams"
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def access_subject(self) -> Subject:
        return Subject(team_ids=frozenset({self.pk}))


class Membership(models.Model):
    class Role(models.TextChoices):
        LEAD = "lead", "Lead"
        DEVELOPER = "developer", "Developer"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices, default=Role.DEVELOPER)

    class Meta:
        constraints = [
            # One role per person and team: two rows could disagree about what a person may do.
            models.UniqueConstraint(fields=["user", "team"], name="one_membership_per_team"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.team} ({self.role})"
