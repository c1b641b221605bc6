from __future__ import annotations

from django.db import models

from webapp.workloads.models.attempt import Attempt


class TimelineEntry(models.Model):
    """One thing that happened, from whichever part of the system said it, in one order."""

    class Source(models.TextChoices):
        SLIPWAY = "slipway", "Slipway"
        KUBERAY = "kuberay", "KubeRay"
        SCHEDULER = "scheduler", "Scheduler"
        AUTOSCALER = "autoscaler", "Autoscaler"
        KUBELET = "kubelet", "Kubelet"
        KUBERNETES = "kubernetes", "Kubernetes"
        RAY = "ray", "Ray"

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="timeline")
    key = models.CharField(max_length=120)
    at = models.DateTimeField()
    last_at = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)
    source = models.CharField(max_length=12, choices=Source.choices)
    is_warning = models.BooleanField(default=False)
    reason = models.CharField(max_length=120)
    message = models.TextField(blank=True)
    about = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            # A watch that starts again tells everything again.
            models.UniqueConstraint(fields=["attempt", "key"], name="told_once"),
        ]

    def __str__(self) -> str:
        return f"{self.source} {self.reason}"
