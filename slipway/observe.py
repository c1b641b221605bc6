"""What the API server says about our objects, as small plain values. Tolerant: any field may be missing.

Each value goes to a JSON mapping and back, since it is stored beside the attempt that it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Self

_INDEX_LABEL = "ray.io/worker-group-replica-index"
_HOST_LABEL = "ray.io/replica-host-index"


class _Stored:
    """JSON and back for the values below, all of whose fields are JSON already."""

    def to_mapping(self) -> dict[str, Any]:
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # subclasses are dataclasses

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Self:
        """Fields that an older version did not store take their defaults; unknown ones are left out."""
        known = {field.name for field in fields(cls)}  # type: ignore[arg-type]
        return cls(**{key: value for key, value in stored.items() if key in known})


@dataclass(frozen=True)
class SeenJob(_Stored):
    """A RayJob. Statuses are KubeRay's and Ray's own words; times are RFC 3339 text."""

    name: str = ""
    uid: str = ""
    deployment_status: str = ""
    job_status: str = ""
    reason: str = ""
    message: str = ""
    cluster_name: str = ""
    started: str = ""
    ended: str = ""
    deleting: bool = False


@dataclass(frozen=True)
class SeenCluster(_Stored):
    """A RayCluster. `failure` is the message of its ReplicaFailure condition: quota and webhook refusals."""

    name: str = ""
    state: str = ""
    head_ready: bool = False
    head_message: str = ""
    failure: str = ""
    deleting: bool = False


@dataclass(frozen=True)
class SeenPod(_Stored):
    """A pod. `slice_index` and `host_index` are None for the head; `message` says why it is not running."""

    name: str = ""
    uid: str = ""
    phase: str = ""
    ready: bool = False
    is_head: bool = False
    slice_index: int | None = None
    host_index: int | None = None
    node: str = ""
    ip: str = ""
    scheduled: bool = False
    reason: str = ""
    message: str = ""
    created: str = ""
    deleting: bool = False

    @property
    def is_up(self) -> bool:
        return self.ready and not self.deleting

    @property
    def short_message(self) -> str:
        """Without the scheduler's second sentence, on preemption, which never helps a TPU pod."""
        return self.message.partition(" preemption:")[0].rstrip(".")


@dataclass(frozen=True)
class SeenEvent:
    """A Kubernetes event. `key` is the same for repeats of it."""

    key: str
    at: datetime | None
    first_at: datetime | None
    count: int
    source: str
    type: str
    reason: str
    message: str
    about_kind: str
    about_name: str


def seen_job(obj: Mapping[str, Any]) -> SeenJob:
    metadata, status = _part(obj, "metadata"), _part(obj, "status")
    return SeenJob(
        name=_text(metadata, "name"),
        uid=_text(metadata, "uid"),
        deployment_status=_text(status, "jobDeploymentStatus"),
        job_status=_text(status, "jobStatus"),
        reason=_text(status, "reason"),
        message=_text(status, "message"),
        cluster_name=_text(status, "rayClusterName"),
        started=_text(status, "startTime"),
        ended=_text(status, "endTime"),
        deleting="deletionTimestamp" in metadata,
    )


def seen_cluster(obj: Mapping[str, Any]) -> SeenCluster:
    metadata, status = _part(obj, "metadata"), _part(obj, "status")
    head = _condition(status, "HeadPodReady")
    failure = _condition(status, "ReplicaFailure")
    return SeenCluster(
        name=_text(metadata, "name"),
        state=_text(status, "state"),
        head_ready=_text(head, "status") == "True",
        head_message=_text(head, "message") or _text(head, "reason"),
        failure=_text(failure, "message") if _text(failure, "status") == "True" else "",
        deleting="deletionTimestamp" in metadata,
    )


