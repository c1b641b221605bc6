"""Pods as state machines: nothing runs, time passes as the clock says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from devcluster.clock import Clock
from devcluster.controllers.names import CLUSTER, NODE_TYPE
from devcluster.pods.base import Endpoint, Launch, Object, Sight, Stage
from devcluster.pods.logs import LogFiles
from devcluster.pods.sim_ray import Script, SimRay
from devcluster.pods.sim_server import SimServer


@dataclass(frozen=True)
class Pace:
    """Seconds a simulated pod takes: until its container runs, from then until it is ready."""

    start_s: float = 0.0
    ready_s: float = 0.0


@dataclass
class _SimPod:
    launch: Launch
    started_at: datetime
    stopped: bool = False
    failed_at: datetime | None = None
    exit_code: int = 0
    message: str = ""
    ray: SimRay | None = None
    port: int = 0


class SimRuntime:
    def __init__(
        self,
        clock: Clock,
        pace: Pace,
        script: Script,
        logs: LogFiles,
        changed: Callable[[tuple[str, str]], None],
    ) -> None:
        self._clock = clock
        self._pace = pace
        self._script = script
        self._logs = logs
        self._changed = changed
        self._lock = threading.RLock()
        self._pods: dict[str, _SimPod] = {}
        self._server = SimServer()

    # The Runtime protocol

    def start(self, launch: Launch) -> None:
        pod = _SimPod(launch, self._clock.now())
        for container in launch.pod["spec"]["containers"]:
            path = self._logs.fresh(launch.uid, container["name"])
            path.write_text(f"simulated container {container['name']}: nothing runs here\n")
        labels = launch.pod["metadata"].get("labels") or {}
        if labels.get(NODE_TYPE) == "head":
            cluster = labels.get(CLUSTER, "")
            token = launch.env.get("RAY_AUTH_TOKEN")
            pod.ray = SimRay(
                self._clock,
                self._script,
                token=token,
                node_ip=launch.ip,
                node_id=launch.uid.replace("-", ""),
                nodes=lambda: self._nodes(cluster),
            )
            pod.port = self._server.open(launch.uid, pod.ray)
        with self._lock:
            self._pods[launch.uid] = pod

    def sight(self, uid: str) -> Sight | None:
        with self._lock:
            pod = self._pods.get(uid)
        if pod is None:
            return None
        age = (self._clock.now() - pod.started_at).total_seconds()
        if pod.failed_at is not None:
            return Sight(
                Stage.EXITED,
                started_at=pod.started_at,
                finished_at=pod.failed_at,
                exit_code=pod.exit_code,
                message=pod.message,
            )
        if age < self._pace.start_s:
            return Sight(Stage.STARTING, again_s=self._pace.start_s - age)
        ready_at = self._pace.start_s + self._pace.ready_s
        if age < ready_at:
            return Sight(Stage.RUNNING, started_at=pod.started_at, again_s=ready_at - age)
        return Sight(Stage.READY, started_at=pod.started_at)

    def stop(self, uid: str, grace_s: float) -> None:
        with self._lock:
            pod = self._pods.get(uid)
            if pod is not None:
                pod.stopped = True
                self._server.close(uid)

    def is_ended(self, uid: str) -> bool:
        with self._lock:
            pod = self._pods.get(uid)
            return pod is None or pod.stopped

    def forget(self, uid: str) -> None:
        with self._lock:
            self._pods.pop(uid, None)
        self._server.close(uid)

    def endpoint(self, uid: str, ip: str, port: int) -> Endpoint | None:
        """Every port of a simulated head leads to its one HTTP server."""
        with self._lock:
            pod = self._pods.get(uid)
            alive = pod is not None and not pod.stopped and pod.failed_at is None
            return ("127.0.0.1", pod.port) if pod and alive and pod.port else None

    def close(self, timeout_s: float) -> None:
        with self._lock:
            self._pods.clear()
        self._server.shut_down()

    # The doors for tests

    def fail(self, uid: str, exit_code: int, message: str) -> bool:
        """End a pod's containers as a crash would. False when it does not run here."""
        with self._lock:
            pod = self._pods.get(uid)
            if pod is None:
                return False
            pod.failed_at, pod.exit_code, pod.message = self._clock.now(), exit_code, message
            self._server.close(uid)
        self._changed(pod.launch.key)
        return True

    def heads(self) -> list[SimRay]:
        with self._lock:
            return [pod.ray for pod in self._pods.values() if pod.ray and not pod.stopped]

    def set_script(self, script: Script) -> None:
        self._script = script

    def _nodes(self, cluster: str) -> list[Object]:
        """The Ray nodes of a cluster as /api/v0/nodes lists them."""
        with self._lock:
            pods = list(self._pods.values())
        rows = []
        for pod in pods:
            labels = pod.launch.pod["metadata"].get("labels") or {}
            if labels.get(CLUSTER) != cluster or pod.stopped:
                continue
            rows.append(
                {
                    "node_id": pod.launch.uid.replace("-", ""),
                    "node_ip": pod.launch.ip,
                    "is_head_node": labels.get(NODE_TYPE) == "head",
                    "state": "DEAD" if pod.failed_at else "ALIVE",
                    "labels": _ray_labels(pod.launch.env),
                    "resources_total": {},
                }
            )
        return rows


def _ray_labels(env: object) -> dict[str, str]:
    known = dict(env) if isinstance(env, dict) else {}
    pairs = {
        "ray.io/tpu-slice-name": "TPU_NAME",
        "ray.io/tpu-worker-id": "TPU_WORKER_ID",
        "ray.io/tpu-topology": "TPU_TOPOLOGY",
        "ray.io/tpu-pod-type": "TPU_ACCELERATOR_TYPE",
    }
    return {label: known[name] for label, name in pairs.items() if name in known}
