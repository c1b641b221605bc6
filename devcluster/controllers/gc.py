"""What ends by age: events after an hour, as the API server lets them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from devcluster.clock import Clock
from devcluster.controllers.base import Controller, Key
from devcluster.controllers.events import EVENT_TTL_S
from devcluster.errors import NotFound
from devcluster.objects import timestamp
from devcluster.resources import EVENTS, Resource
from devcluster.store import Store

Object = dict[str, Any]

SWEEP_S = 300.0
SWEEP: Key = ("", "sweep")


class EventSweeper(Controller):
    name = "event-sweeper"

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def concerns(self, resource: Resource, obj: Object) -> Iterable[Key]:
        return ()

    def reconcile(self, key: Key) -> float | None:
        oldest = timestamp(self._clock.now() - timedelta(seconds=EVENT_TTL_S))
        for event in self._store.view(EVENTS)[0]:
            if _last_seen(event) < oldest:
                metadata = event["metadata"]
                with contextlib.suppress(NotFound):
                    self._store.delete(EVENTS, metadata["namespace"], metadata["name"])
        return SWEEP_S


def _last_seen(event: Object) -> str:
    """RFC 3339 in UTC compares as text; the fraction of a second does not matter here."""
    series = event.get("series") or {}
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(last or event["metadata"]["creationTimestamp"])
