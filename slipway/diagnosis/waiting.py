"""Why slices are not whole: the missing host, and what the cluster says about its pod."""

from __future__ import annotations

from slipway.diagnosis.reason import Reason
from slipway.lifecycle import Snapshot
from slipway.observe import SeenPod

_CONTAINER_TROUBLE = {
    "ErrImagePull": ("image_pull", "its image cannot be pulled"),
    "ImagePullBackOff": ("image_pull", "its image cannot be pulled"),
    "InvalidImageName": ("image_pull", "its image's name is not valid"),
    "CreateContainerConfigError": ("config", "something it mounts or reads is missing"),
    "CrashLoopBackOff": ("crash", "its container ends again and again"),
    "OOMKilled": ("memory", "it ran out of memory"),
}


def waiting(snapshot: Snapshot) -> Reason:
    job, cluster = snapshot.seen.job, snapshot.seen.cluster
    since = snapshot.state_since
    if job is None:
        return Reason(
            "unseen", "The RayJob is created; nothing was seen of it yet.", since, (), _NEXT
        )
    if cluster is not None and cluster.failure:
        return Reason(
            "pods_refused", f"KubeRay cannot create hosts: {cluster.failure}", since, (cluster.failure,),
            "KubeRay tries again; the attempt ends when its wait is over.",
        )  # fmt: skip
    if not snapshot.seen.pods:
        what = "KubeRay is making the cluster" if job.cluster_name else "KubeRay has not begun"
        return Reason("no_pods", f"{what}; no host exists yet.", since, (), _NEXT)
    missing = snapshot.missing_hosts()
    if not missing:
        return _head(snapshot)
    return _hosts(snapshot, missing)


_NEXT = "Hosts appear as soon as the cluster has room."


def _head(snapshot: Snapshot) -> Reason:
    head = next((pod for pod in snapshot.seen.pods if pod.is_head), None)
    count = snapshot.slices * snapshot.hosts_per_slice
    ready = f"{count} of {count} hosts ready, waiting for Ray's head node"
    if head is None:
        return Reason(
            "head_missing",
            f"{ready}, which does not exist.",
            snapshot.state_since,
            (),
            "KubeRay replaces it.",
        )
    why = _pod_state(head)
    return Reason(
        "head_pending",
        f"{ready}: {why}.",
        snapshot.state_since,
        _evidence(head),
        "The job starts then.",
    )


def _hosts(snapshot: Snapshot, missing: tuple[tuple[int, int], ...]) -> Reason:
    total = snapshot.slices * snapshot.hosts_per_slice
    index, host = missing[0]
    where = f"host {host} of slice {index}" if snapshot.slices > 1 else f"host {host}"
    more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
    head = f"{total - len(missing)} of {total} hosts ready, waiting for {where}{more}"
    pod = _pod_of(snapshot, index, host)
    if pod is None:
        return Reason(
            "host_missing",
            f"{head}: it has no pod.",
            snapshot.state_since,
            (),
            "KubeRay creates it.",
        )
    code = _CONTAINER_TROUBLE.get(pod.reason, ("host_pending", ""))[0]
    if pod.reason == "Unschedulable":
        code = "no_room"
    return Reason(
        code, f"{head}: {_pod_state(pod)}.", snapshot.state_since, _evidence(pod), _after(code)
    )


def _after(code: str) -> str:
    if code == "no_room":
        return "It starts when the cluster has a free host; the attempt ends when its wait is over."
    if code in ("image_pull", "config", "crash", "memory"):
        return "This seldom mends itself: stop the workload, and correct it."
    return "The job starts when every host of every slice is ready."


def _pod_of(snapshot: Snapshot, index: int, host: int) -> SeenPod | None:
    """A replaced host's old pod may still be ending beside the new one."""
    pods = [pod for pod in snapshot.seen.pods if (pod.slice_index, pod.host_index) == (index, host)]
    return min(pods, key=lambda pod: pod.deleting) if pods else None


def _pod_state(pod: SeenPod) -> str:
    if pod.deleting:
        return "it is being removed"
    if pod.phase == "Failed":
        return f"it failed ({pod.message or pod.reason or 'no reason given'})"
    if pod.reason in _CONTAINER_TROUBLE:
        what = _CONTAINER_TROUBLE[pod.reason][1]
        return f"{what} ({pod.reason}{': ' + pod.message if pod.message else ''})"
    if not pod.scheduled:
        return pod.short_message or "it is not scheduled yet"
    return f"it starts on {pod.node}" if pod.node else "it starts"


def _evidence(pod: SeenPod) -> tuple[str, ...]:
    seen = f"pod {pod.name}: {pod.phase}"
    return (f"{seen}, {pod.reason}: {pod.message}" if pod.reason or pod.message else seen,)
