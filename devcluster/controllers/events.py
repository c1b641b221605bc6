"""Events, written in the two forms that a cluster has.

KubeRay and the scheduler use events.k8s.io (`eventTime`, `reportingComponent`, no `firstTimestamp`); the
autoscaler and the kubelet still write the older core/v1 form (`source.component`, first and last timestamp,
`count`). A repeated event is not a new object but a higher count, as the client libraries' recorders do.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from devcluster.clock import Clock
from devcluster.errors import NotFound, StoreError
from devcluster.objects import timestamp
from devcluster.resources import EVENTS
from devcluster.store import Store

Object = dict[str, Any]

EVENT_TTL_S = 3600.0  # the API server's --event-ttl default
REPEAT_S = 10.0  # the same event again within this time is dropped


@dataclass(frozen=True)
class Source:
    """Who reports. `is_new_form`: events.k8s.io rather than core/v1."""

    component: str
    is_new_form: bool


RAYJOB = Source("rayjob-controller", True)
RAYCLUSTER = Source("raycluster-controller", True)
SCHEDULER = Source("default-scheduler", True)
AUTOSCALER = Source("cluster-autoscaler", False)
KUBELET = Source("kubelet", False)


class Recorder:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()

    def emit(
        self,
        source: Source,
        about: Object,
        reason: str,
        message: str,
        *,
        type_: str = "Normal",
        action: str = "",
    ) -> None:
        """Report `reason` about an object. Never raises: a cluster goes on without its events."""
        metadata = about["metadata"]
        namespace = metadata.get("namespace") or "default"
        parts = [metadata["uid"], source.component, type_, reason, message]
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        name = f"{metadata['name']}.{digest}"
        with self._lock, contextlib.suppress(StoreError):
            # StoreError: the namespace is going away, and its events with it.
            try:
                self._store.mutate(EVENTS, namespace, name, self._repeat)
            except NotFound:
                event = self._new(source, about, reason, message, type_, action)
                event["metadata"] = {"namespace": namespace, "name": name}
                self._store.create(EVENTS, event)

    def _repeat(self, event: Object) -> None:
        now = self._clock.now()
        last = event.get("lastTimestamp") or (event.get("series") or {}).get("lastObservedTime")
        last = last or event.get("eventTime")
        if last and str(last)[:19] > timestamp(now - timedelta(seconds=REPEAT_S))[:19]:
            return
        if event.get("eventTime"):
            count = (event.get("series") or {}).get("count", 1) + 1
            event["series"] = {"count": count, "lastObservedTime": _micro_time(now)}
        else:
            event["count"] = event.get("count", 1) + 1
            event["lastTimestamp"] = timestamp(now)

    def _new(
        self, source: Source, about: Object, reason: str, message: str, type_: str, action: str
    ) -> Object:
        now = self._clock.now()
        metadata = about["metadata"]
        event: Object = {
            "involvedObject": {
                "apiVersion": about["apiVersion"],
                "kind": about["kind"],
                "name": metadata["name"],
                "uid": metadata["uid"],
                "resourceVersion": metadata.get("resourceVersion", ""),
                **({"namespace": metadata["namespace"]} if metadata.get("namespace") else {}),
            },
            "reason": reason,
            "message": message[:1024],
            "type": type_,
            "reportingComponent": source.component,
        }
        if source.is_new_form:
            return event | {
                "source": {},
                "eventTime": _micro_time(now),
                "firstTimestamp": None,
                "lastTimestamp": None,
                "action": action or reason,
                "reportingInstance": f"{source.component}-devcluster",
            }
        return event | {
            "source": {"component": source.component},
            "eventTime": None,
            "firstTimestamp": timestamp(now),
            "lastTimestamp": timestamp(now),
            "count": 1,
            "reportingInstance": "",
        }


def _micro_time(at: Any) -> str:
    return str(at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
