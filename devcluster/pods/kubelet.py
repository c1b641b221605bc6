"""The kubelet of every node: starts bound pods, reports how they stand, removes deleted ones from this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from datetime import timedelta

from devcluster.clock import Clock
from devcluster.controllers.base import Controller, Key
from devcluster.controllers.events import KUBELET, Recorder
from devcluster.controllers.names import CLUSTER
from devcluster.errors import NotFound
from devcluster.objects import is_deleting
from devcluster.pods import environment, tpu, volumes
from devcluster.pods.addresses import Addresses
from devcluster.pods.base import CannotStart, Launch, Object, Runtime, Sight, Stage
from devcluster.pods.logs import LogFiles
from devcluster.pods.status import PodStatus
from devcluster.resources import NODES, PODS, RAYCLUSTERS, Resource
from devcluster.store import Store

# As long as a deleted pod's processes get before SIGKILL: Ray drains for 30 s, which nobody here needs.
MAX_GRACE_S = 2.0
RETRY_S = 2.0
FIRST_BACKOFF_S, LAST_BACKOFF_S = 10.0, 300.0


class Kubelet(Controller):
    name = "kubelet"

    def __init__(
        self,
        store: Store,
        clock: Clock,
        events: Recorder,
        runtime: Runtime,
        *,
        addresses: Addresses,
        code: volumes.CodeFiles | None,
        logs: LogFiles,
    ) -> None:
        """`code` None: nothing runs, so no file is written."""
        self._store = store
        self._clock = clock
        self._events = events
        self._runtime = runtime
        self._addresses = addresses
        self._code = code
        self._logs = logs

    def concerns(self, resource: Resource, obj: Object) -> Iterable[Key]:
        if resource is PODS and obj["spec"].get("nodeName"):
            yield obj["metadata"]["namespace"], obj["metadata"]["name"]

    def reconcile(self, key: Key) -> float | None:
        try:
            pod = self._store.get(PODS, *key)
        except NotFound:
            return None
        if not pod["spec"].get("nodeName"):
            return None
        if is_deleting(pod):
            return self._remove(pod)
        if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            self._clear(pod)
            return None
        sight = self._runtime.sight(pod["metadata"]["uid"])
        if sight is None:
            return self._start(pod)
        if sight.stage is Stage.EXITED and _restarts(pod, sight):
            return self._restart(pod, sight)
        self._report(pod, sight)
        return sight.again_s

    def _start(self, pod: Object) -> float | None:
        metadata, container = pod["metadata"], pod["spec"]["containers"][0]
        uid = metadata["uid"]
        cluster_name = (metadata.get("labels") or {}).get(CLUSTER, metadata["name"])
        ip = self._addresses.take(uid, f"{metadata['namespace']}/{cluster_name}")
        host_ip = self._host_ip(pod)
        try:
            files = volumes.code_files(self._store, pod)
            env = environment.resolve(self._store, pod, container, ip, host_ip)
            launch = Launch(
                pod=pod,
                ip=ip,
                env={**tpu.plugin_env(pod), **env, **tpu.emulated_env(pod)},
                cluster=self._cluster(pod),
                files=files,
            )
            if self._code is not None:
                self._code.write(uid, files)
            self._runtime.start(launch)
        except CannotStart as exc:
            self._wait(pod, ip, host_ip, exc)
            return RETRY_S
        image = container.get("image", "")
        pulled = f'Container image "{image}" already present on machine'
        self._tell(pod, "Pulled", pulled)
        self._tell(pod, "Created", f"Created container: {container['name']}")
        for path in volumes.left_out(pod):
            self._logs.append(uid, container["name"], f"devcluster: {path} is not mounted here\n")
        sight = self._runtime.sight(uid)
        if sight is not None:
            self._report(pod, sight)
            return sight.again_s
        return None

    def _wait(self, pod: Object, ip: str, host_ip: str, problem: CannotStart) -> None:
        reason = problem.reason
        if reason == "FailedMount":
            self._tell(pod, "FailedMount", str(problem), type_="Warning")
            shown = PodStatus(pod, ip, host_ip).waiting("ContainerCreating", "")
        else:
            self._tell(pod, "Failed", f"Error: {problem}", type_="Warning")
            shown = PodStatus(pod, ip, host_ip).waiting(reason, str(problem))
        self._write(pod, shown, self._clock)

    def _report(self, pod: Object, sight: Sight) -> None:
        uid = pod["metadata"]["uid"]
        cluster_name = (pod["metadata"].get("labels") or {}).get(CLUSTER, pod["metadata"]["name"])
        ip = self._addresses.take(uid, f"{pod['metadata']['namespace']}/{cluster_name}")
        status = PodStatus(pod, ip, self._host_ip(pod))
        was_running = status.is_running()
        name = pod["spec"]["containers"][0]["name"]
        self._write(pod, status.of(sight), self._clock)
        if sight.stage in (Stage.RUNNING, Stage.READY) and not was_running:
            self._tell(pod, "Started", f"Started container {name}")

    def _restart(self, pod: Object, sight: Sight) -> float | None:
        """restartPolicy Always: the container starts again in place, each time a little later."""
        uid = pod["metadata"]["uid"]
        status = PodStatus(pod, (pod.get("status") or {}).get("podIP", ""), self._host_ip(pod))
        count = status.restart_count() - status.is_backing_off()  # restarts before this end
        if not status.is_backing_off():
            self._write(pod, status.backing_off(sight), self._clock)
            if count:
                name = pod["spec"]["containers"][0]["name"]
                text = (
                    f"Back-off restarting failed container {name} in pod {pod['metadata']['name']}"
                )
                self._tell(pod, "BackOff", text, type_="Warning")
        finished = sight.finished_at or self._clock.now()
        pause = min(FIRST_BACKOFF_S * 2 ** (count - 1), LAST_BACKOFF_S) if count else 0.0
        left = (finished + timedelta(seconds=pause) - self._clock.now()).total_seconds()
        if left > 0:
            return left
        if not self._runtime.is_ended(uid):
            self._runtime.stop(uid, 0.0)
            return RETRY_S
        self._runtime.forget(uid)
        return self._start(self._store.get(PODS, *_key(pod)))

    def _clear(self, pod: Object) -> None:
        """A finished pod keeps its object and its log; its processes, files and address go."""
        uid = pod["metadata"]["uid"]
        if not self._runtime.is_ended(uid):
            self._runtime.stop(uid, 0.0)
        if self._code is not None:
            self._code.release(uid)

    def _remove(self, pod: Object) -> float | None:
        metadata = pod["metadata"]
        uid = metadata["uid"]
        if not self._runtime.is_ended(uid):
            grace = float(metadata.get("deletionGracePeriodSeconds") or 0)
            name = pod["spec"]["containers"][0]["name"]
            self._tell(pod, "Killing", f"Stopping container {name}")
            self._runtime.stop(uid, min(grace, MAX_GRACE_S))
        if not self._runtime.is_ended(uid):
            return RETRY_S
        self._runtime.forget(uid)
        if self._code is not None:
            self._code.release(uid)
        self._addresses.free(uid)
        self._logs.remove(uid)
        with contextlib.suppress(NotFound):
            self._store.delete(
                PODS, metadata["namespace"], metadata["name"], uid=uid, grace_period=0
            )
        return None

    def mark_lost(self, message: str) -> None:
        """Show pods that ran in a former life of devcluster as failed: their processes are gone."""
        for pod in self._store.view(PODS)[0]:
            status = pod.get("status") or {}
            has_run = pod["spec"].get("nodeName") and status.get("containerStatuses")
            if has_run and status.get("phase") not in ("Succeeded", "Failed"):
                sight = Sight(
                    Stage.EXITED,
                    finished_at=self._clock.now(),
                    exit_code=137,
                    reason="NodeLost",
                    message=message,
                )
                shown = PodStatus(pod, status.get("podIP", ""), self._host_ip(pod))
                self._write(pod, shown.of(sight), self._clock)
                self._tell(pod, "NodeLost", message, type_="Warning")

    def _cluster(self, pod: Object) -> Object | None:
        metadata = pod["metadata"]
        name = (metadata.get("labels") or {}).get(CLUSTER)
        if not name:
            return None
        try:
            return self._store.get(RAYCLUSTERS, metadata["namespace"], name)
        except NotFound:
            return None

    def _host_ip(self, pod: Object) -> str:
        try:
            node = self._store.get(NODES, None, pod["spec"]["nodeName"])
        except NotFound:
            return "127.1.0.1"
        addresses = (node.get("status") or {}).get("addresses") or [{"address": "127.1.0.1"}]
        return str(addresses[0]["address"])

    def _write(self, pod: Object, status: Object, clock: Clock) -> None:
        def replace(obj: Object) -> None:
            if obj["metadata"]["uid"] == pod["metadata"]["uid"]:
                obj["status"] = PodStatus.with_times(obj.get("status") or {}, status, clock.now())

        with contextlib.suppress(NotFound):
            self._store.mutate(PODS, *_key(pod), replace, subresource="status")

    def _tell(self, pod: Object, reason: str, message: str, *, type_: str = "Normal") -> None:
        self._events.emit(KUBELET, pod, reason, message, type_=type_)


def _key(pod: Object) -> Key:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]


def _restarts(pod: Object, sight: Sight) -> bool:
    policy = pod["spec"].get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and sight.exit_code != 0)
