"""The columns of each kind.

KubeRay's as its CRDs declare them, the built-in ones as the API server prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from devcluster.objects import Object


@dataclass(frozen=True)
class Column:
    """`path` names a field.

    `read` computes where a field is not enough. Priority 1 shows with `-o wide`.
    """

    name: str
    path: str = ""
    type: str = "string"
    format: str = ""
    priority: int = 0
    read: Callable[[Object], Any] | None = None
    empty: Any = "<none>"

    def definition(self) -> Object:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        }


NAME = Column("Name", ".metadata.name", format="name")
AGE = Column("Age", ".metadata.creationTimestamp", type="date", empty="<unknown>")


def _field(name: str, path: str, type_: str = "string", priority: int = 0) -> Column:
    """A CRD's printer column: an absent value is an empty cell."""
    return Column(
        name, path, type_, priority=priority, empty="" if type_ != "date" else "<unknown>"
    )


def _containers(obj: Object) -> list[Object]:
    found: list[Object] = obj.get("status", {}).get("containerStatuses", [])
    return found


def _ready(obj: Object) -> str:
    ready = sum(1 for status in _containers(obj) if status.get("ready"))
    return f"{ready}/{len(obj.get('spec', {}).get('containers', []))}"


def _restarts(obj: Object) -> str:
    return str(sum(status.get("restartCount", 0) for status in _containers(obj)))


def pod_status(obj: Object) -> str:
    """One word for where a pod is: a container's reason says more than the phase."""
    status = obj.get("status", {})
    word: str = status.get("reason") or status.get("phase") or "Unknown"
    for container in reversed(_containers(obj)):
        state = container.get("state", {})
        waiting, ended = state.get("waiting", {}), state.get("terminated", {})
        if waiting.get("reason"):
            word = waiting["reason"]
        elif ended:
            code = f"ExitCode:{ended.get('exitCode', 0)}"
            signal = f"Signal:{ended['signal']}" if ended.get("signal") else code
            word = ended.get("reason") or signal
    if "deletionTimestamp" in obj["metadata"]:
        return "Terminating"
    return word


def _is_true(obj: Object, condition: str) -> bool:
    conditions = obj.get("status", {}).get("conditions", [])
    return any(c.get("type") == condition and c.get("status") == "True" for c in conditions)


def _node_status(obj: Object) -> str:
    word = "Ready" if _is_true(obj, "Ready") else "NotReady"
    return word + (",SchedulingDisabled" if obj.get("spec", {}).get("unschedulable") else "")


def _node_roles(obj: Object) -> str:
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels", {})
    return (
        ",".join(sorted(k.removeprefix(prefix) for k in labels if k.startswith(prefix))) or "<none>"
    )


def _ports(obj: Object) -> str:
    ports = obj.get("spec", {}).get("ports", [])
    return ",".join(f"{p['port']}/{p.get('protocol', 'TCP')}" for p in ports) or "<none>"


def _about(obj: Object) -> str:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def _last_seen(obj: Object) -> Any:
    series = obj.get("series") or {}
    return (
        series.get("lastObservedTime")
        or obj.get("lastTimestamp")
        or obj.get("deprecatedLastTimestamp")
        or obj.get("eventTime")
        or obj["metadata"].get("creationTimestamp")
    )


def _count(obj: Object) -> int:
    return int(obj.get("count") or obj.get("deprecatedCount") or 1)


def _source(obj: Object) -> str:
    source = (obj.get("source") or {}).get("component")
    return source or obj.get("reportingComponent") or obj.get("reportingController") or ""


def _completions(obj: Object) -> str:
    done = obj.get("status", {}).get("succeeded", 0)
    return f"{done}/{obj.get('spec', {}).get('completions', 1)}"


def _size(field: str) -> Callable[[Object], int]:
    def count(obj: Object) -> int:
        extra = obj.get("binaryData") or {} if field == "data" else {}
        return len(obj.get(field) or {}) + len(extra)

    return count


COLUMNS: dict[str, tuple[Column, ...]] = {
    "pods": (
        NAME,
        Column("Ready", read=_ready),
        Column("Status", read=pod_status),
        Column("Restarts", read=_restarts),
        AGE,
        Column("IP", ".status.podIP", priority=1),
        Column("Node", ".spec.nodeName", priority=1),
        Column("Nominated Node", ".status.nominatedNodeName", priority=1),
        Column("Readiness Gates", ".spec.readinessGates", priority=1),
    ),
    "events": (
        Column("Last Seen", type="date", read=_last_seen, empty="<unknown>"),
        Column("Type", ".type"),
        Column("Reason", ".reason"),
        Column("Object", read=_about),
        Column("Source", read=_source, priority=1),
        Column("Message", read=lambda obj: (obj.get("message") or obj.get("note") or "").strip()),
        Column("Count", type="integer", read=_count, priority=1),
        Column("Name", ".metadata.name", format="name", priority=1),
    ),
    "services": (
        NAME,
        Column("Type", ".spec.type"),
        Column("Cluster-IP", ".spec.clusterIP"),
        Column("External-IP", read=lambda _obj: "<none>"),
        Column("Port(s)", read=_ports),
        AGE,
    ),
    "namespaces": (NAME, Column("Status", ".status.phase"), AGE),
    "nodes": (
        NAME,
        Column("Status", read=_node_status),
        Column("Roles", read=_node_roles),
        AGE,
        Column("Version", ".status.nodeInfo.kubeletVersion"),
    ),
    "configmaps": (NAME, Column("Data", type="integer", read=_size("data")), AGE),
    "secrets": (
        NAME,
        Column("Type", ".type"),
        Column("Data", type="integer", read=_size("data")),
        AGE,
    ),
    "serviceaccounts": (NAME, Column("Secrets", type="integer", read=_size("secrets")), AGE),
    "jobs": (NAME, Column("Completions", read=_completions), AGE),
    "rayjobs": (
        NAME,
        _field("job status", ".status.jobStatus"),
        _field("deployment status", ".status.jobDeploymentStatus"),
        _field("ray cluster name", ".status.rayClusterName"),
        _field("start time", ".status.startTime"),
        _field("end time", ".status.endTime"),
        _field("age", ".metadata.creationTimestamp", "date"),
    ),
    "rayclusters": (
        NAME,
        _field("desired workers", ".status.desiredWorkerReplicas", "integer"),
        _field("available workers", ".status.availableWorkerReplicas", "integer"),
        _field("cpus", ".status.desiredCPU"),
        _field("memory", ".status.desiredMemory"),
        _field("gpus", ".status.desiredGPU"),
        _field("tpus", ".status.desiredTPU", priority=1),
        _field("status", ".status.state"),
        _field("age", ".metadata.creationTimestamp", "date"),
        _field("head pod IP", ".status.head.podIP", priority=1),
        _field("head service IP", ".status.head.serviceIP", priority=1),
    ),
    "rayservices": (
        NAME,
        _field("service status", ".status.serviceStatus"),
        _field("num serve endpoints", ".status.numServeEndpoints"),
    ),
    "computeclasses": (NAME, _field("age", ".metadata.creationTimestamp", "date")),
}
