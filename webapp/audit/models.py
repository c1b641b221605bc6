"""Who did what and when. No foreign keys: the trail outlives the people and things it names."""

from __future__ import annotations

from django.db import models


class AuditEntry(models.Model):
    at = models.DateTimeField(auto_now_add=True, db_index=True)
    by = models.CharField(max_length=150)
    team = models.CharField(max_length=40, blank=True)
    what = models.CharField(max_length=60)
    about = models.CharField(max_length=120)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering = ["-at", "-pk"]

    def __str__(self) -> str:
        return f"{self.by} {self.what} {self.about}"


def write(*, by: str, what: str, about: str, team: str = "", **detail: object) -> None:
    """Add a row to the trail. Called inside the transaction of the act, so that neither is there alone."""
    AuditEntry.objects.create(by=by, what=what, about=about, team=team, detail=detail)
