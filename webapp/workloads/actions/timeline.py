"""Rows of the timeline, each told once."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from slipway.observe import SeenEvent
from webapp.workloads.models import Attempt, TimelineEntry

# What a person reads in one line; the raw object stays in the cluster.
MAX_MESSAGE = 4000


def note(
    attempt: Attempt,
    key: str,
    reason: str,
    message: str,
    *,
    source: str = TimelineEntry.Source.SLIPWAY,
    at: datetime | None = None,
    is_warning: bool = False,
) -> None:
    """Add an entry of ours. The same `key` a second time changes nothing."""
    when = at or timezone.now()
    TimelineEntry.objects.get_or_create(
        attempt=attempt,
        key=key[:120],
        defaults={
            "at": when,
            "last_at": when,
            "source": source,
            "is_warning": is_warning,
            "reason": reason[:120],
            "message": message[:MAX_MESSAGE],
        },
    )


def note_event(attempt: Attempt, seen: SeenEvent) -> bool:
    """Add a Kubernetes event, or lengthen the one it repeats. True when something is new."""
    at = seen.first_at or seen.at or timezone.now()
    entry, is_new = TimelineEntry.objects.get_or_create(
        attempt=attempt,
        key=seen.key[:120],
        defaults={
            "at": at,
            "last_at": seen.at or at,
            "count": seen.count,
            "source": seen.source,
            "is_warning": seen.type == "Warning",
            "reason": seen.reason[:120],
            "message": seen.message[:MAX_MESSAGE],
            "about": f"{seen.about_kind} {seen.about_name}"[:120],
        },
    )
    if is_new:
        return True
    if seen.count <= entry.count:
        return False
    entry.count = seen.count
    entry.last_at = seen.at or entry.last_at
    entry.message = seen.message[:MAX_MESSAGE]
    entry.save(update_fields=["count", "last_at", "message"])
    return True
