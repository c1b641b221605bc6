"""Compute classes: the ordered rules by which capacity is found, as revisions."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from slipway.compute_class import ComputeClassSpec
from webapp.accounts.models import Team, User
from webapp.accounts.subject import Subject


class ComputeClassQuerySet(models.QuerySet["ComputeClass"]):
    def usable_by(self, team: Team) -> ComputeClassQuerySet:
        """Classes that are open to all teams, or to this one."""
        return self.filter(models.Q(open_to_all=True) | models.Q(teams=team)).distinct()

    def visible_to(self, user: User) -> ComputeClassQuerySet:
        if user.is_platform_admin:
            return self.all()
        return self.filter(
            models.Q(open_to_all=True) | models.Q(teams__in=user.teams.all())
        ).distinct()


class ComputeClass(models.Model):
    """A named, ordered chain of rules. `spec` is the newest revision; workloads keep the one they used."""

    name = models.SlugField(max_length=40, unique=True)
    description = models.CharField(max_length=200, blank=True)
    spec = models.JSONField()
    revision = models.PositiveIntegerField(default=1)
    open_to_all = models.BooleanField(default=True)
    teams: models.ManyToManyField[Team, models.Model] = models.ManyToManyField(
        Team, blank=True, related_name="compute_classes"
    )
    updated_at = models.DateTimeField(auto_now=True)

    objects = ComputeClassQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def as_spec(self) -> ComputeClassSpec:
        return ComputeClassSpec.from_mapping(self.spec)

    def access_subject(self) -> Subject:
        return Subject(
            team_ids=frozenset(self.teams.values_list("pk", flat=True)),
            everyone_may_view=self.open_to_all,
        )


class ComputeClassRevision(models.Model):
    """What a class said at one time. Never changed after it is written."""

    compute_class = models.ForeignKey(
        ComputeClass, on_delete=models.CASCADE, related_name="revisions"
    )
    number = models.PositiveIntegerField()
    spec = models.JSONField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            # Two admins saving at once must not both become revision 3.
            models.UniqueConstraint(
                fields=["compute_class", "number"], name="one_spec_per_revision"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.compute_class} r{self.number}"