def seen_pod(obj: Mapping[str, Any]) -> SeenPod:
    metadata, spec, status = _part(obj, "metadata"), _part(obj, "spec"), _part(obj, "status")
    labels = _part(metadata, "labels")
    is_head = _text(labels, "ray.io/node-type") == "head"
    reason, message = _pod_trouble(status)
    return SeenPod(
        name=_text(metadata, "name"),
        uid=_text(metadata, "uid"),
        phase=_text(status, "phase") or "Pending",
        ready=_text(_condition(status, "Ready"), "status") == "True",
        is_head=is_head,
        slice_index=None if is_head else _number(labels, _INDEX_LABEL, 0),
        # Slices of one host carry no host index.
        host_index=None if is_head else _number(labels, _HOST_LABEL, 0),
        node=_text(spec, "nodeName"),
        ip=_text(status, "podIP"),
        scheduled=_text(_condition(status, "PodScheduled"), "status") == "True",
        reason=reason,
        message=message,
        created=_text(metadata, "creationTimestamp"),
        deleting="deletionTimestamp" in metadata,
    )


def seen_event(obj: Mapping[str, Any]) -> SeenEvent:
    """Both forms: core/v1 (involvedObject, lastTimestamp) and events.k8s.io (regarding, eventTime)."""
    metadata = _part(obj, "metadata")
    about = _part(obj, "involvedObject") or _part(obj, "regarding")
    series = _part(obj, "series")
    first = (
        _time(obj, "firstTimestamp")
        or _time(obj, "eventTime")
        or _time(metadata, "creationTimestamp")
    )
    component = (
        _text(obj, "reportingComponent")
        or _text(obj, "reportingController")
        or _text(_part(obj, "source"), "component")
    )
    return SeenEvent(
        key=_text(metadata, "uid") or _text(metadata, "name"),
        at=_time(series, "lastObservedTime") or _time(obj, "lastTimestamp") or first,
        first_at=first,
        count=max(1, _number(series, "count", 0), _number(obj, "count", 0)),
        source=_source(component),
        type=_text(obj, "type"),
        reason=_text(obj, "reason"),
        message=_text(obj, "message") or _text(obj, "note"),
        about_kind=_text(about, "kind"),
        about_name=_text(about, "name"),
    )


def _pod_trouble(status: Mapping[str, Any]) -> tuple[str, str]:
    """Why the pod is not running, from the nearest to the container outwards."""
    for container in _list(status, "containerStatuses") + _list(status, "initContainerStatuses"):
        state = _part(container, "state")
        for kind in ("waiting", "terminated"):
            found = _part(state, kind)
            reason = _text(found, "reason")
            if reason and reason not in ("ContainerCreating", "PodInitializing", "Completed"):
                return reason, _text(found, "message") or _exit_text(found)
    scheduled = _condition(status, "PodScheduled")
    if _text(scheduled, "status") == "False":
        return _text(scheduled, "reason"), _text(scheduled, "message")
    return _text(status, "reason"), _text(status, "message")


def _exit_text(terminated: Mapping[str, Any]) -> str:
    return f"exit code {terminated['exitCode']}" if "exitCode" in terminated else ""


def _source(component: str) -> str:
    if component.startswith("ray") or "kuberay" in component:
        return "kuberay"
    if "scheduler" in component:
        return "scheduler"
    if "autoscaler" in component:
        return "autoscaler"
    return "kubelet" if component == "kubelet" else "kubernetes"


def _condition(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    return next((item for item in _list(status, "conditions") if _text(item, "type") == kind), {})


def _part(mapping: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = mapping.get(key)
    return value if isinstance(value, Mapping) else {}


def _list(mapping: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = mapping.get(key)
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _text(mapping: Mapping[str, Any], key: str) -> str:
    value = mapping.get(key)
    return value if isinstance(value, str) else ""


def _number(mapping: Mapping[str, Any], key: str, default: int) -> int:
    value = mapping.get(key)
    if isinstance(value, str) and value.isdecimal():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _time(mapping: Mapping[str, Any], key: str) -> datetime | None:
    try:
        return datetime.fromisoformat(_text(mapping, key))
    except ValueError:
        return None
