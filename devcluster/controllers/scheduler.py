"""Kubernetes' scheduler, as far as one can see it: bind a pod to its node, or say why not."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from devcluster.capacity import (
    CPU_NODE,
    SLICE_NOTE,
    SLOT_NOTE,
    Capacity,
    NotProvidable,
    need_of,
    slice_id_of,
    tpu_chips,
)
from devcluster.clock import Clock
from devcluster.controllers.base import Controller, Key
from devcluster.controllers.cluster_status import condition_of
from devcluster.controllers.events import SCHEDULER, Recorder
from devcluster.controllers.names import TPU
from devcluster.errors import NotFound
from devcluster.objects import is_deleting, timestamp
from devcluster.resources import NODES, PODS, Resource
from devcluster.store import Store

Object = dict[str, Any]

MISMATCH = "node(s) didn't match Pod's node affinity/selector"
SHORTAGE = f"Insufficient {TPU}"
# How often a waiting pod is tried (and its event counted up) though nothing changed.
RETRY_S = 60.0


def is_waiting(pod: Object) -> bool:
    """Not bound, not over, not going."""
    over = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not pod["spec"].get("nodeName") and not over and not is_deleting(pod)


class Scheduler(Controller):
    name = "scheduler"

    def __init__(self, store: Store, clock: Clock, events: Recorder, capacity: Capacity) -> None:
        self._store = store
        self._clock = clock
        self._events = events
        self._capacity = capacity

    def concerns(self, resource: Resource, obj: Object) -> Iterable[Key]:
        if resource is PODS and is_waiting(obj):
            yield obj["metadata"]["namespace"], obj["metadata"]["name"]
        elif resource is NODES:
            # Only the pods of the slice that this host is for: no other pod can use it.
            slice_id = (obj["metadata"].get("annotations") or {}).get(SLICE_NOTE)
            for pod in self._store.view(PODS)[0] if slice_id else ():
                if is_waiting(pod) and slice_id_of(pod) == slice_id:
                    yield pod["metadata"]["namespace"], pod["metadata"]["name"]

    def reconcile(self, key: Key) -> float | None:
        try:
            pod = self._store.get(PODS, *key)
        except NotFound:
            return None
        if not is_waiting(pod):
            return None
        node = self._node_for(pod)
        if node is None:
            self._say_why_not(pod)
            return RETRY_S
        self._bind(pod, node)
        return None

    def _node_for(self, pod: Object) -> str | None:
        if not tpu_chips(pod):
            return CPU_NODE
        try:
            need = need_of(pod)
        except NotProvidable:
            return None
        if self._capacity.is_held(pod):
            return None
        for node in self._store.view(NODES)[0]:
            notes = node["metadata"].get("annotations") or {}
            is_own = (notes.get(SLICE_NOTE), notes.get(SLOT_NOTE)) == (
                need.slice_id,
                str(need.slot),
            )
            if is_own and TPU in ((node.get("status") or {}).get("allocatable") or {}):
                return str(node["metadata"]["name"])
        return None

    def _bind(self, pod: Object, node: str) -> None:
        metadata = pod["metadata"]
        now = timestamp(self._clock.now())

        def bind(obj: Object) -> None:
            obj["spec"]["nodeName"] = node
            status = obj.setdefault("status", {})
            status["phase"] = "Pending"
            status["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "True",
                    "lastProbeTime": None,
                    "lastTransitionTime": now,
                }
            ]

        with contextlib.suppress(NotFound):
            self._store.mutate(PODS, metadata["namespace"], metadata["name"], bind)
            text = f"Successfully assigned {metadata['namespace']}/{metadata['name']} to {node}"
            self._events.emit(SCHEDULER, pod, "Scheduled", text, action="Binding")

    def _say_why_not(self, pod: Object) -> None:
        metadata, message = pod["metadata"], self._explain(pod)
        now = timestamp(self._clock.now())

        def mark(obj: Object) -> None:
            status = obj.setdefault("status", {})
            status["phase"] = "Pending"
            old = condition_of(obj, "PodScheduled")
            status["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": message,
                    "lastProbeTime": None,
                    "lastTransitionTime": old["lastTransitionTime"] if old else now,
                }
            ]

        with contextlib.suppress(NotFound):
            self._store.mutate(PODS, metadata["namespace"], metadata["name"], mark)
            self._events.emit(
                SCHEDULER, pod, "FailedScheduling", message, type_="Warning", action="Scheduling"
            )

    def _explain(self, pod: Object) -> str:
        """`0/17 nodes are available: 1 node(s) didn't match ..., 16 Insufficient google.com/tpu. preemption: ...`

        An idle host counts as short of TPUs rather than as a mismatch: it could take any shape, but not alone.
        """
        nodes = self._store.view(NODES)[0]
        selector = pod["spec"].get("nodeSelector") or {}
        reasons: Counter[str] = Counter()
        for node in nodes:
            labels = node["metadata"]["labels"]
            is_shaped = TPU in ((node.get("status") or {}).get("allocatable") or {})
            differs = any(labels.get(key) != value for key, value in selector.items())
            is_cpu = node["metadata"]["name"] == CPU_NODE
            reasons[MISMATCH if is_cpu or (is_shaped and differs) else SHORTAGE] += 1
        listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        helpless = reasons[MISMATCH]
        preemption = [f"{reasons[SHORTAGE]} No preemption victims found for incoming pod"]
        if helpless:
            preemption.append(f"{helpless} Preemption is not helpful for scheduling")
        total = len(nodes)
        return (
            f"0/{total} nodes are available: {listed}. "
            f"preemption: 0/{total} nodes are available: {', '.join(sorted(preemption))}."
        )
