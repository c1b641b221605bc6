"""The cluster behind the API server: operator, scheduler, autoscaler and kubelets over one store.

    store --change--> every controller's queue --key--> reconcile --> store ...
                                                 kubelet --> Runtime (real Ray nodes, or state machines)

With a real clock each controller has its threads (`start`). With a test's clock nothing moves but by `settle`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from devcluster.capacity import Capacity
from devcluster.clock import Clock
from devcluster.controllers import services
from devcluster.controllers.autoscaler import Autoscaler
from devcluster.controllers.base import Key, Loop
from devcluster.controllers.events import Recorder
from devcluster.controllers.gc import SWEEP, EventSweeper
from devcluster.controllers.raycluster import RayClusterController
from devcluster.controllers.rayjob import RayJobController
from devcluster.controllers.scheduler import Scheduler
from devcluster.pods import logs as pod_logs
from devcluster.pods.addresses import Addresses
from devcluster.pods.base import Runtime
from devcluster.pods.kubelet import Kubelet
from devcluster.pods.logs import LogFiles
from devcluster.pods.ray import RayRuntime, reap, state_hash
from devcluster.pods.sim import Pace, SimRuntime
from devcluster.pods.sim_ray import Script
from devcluster.pods.volumes import CodeFiles
from devcluster.resources import NODES, PODS, RAYCLUSTERS, RAYJOBS, Resource
from devcluster.store import Store

Object = dict[str, Any]
Endpoint = tuple[str, int]

RAYJOB_WORKERS = 4  # a call to a slow dashboard holds up one job, not all
KUBELET_WORKERS = 2
CONTROLLERS_END_S = 2.0  # one may hang in a call to a dashboard, which ends with the pods
LOST = "devcluster was restarted; the processes of this pod ended with its former life"


@dataclass(frozen=True)
class WorldConfig:
    """`boot_s`: a host's start; `poll_s`: how often the operator asks Ray. `pace` and `script` are for mode sim."""

    mode: Literal["ray", "sim"] = "ray"
    max_hosts: int = 16
    state_dir: Path | None = None
    python: str = sys.executable
    boot_s: float = 1.0
    poll_s: float = 3.0
    pace: Pace = field(default_factory=Pace)
    script: Script = field(default_factory=Script)


