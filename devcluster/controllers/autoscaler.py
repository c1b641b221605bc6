"""GKE's cluster autoscaler: give a slice its hosts, all or none; take them back when the slice has gone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from devcluster import capacity as machines
from devcluster.capacity import (
    READY_AT_NOTE,
    SLICE_NOTE,
    SLOT_NOTE,
    Capacity,
    Need,
    NotProvidable,
    need_of,
    slice_id_of,
    tpu_chips,
)
from devcluster.clock import Clock
from devcluster.controllers.base import Controller, Key
from devcluster.controllers.cluster_status import condition_of
from devcluster.controllers.events import AUTOSCALER, Recorder
from devcluster.controllers.names import COMPUTE_CLASS, TPU
from devcluster.controllers.scheduler import RETRY_S, is_waiting
from devcluster.errors import AlreadyExists, NotFound
from devcluster.objects import timestamp
from devcluster.resources import COMPUTECLASSES, NODES, PODS, Resource
from devcluster.store import Store

Object = dict[str, Any]
_NODE = ""  # the namespace part of a node's key


class Autoscaler(Controller):
    name = "autoscaler"

    def __init__(
        self,
        store: Store,
        clock: Clock,
        events: Recorder,
        capacity: Capacity,
        *,
        boot_s: float,
    ) -> None:
        """`boot_s`: seconds from the decision to a host that is ready."""
        self._store = store
        self._clock = clock
        self._events = events
        self._capacity = capacity
        self._boot_s = boot_s

    def concerns(self, resource: Resource, obj: Object) -> Iterable[Key]:
        if resource is PODS and tpu_chips(obj):
            yield obj["metadata"]["namespace"], obj["metadata"]["name"]
            # All hosts of the slice: they are given back together, when its last pod has gone.
            for node in self._nodes_of(obj):
                yield _NODE, node
        elif resource is NODES:
            yield _NODE, obj["metadata"]["name"]
            if SLICE_NOTE not in (obj["metadata"].get("annotations") or {}):
                for pod in self._store.view(PODS)[0]:
                    if tpu_chips(pod) and is_waiting(pod):
                        yield pod["metadata"]["namespace"], pod["metadata"]["name"]

    def ensure_nodes(self) -> None:
        """Create the machines that the bound allows and remove idle ones above it."""
        created = timestamp(self._clock.now())
        wanted = self._capacity.node_names()
        fresh = [machines.cpu_node(created)]
        fresh += [machines.idle_tpu_node(name, i, created) for i, name in enumerate(wanted)]
        for node in fresh:
            with contextlib.suppress(AlreadyExists):
                self._store.create(NODES, node)
        for node in self._store.view(NODES)[0]:
            name = node["metadata"]["name"]
            if machines.EMULATED in node["metadata"].get("labels", {}) and name not in (
                machines.CPU_NODE,
                *wanted,
            ):
                with contextlib.suppress(NotFound):
                    self._store.delete(NODES, None, name)

    def reconcile(self, key: Key) -> float | None:
        namespace, name = key
        return self._tend_node(name) if namespace == _NODE else self._tend_pod(namespace, name)

    # Pods: scale up

    def _tend_pod(self, namespace: str, name: str) -> float | None:
        try:
            pod = self._store.get(PODS, namespace, name)
        except NotFound:
            return None
        condition = condition_of(pod, "PodScheduled")
        if not is_waiting(pod) or condition is None:
            return None  # the scheduler speaks first
        try:
            need = need_of(pod)
            self._check_class(pod)
        except NotProvidable as exc:
            self._refuse(pod, f"1 {exc}")
            return RETRY_S
        if not self._nodes_of(pod):
            idle = self._idle_nodes()
            if len(idle) < need.hosts:
                self._refuse(
                    pod,
                    f"1 max node group size reached (needs {need.hosts} hosts, "
                    f"{len(idle)} of {self._capacity.max_hosts} are free)",
                )
                return RETRY_S
            self._reserve(idle[: need.hosts], need)
        text = (
            "Pod triggered scale-up: "
            f"[{{{machines.pool_name(need)} 0->{need.hosts} (max: {need.hosts})}}]"
        )
        self._events.emit(AUTOSCALER, pod, "TriggeredScaleUp", text)
        return None

    def _check_class(self, pod: Object) -> None:
        wanted = (pod["spec"].get("nodeSelector") or {}).get(COMPUTE_CLASS)
        if wanted:
            try:
                self._store.get(COMPUTECLASSES, None, wanted)
            except NotFound as exc:
                raise NotProvidable(
                    f"ComputeClass {wanted} of type ComputeClass not found"
                ) from exc

    def _refuse(self, pod: Object, why: str) -> None:
        text = f"Pod didn't trigger scale-up: {why}"
        self._events.emit(AUTOSCALER, pod, "NotTriggerScaleUp", text)

    def _idle_nodes(self) -> list[str]:
        return [
            node["metadata"]["name"]
            for node in self._store.view(NODES)[0]
            if node["metadata"]["name"] != machines.CPU_NODE
            and SLICE_NOTE not in (node["metadata"].get("annotations") or {})
        ]

    def _nodes_of(self, pod: Object) -> list[str]:
        slice_id = slice_id_of(pod)
        return [
            node["metadata"]["name"]
            for node in self._store.view(NODES)[0]
            if (node["metadata"].get("annotations") or {}).get(SLICE_NOTE) == slice_id
        ]

    def _reserve(self, nodes: list[str], need: Need) -> None:
        ready_at = (self._clock.now() + timedelta(seconds=self._boot_s)).isoformat()
        for slot, name in enumerate(nodes):

            def note(node: Object, slot: int = slot) -> None:
                notes = node["metadata"].setdefault("annotations", {})
                notes[SLICE_NOTE], notes[SLOT_NOTE] = need.slice_id, str(slot)
                notes[READY_AT_NOTE] = ready_at

            self._store.mutate(NODES, None, name, note)

    # Nodes: become ready, become idle again

    def _tend_node(self, name: str) -> float | None:
        try:
            node = self._store.get(NODES, None, name)
        except NotFound:
            return None
        notes = node["metadata"].get("annotations") or {}
        if SLICE_NOTE not in notes:
            return None
        pods = self._pods_of(notes[SLICE_NOTE])
        if not pods:
            self._store.mutate(NODES, None, name, machines.unshape)
            return None
        if TPU in node["status"]["allocatable"]:
            return None
        wait = (datetime.fromisoformat(notes[READY_AT_NOTE]) - self._clock.now()).total_seconds()
        if wait > 0:
            return wait
        pod = pods[0]
        self._store.mutate(NODES, None, name, lambda obj: machines.shape(obj, pod, need_of(pod)))
        return None

    def _pods_of(self, slice_id: str) -> list[Object]:
        pods = self._store.view(PODS)[0]
        return [pod for pod in pods if slice_id_of(pod) == slice_id and tpu_chips(pod)]
