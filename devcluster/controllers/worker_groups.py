"""Worker pods of a RayCluster. The unit is the replica: one slice, all hosts or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devcluster.controllers import cluster_pods, cluster_status, names
from devcluster.controllers.events import RAYCLUSTER, Recorder
from devcluster.errors import NotFound, StoreError
from devcluster.objects import is_deleting
from devcluster.resources import PODS
from devcluster.store import Store

Object = dict[str, Any]


class CannotAct(Exception):
    """A pod could not be created or deleted; shown as the ReplicaFailure condition, then tried again."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def ray_container_end(pod: Object) -> Object | None:
    """The terminated state of the Ray container (the first), if it has ended."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    if not statuses:
        return None
    ended: Object | None = (statuses[0].get("state") or {}).get("terminated")
    return ended


def should_go(pod: Object) -> bool:
    """KubeRay's shouldDeletePod: with restartPolicy Always a crashed container restarts in place instead."""
    phase = (pod.get("status") or {}).get("phase")
    if phase in ("Failed", "Succeeded"):
        return True
    never = pod["spec"].get("restartPolicy") == "Never"
    return phase == "Running" and never and ray_container_end(pod) is not None


def pod_summary(pod: Object) -> str:
    return (
        f"Pod status: {(pod.get('status') or {}).get('phase', '')}; "
        f"Pod restart policy: {pod['spec'].get('restartPolicy')}; "
        f"Ray container terminated status: {_go_struct(ray_container_end(pod))}"
    )


def _go_struct(ended: Object | None) -> str:
    if ended is None:
        return "nil"
    return f"{{ExitCode:{ended.get('exitCode', 0)} Reason:{ended.get('reason', '')}}}"


class WorkerGroups:
    def __init__(self, store: Store, events: Recorder) -> None:
        self._store = store
        self._events = events

    def ensure(self, cluster: Object, pods: Sequence[Object]) -> None:
        """Bring every group to its number of whole replicas. CannotAct when the API server refuses a pod."""
        live = [pod for pod in pods if not is_deleting(pod)]
        for group in cluster["spec"].get("workerGroupSpecs") or []:
            name = group["groupName"]
            own = [pod for pod in live if pod["metadata"]["labels"].get(names.GROUP) == name]
            if group.get("suspend"):
                self._end_suspended(cluster, name, own)
            elif group.get("numOfHosts", 1) > 1:
                self._ensure_slices(cluster, group, own)
            else:
                self._ensure_single_hosts(cluster, group, own)

    def _ensure_slices(self, cluster: Object, group: Object, pods: Sequence[Object]) -> None:
        replicas: dict[str, list[Object]] = {}
        for pod in pods:
            label = pod["metadata"]["labels"].get(names.REPLICA_NAME, "")
            replicas.setdefault(label, []).append(pod)
        is_incomplete = False
        for label, members in list(replicas.items()):
            sick = [pod for pod in members if should_go(pod)]
            if sick:
                self._end_replica(cluster, group, members, _sickness(sick[0]))
                del replicas[label]
            elif len(members) < group["numOfHosts"]:
                self._end_replica(cluster, group, members, "cleanup of incomplete multi-host group")
                del replicas[label]
                is_incomplete = True
        if is_incomplete:
            raise CannotAct("FailedDeleteWorkerPod", "cleanup of incomplete multi-host group")
        surplus = len(replicas) - cluster_status.replicas_of(group)
        newest_first = sorted(replicas.values(), key=_replica_index, reverse=True)
        for members in newest_first[: max(surplus, 0)]:
            self._end_replica(cluster, group, members, "scaling down")
        taken = {_replica_index(members) for members in replicas.values()}
        for _ in range(-surplus):
            index = _lowest_free(taken)
            taken.add(index)
            label = f"{group['groupName']}-{names.suffix()}"
            for host in range(group["numOfHosts"]):
                self._create(cluster, cluster_pods.worker_pod(cluster, group, index, label, host))

    def _ensure_single_hosts(self, cluster: Object, group: Object, pods: Sequence[Object]) -> None:
        kept = []
        for pod in pods:
            if should_go(pod):
                self._delete(cluster, pod, f"Deleted worker Pod {_where(pod)}; {pod_summary(pod)}")
            else:
                kept.append(pod)
        surplus = len(kept) - cluster_status.replicas_of(group)
        kept.sort(key=lambda pod: _replica_index([pod]), reverse=True)
        for pod in kept[: max(surplus, 0)]:
            self._delete(cluster, pod, f"Deleted Pod {_where(pod)}")
        taken = {_replica_index([pod]) for pod in kept}
        for _ in range(-surplus):
            index = _lowest_free(taken)
            taken.add(index)
            self._create(cluster, cluster_pods.worker_pod(cluster, group, index, "", 0))

    def _end_suspended(self, cluster: Object, group: str, pods: Sequence[Object]) -> None:
        for pod in pods:
            self._store.delete(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
        if pods:
            metadata = cluster["metadata"]
            text = (
                f"Deleted all pods for suspended worker group {group} in RayCluster "
                f"{metadata['namespace']}/{metadata['name']}"
            )
            self._events.emit(RAYCLUSTER, cluster, "DeletedWorkerPod", text, action="Delete")

    def _end_replica(
        self, cluster: Object, group: Object, members: Sequence[Object], why: str
    ) -> None:
        for pod in members:
            text = f"Deleted worker Pod {_where(pod)} for group {group['groupName']}: {why}"
            self._delete(cluster, pod, text)

    def _delete(self, cluster: Object, pod: Object, text: str) -> None:
        metadata = pod["metadata"]
        try:
            self._store.delete(PODS, metadata["namespace"], metadata["name"], uid=metadata["uid"])
        except NotFound:
            return
        self._events.emit(RAYCLUSTER, cluster, "DeletedWorkerPod", text, action="Delete")

    def _create(self, cluster: Object, pod: Object) -> None:
        try:
            created = self._store.create(PODS, pod)
        except StoreError as exc:
            metadata = cluster["metadata"]
            where = f"{metadata['namespace']}/{metadata['name']}"
            text = f"Failed to create worker Pod for the cluster {where}, {exc.message}"
            self._events.emit(
                RAYCLUSTER,
                cluster,
                "FailedToCreateWorkerPod",
                text,
                type_="Warning",
                action="Create",
            )
            raise CannotAct("FailedCreateWorkerPod", exc.message) from exc
        text = f"Created worker Pod {_where(created)}"
        self._events.emit(RAYCLUSTER, cluster, "CreatedWorkerPod", text, action="Create")


def _sickness(pod: Object) -> str:
    return f"The worker Pod {pod['metadata']['name']} is unhealthy; {pod_summary(pod)}"


def _where(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _replica_index(members: Sequence[Object]) -> int:
    return int(members[0]["metadata"]["labels"].get(names.REPLICA_INDEX, "0"))


def _lowest_free(taken: set[int]) -> int:
    index = 0
    while index in taken:
        index += 1
    return index
