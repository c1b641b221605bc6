from __future__ import annotations

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone

from slipway.diagnosis import Reason, why
from slipway.lifecycle import TERMINAL, Outcome, Seen, Snapshot, State, Step, next_step
from webapp.workloads.models.workload import STATE_CHOICES, Workload

# Longer than one call to a cluster may take (3 s to connect, 8 s to answer), so that a slow worker is not
# overtaken; and short, since a stop waits for it when a worker was killed.
CLAIM_LEASE = timedelta(seconds=12)


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def open(self) -> AttemptQuerySet:
        return self.filter(ended_at=None)

    def due_for_drive(self, now: datetime) -> AttemptQuerySet:
        """Attempts on which there may be something to do and nobody is working.

        Wider than `next_step`, which decides: a state column cannot say that a pod vanished.
        """
        act = [State.QUEUED, State.CREATING, State.STOPPING, State.FINISHING]
        wanted = Q(state__in=[state.value for state in act]) | Q(
            workload__stop_requested_at__isnull=False
        )
        free = Q(claim_until=None) | Q(claim_until__lt=now)
        return self.open().filter(wanted, free).order_by("pk")

    def claim(self, pk: int, token: str, now: datetime) -> bool:
        """Take the attempt for one driver. Only one of many wins; a dead winner's claim lapses."""
        free = Q(claim_until=None) | Q(claim_until__lt=now)
        won = self.filter(free, pk=pk, ended_at=None).update(
            claim_token=token, claim_until=now + CLAIM_LEASE
        )
        return won == 1

    def renew(self, pk: int, token: str, now: datetime) -> bool:
        """Lengthen a claim just before an effect. False: somebody else took over, so stop at once."""
        kept = self.filter(pk=pk, claim_token=token, claim_until__gte=now).update(
            claim_until=now + CLAIM_LEASE
        )
        return kept == 1

    def release(self, pk: int, token: str) -> None:
        self.filter(pk=pk, claim_token=token).update(claim_token="", claim_until=None)


class Attempt(models.Model):
    """One try of a workload on one rung: one RayJob, named by this row before it exists.

    Three writers, each with its own columns: the web (the row itself), drivers (`applied_at`, `archived_at`,
    `refused`, claim), watchers (`seen`). `state` and `outcome` follow from them by `slipway.lifecycle.fold`.
    """

    workload = models.ForeignKey(Workload, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    rung = models.PositiveIntegerField(default=0)
    object_name = models.CharField(max_length=35)
    namespace = models.CharField(max_length=40)
    manifest = models.JSONField()
    slices = models.PositiveIntegerField()
    hosts_per_slice = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    state = models.CharField(max_length=12, choices=STATE_CHOICES, default=State.QUEUED.value)
    state_since = models.DateTimeField(default=timezone.now)
    outcome = models.JSONField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    applied_at = models.DateTimeField(null=True, blank=True)
    object_uid = models.CharField(max_length=64, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    refused = models.CharField(max_length=2000, blank=True)
    # Why the last driver stopped short, for people; "" when nothing is wrong.
    trouble = models.CharField(max_length=400, blank=True)
    claim_token = models.CharField(max_length=36, blank=True)
    claim_until = models.DateTimeField(null=True, blank=True)

    # Which run of the job the log is of, and where in the stored log that run begins.
    log_run = models.CharField(max_length=40, blank=True)
    log_base = models.PositiveBigIntegerField(default=0)

    seen = models.JSONField(default=dict)
    seen_at = models.DateTimeField(null=True, blank=True)

    objects = AttemptQuerySet.as_manager()

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["workload", "number"], name="one_attempt_per_number"),
            # Two live attempts would pay for two clusters.
            models.UniqueConstraint(
                fields=["workload"], condition=Q(ended_at=None), name="one_live_attempt"
            ),
            models.UniqueConstraint(
                fields=["namespace", "object_name"], name="one_attempt_per_object"
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None) | Q(state__in=sorted(state.value for state in TERMINAL)),
                name="ended_only_in_an_end_state",
            ),
        ]

    def __str__(self) -> str:
        return self.object_name

    def snapshot(self) -> Snapshot:
        """What `slipway.lifecycle` and `slipway.diagnosis` need, as plain data."""
        return Snapshot(
            state=State(self.state),
            state_since=self.state_since,
            number=self.number,
            slices=self.slices,
            hosts_per_slice=self.hosts_per_slice,
            stop_requested=self.workload.stop_requested_at is not None,
            applied=self.applied_at is not None,
            archived=self.archived_at is not None,
            refused=self.refused,
            outcome=Outcome.from_mapping(self.outcome) if self.outcome else None,
            seen=Seen.from_mapping(self.seen),
        )

    def next_step(self) -> Step:
        return next_step(self.snapshot())

    def why(self) -> Reason:
        """Why the attempt is where it is, now."""
        return why(self.snapshot(), timezone.now(), self.trouble)