class World:
    def __init__(self, store: Store, clock: Clock, config: WorldConfig) -> None:
        self.store = store
        self.clock = clock
        self.config = config
        self.capacity = Capacity(config.max_hosts)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if config.state_dir is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="devcluster-")
        self.state_dir = config.state_dir or Path(self._temporary.name if self._temporary else ".")
        self._logs = LogFiles(self.state_dir / "logs")
        self.runtime: Runtime = self._make_runtime()
        self.sim = self.runtime if isinstance(self.runtime, SimRuntime) else None
        events = Recorder(store, clock)
        self._autoscaler = Autoscaler(store, clock, events, self.capacity, boot_s=config.boot_s)
        self._kubelet = Kubelet(
            store,
            clock,
            events,
            self.runtime,
            addresses=Addresses(int(state_hash(self.state_dir), 16)),
            code=CodeFiles() if config.mode == "ray" else None,
            logs=self._logs,
        )
        rayjobs = RayJobController(
            store, clock, events, self.service_endpoint, requeue_s=config.poll_s
        )
        self._kubelet_loop = Loop(self._kubelet, clock, workers=KUBELET_WORKERS)
        self._sweeper = Loop(EventSweeper(store, clock), clock)
        self._loops = [
            Loop(rayjobs, clock, workers=RAYJOB_WORKERS),
            Loop(RayClusterController(store, clock, events), clock),
            Loop(Scheduler(store, clock, events, self.capacity), clock),
            Loop(self._autoscaler, clock),
            self._kubelet_loop,
            self._sweeper,
        ]
        self._unsubscribe = store.subscribe(self._heed)
        self._autoscaler.ensure_nodes()

    def start(self) -> None:
        """Look at everything once, then go on by itself. For a real clock."""
        self.look_again()
        for loop in self._loops:
            loop.start()

    def stop(self, timeout_s: float = 20.0) -> None:
        """End the controllers, then every pod's processes. Objects stay as they are."""
        self._unsubscribe()
        for loop in self._loops:
            loop.close()
        until = time.monotonic() + CONTROLLERS_END_S
        for loop in self._loops:
            loop.join(until)
        self.runtime.close(timeout_s)
        if self._temporary is not None:
            self._temporary.cleanup()

    def reap_former_life(self) -> int:
        """End what a killed devcluster left running here and show those pods as failed. Call before `start`.

        The number of pods that still had processes.
        """
        had = reap(self.state_dir) if self.config.mode == "ray" else 0
        self._kubelet.mark_lost(LOST)
        return had

    def look_again(self) -> None:
        """Let every controller look at every object."""
        self._sweeper.queue.add(SWEEP)
        for resource in (NODES, RAYJOBS, RAYCLUSTERS, PODS):
            for obj in self.store.view(resource)[0]:
                self._heed("MODIFIED", resource, obj)

    def settle(self, limit: int = 100_000) -> None:
        """Turn all controllers in this thread until nothing is due. RuntimeError when they never come to rest."""
        for _ in range(limit):
            if not sum(loop.turn() for loop in self._loops):
                return
        raise RuntimeError(f"The cluster did not come to rest in {limit} turns.")

    def wait_idle(self, timeout_s: float = 10.0) -> None:
        """With threads: wait until no controller has anything due. TimeoutError."""
        deadline = time.monotonic() + timeout_s
        calm = 0
        while calm < 3:
            calm = calm + 1 if all(loop.queue.is_idle() for loop in self._loops) else 0
            if time.monotonic() > deadline:
                raise TimeoutError(f"The cluster did not come to rest in {timeout_s} s.")
            time.sleep(0.005)

    def next_due(self) -> datetime | None:
        """When something will happen by itself."""
        due = [at for loop in self._loops if (at := loop.queue.next_due()) is not None]
        return min(due, default=None)

    # What the API server asks

    def service_endpoint(self, namespace: str, service: str, port: str | int) -> Endpoint | None:
        """Where a service's port can be reached from this machine; None when no pod serves it."""
        found = services.backend(self.store, namespace, service, port)
        if found is None:
            return None
        pod, number = found
        ip = (pod.get("status") or {}).get("podIP")
        return self.runtime.endpoint(pod["metadata"]["uid"], ip or "", number)

    def pod_log(
        self,
        namespace: str,
        pod: str,
        container: str | None = None,
        *,
        follow: bool = False,
        tail_lines: int | None = None,
        since: int | None = None,
        previous: bool = False,
    ) -> Iterator[bytes]:
        """The log in pieces; `since` in seconds ago.

        NotFound for an unknown pod, ValueError for a container that it does not have.
        """
        found = self.store.get(PODS, namespace, pod)
        known = [entry["name"] for entry in found["spec"]["containers"]]
        name = container or known[0]
        if name not in known:
            raise ValueError(f"container {name} is not valid for pod {pod}")
        uid = found["metadata"]["uid"]

        def is_live() -> bool:
            return not self.runtime.is_ended(uid)

        return pod_logs.read(
            self._logs.path(uid, name, previous=previous),
            follow=follow,
            tail_lines=tail_lines,
            since=since,
            is_live=is_live,
        )

    # Inside

    def _make_runtime(self) -> Runtime:
        if self.config.mode == "sim":
            return SimRuntime(
                self.clock, self.config.pace, self.config.script, self._logs, self._pod_changed
            )
        return RayRuntime(
            self.clock,
            state_dir=self.state_dir,
            python=self.config.python,
            logs=self._logs,
            changed=self._pod_changed,
        )

    def _pod_changed(self, key: Key) -> None:
        self._kubelet_loop.queue.add(key)

    def _heed(self, change: str, resource: Resource, obj: Object) -> None:
        for loop in self._loops:
            loop.heed(resource, obj)
