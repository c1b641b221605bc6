"""The status KubeRay computes for a RayCluster. Pure: cluster, pods and time in, status out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from devcluster.controllers import names, quantity
from devcluster.controllers.cluster_pods import head_ports
from devcluster.objects import json_copy, timestamp

Object = dict[str, Any]
_INT32_MAX = 2147483647


def condition_of(pod: Object, type_: str) -> Object | None:
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition["type"] == type_:
            found: Object = condition
            return found
    return None


def is_ready(pod: Object) -> bool:
    """Running with PodReady True: what KubeRay counts as ready."""
    condition = condition_of(pod, "Ready")
    return (
        (pod.get("status") or {}).get("phase") == "Running"
        and condition is not None
        and condition["status"] == "True"
    )


def replicas_of(group: Object) -> int:
    """Slices that the operator wants of a group: replicas kept within min and max; none while suspended."""
    if group.get("suspend"):
        return 0
    low, high = group.get("minReplicas") or 0, group.get("maxReplicas", _INT32_MAX)
    return int(max(low, min(group.get("replicas") or 0, high)))


def _counts(groups: Sequence[Object]) -> dict[str, int]:
    def over_groups(field: str) -> int:
        live = [group for group in groups if not group.get("suspend")]
        total = sum((group.get(field) or 0) * group.get("numOfHosts", 1) for group in live)
        return int(min(total, _INT32_MAX))

    return {
        "desiredWorkerReplicas": sum(replicas_of(g) * g.get("numOfHosts", 1) for g in groups),
        "minWorkerReplicas": over_groups("minReplicas"),
        "maxWorkerReplicas": over_groups("maxReplicas"),
    }


def _desired(cluster: Object) -> Object:
    groups = cluster["spec"].get("workerGroupSpecs") or []
    live = [group for group in groups if not group.get("suspend")]
    # Raw replicas, not clamped: the operator's own quirk.
    sized = [(cluster["spec"]["headGroupSpec"], 1)]
    sized += [(g, (g.get("replicas") or 0) * g.get("numOfHosts", 1)) for g in live]

    def sum_of(resource: str) -> str:
        parts = []
        for group, count in sized:
            for container in group["template"]["spec"]["containers"]:
                resources = container.get("resources") or {}
                merged = {**(resources.get("requests") or {}), **(resources.get("limits") or {})}
                if resource in merged:
                    parts.append((merged[resource], count))
        return quantity.total(parts)

    return {
        "desiredCPU": sum_of("cpu"),
        "desiredMemory": sum_of("memory"),
        "desiredGPU": sum_of("nvidia.com/gpu"),
        "desiredTPU": sum_of(names.TPU),
    }


def compute(
    cluster: Object,
    pods: Sequence[Object],
    *,
    failure: tuple[str, str] | None,
    has_head_service: bool,
    now: datetime,
) -> Object:
    """The whole status. `failure` is (reason, message) of a reconcile that could not create or delete a pod."""
    before: Object = json_copy(cluster.get("status") or {})
    groups = cluster["spec"].get("workerGroupSpecs") or []
    heads = [p for p in pods if p["metadata"]["labels"].get(names.NODE_TYPE) == "head"]
    workers = [p for p in pods if p["metadata"]["labels"].get(names.NODE_TYPE) == "worker"]
    counts = _counts(groups)
    counts["readyWorkerReplicas"] = sum(1 for pod in workers if is_ready(pod))
    counts["availableWorkerReplicas"] = sum(
        1 for pod in workers if (pod.get("status") or {}).get("phase") == "Running"
    )
    status: Object = {
        **_desired(cluster),
        **{name: value for name, value in counts.items() if value},
        "observedGeneration": cluster["metadata"].get("generation", 1),
        "head": _head(cluster, heads, has_head_service),
        "lastUpdateTime": before.get("lastUpdateTime"),
        "conditions": [],
    }
    if has_head_service:
        ports = head_ports(cluster)
        status["endpoints"] = {name: str(port) for name, port in sorted(ports.items())}
    is_suspended = bool(cluster["spec"].get("suspend"))
    whole = len(pods) == counts["desiredWorkerReplicas"] + 1 and all(map(is_ready, pods))
    state = before.get("state")
    if failure is None and whole and not is_suspended:
        state = "ready"
    if is_suspended and not pods:
        state = "suspended"
    _set_state(status, before, state, now)
    status["conditions"] = _conditions(
        before, heads, pods, failure=failure, is_suspended=is_suspended, now=now
    )
    return status


def _set_state(status: Object, before: Object, state: str | None, now: datetime) -> None:
    times = dict(before.get("stateTransitionTimes") or {})
    if state and state != before.get("state"):
        times[state] = timestamp(now)
    if state:
        status["state"] = state
    if times:
        status["stateTransitionTimes"] = times


def _head(cluster: Object, heads: Sequence[Object], has_service: bool) -> Object:
    head: Object = {}
    if has_service:
        head["serviceName"] = names.head_service(cluster["metadata"]["name"])
    if heads:
        head["podName"] = heads[0]["metadata"]["name"]
        # A headless service has no address of its own: the operator shows the head pod's.
        if address := (heads[0].get("status") or {}).get("podIP"):
            head["podIP"] = head["serviceIP"] = address
    return head


def _conditions(
    before: Object,
    heads: Sequence[Object],
    pods: Sequence[Object],
    *,
    failure: tuple[str, str] | None,
    is_suspended: bool,
    now: datetime,
) -> list[Object]:
    old = {condition["type"]: condition for condition in before.get("conditions") or []}
    wanted: list[tuple[str, bool, str, str]] = []
    if failure is not None:
        wanted.append(("ReplicaFailure", True, failure[0], "\n".join(failure)))
    wanted.append(("HeadPodReady", *_head_ready(heads)))
    provisioned = old.get("RayClusterProvisioned", {}).get("status") == "True"
    if is_suspended:
        what = (False, "RayClusterPodsProvisioning", "RayCluster has been suspended")
    elif provisioned or (heads and all(map(is_ready, pods))):
        first = "All Ray Pods are ready for the first time"
        what = (True, "AllPodRunningAndReadyFirstTime", first)
    else:
        first = "RayCluster Pods are being provisioned for first time"
        what = (False, "RayClusterPodsProvisioning", first)
    wanted.append(("RayClusterProvisioned", *what))
    wanted.append(("RayClusterSuspended", is_suspended and not pods, "RayClusterSuspended", ""))
    wanted.append(("RayClusterSuspending", is_suspended and bool(pods), "RayClusterSuspending", ""))
    return [_condition(old.get(each[0]), each, now) for each in wanted]


def _condition(old: Object | None, wanted: tuple[str, bool, str, str], now: datetime) -> Object:
    type_, is_true, reason, message = wanted
    status = "True" if is_true else "False"
    since = timestamp(now)
    if old is not None and old["status"] == status:
        since = old["lastTransitionTime"]
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }


def _head_ready(heads: Sequence[Object]) -> tuple[bool, str, str]:
    if not heads:
        return False, "HeadPodNotFound", "Head Pod not found"
    pod = heads[0]
    condition = condition_of(pod, "Ready")
    if condition is None:
        return False, "Unknown", ""
    if condition["status"] == "True":
        return True, "HeadPodRunningAndReady", ""
    reason, message = condition.get("reason") or "Unknown", condition.get("message") or ""
    if reason == "ContainersNotReady":
        for container in (pod.get("status") or {}).get("containerStatuses") or []:
            state = container.get("state") or {}
            detail = state.get("waiting") or state.get("terminated")
            if detail and detail.get("reason"):
                reason = detail["reason"]
                message = f"{container['name']}: {detail.get('message', '')}"
                break
    return False, reason, message
