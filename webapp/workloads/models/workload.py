from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from slipway.compute_class import ComputeClassSpec
from slipway.diagnosis import Reason
from slipway.lifecycle import TERMINAL, State
from slipway.request import WorkloadRequest
from webapp.accounts.models import Team, User
from webapp.accounts.subject import Subject
from webapp.clusters.models import Cluster
from webapp.workloads.models.code import CodeBundle

STATE_CHOICES = [(state.value, state.value.capitalize()) for state in State]


class WorkloadQuerySet(models.QuerySet["Workload"]):
    def visible_to(self, user: User) -> WorkloadQuerySet:
        """What `user` may see: everything for platform admins, else what their teams own."""
        visible = self.filter(deleted_at=None)
        if user.is_platform_admin:
            return visible
        return visible.filter(team__in=user.teams.all())

    def for_list(self) -> WorkloadQuerySet:
        return self.select_related("team", "owner", "cluster").prefetch_related("attempts")

    def for_page(self) -> WorkloadQuerySet:
        return self.select_related("team", "owner", "cluster", "code")

    def live(self) -> WorkloadQuerySet:
        return self.exclude(state__in=[state.value for state in TERMINAL])


class Workload(models.Model):
    """What a developer asked for. Intent columns are written by the web; `state` by `actions.record` and `advance`."""

    uid = models.CharField(max_length=8, unique=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="workloads")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="workloads"
    )
    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="workloads")
    name = models.CharField(max_length=63)
    request = models.JSONField()
    # The class as it was when the request was made: later edits do not change what a workload runs on.
    class_spec = models.JSONField(null=True, blank=True)
    class_revision = models.PositiveIntegerField(null=True, blank=True)
    code = models.ForeignKey(CodeBundle, null=True, blank=True, on_delete=models.PROTECT)
    # For the list; what they say stands in `request`.
    shape = models.CharField(max_length=40)
    hosts = models.PositiveIntegerField()
    chips = models.PositiveIntegerField()

    created_at = models.DateTimeField(auto_now_add=True)
    stop_requested_at = models.DateTimeField(null=True, blank=True)
    stop_requested_by = models.CharField(max_length=150, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    state = models.CharField(max_length=12, choices=STATE_CHOICES, default=State.QUEUED.value)
    changed_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = WorkloadQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [
            # The list of one team, newest first, and the same filtered by state.
            models.Index(fields=["team", "-created_at"], name="workload_team_newest"),
            models.Index(fields=["state", "-created_at"], name="workload_state_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.uid})"

    def get_absolute_url(self) -> str:
        return reverse("workloads:detail", args=[self.uid])

    @property
    def is_over(self) -> bool:
        return State(self.state) in TERMINAL

    def latest_reason(self) -> Reason | None:
        """Why the newest attempt is where it is, from prefetched attempts."""
        attempts = list(self.attempts.all())
        if not attempts:
            return None
        # The reverse relation would ask the database for this row again.
        attempts[-1].workload = self
        return attempts[-1].why()

    def as_request(self) -> WorkloadRequest:
        return WorkloadRequest.from_mapping(self.request)

    def as_class_spec(self) -> ComputeClassSpec | None:
        return ComputeClassSpec.from_mapping(self.class_spec) if self.class_spec else None

    def access_subject(self) -> Subject:
        return Subject(team_ids=frozenset({self.team_id}), owner_id=self.owner_id)
