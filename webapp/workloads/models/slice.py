from __future__ import annotations

from django.db import models

from webapp.workloads.models.attempt import Attempt


class Slice(models.Model):
    """What was last seen of one slice of an attempt. Stays when its hosts are gone."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="slice_records")
    index = models.PositiveIntegerField()
    # One entry per host in order of its worker id: {index, pod, node, ip, phase, ready, reason, message, seen}.
    hosts = models.JSONField(default=list)
    hosts_ready = models.PositiveIntegerField(default=0)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(fields=["attempt", "index"], name="one_record_per_slice"),
        ]

    def __str__(self) -> str:
        return f"slice {self.index} of {self.attempt}"
