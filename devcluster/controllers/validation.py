"""The rules of KubeRay's operator for RayJobs and RayClusters, checked when it first looks at them, not at create.

Each function returns the operator's message or None. Only rules that a client can run into are here; the
gates that are off by default count as off.
"""

from __future__ import annotations

from typing import Any

from devcluster.controllers.names import MAX_RAYCLUSTER_NAME, MAX_RAYJOB_NAME, is_dns_1035
from devcluster.controllers.rayjob_request import BadRuntimeEnv, runtime_env

Object = dict[str, Any]


def rayjob_metadata(job: Object) -> str | None:
    return _name("RayJob", job["metadata"]["name"], MAX_RAYJOB_NAME)


def raycluster_metadata(cluster: Object) -> str | None:
    return _name("RayCluster", cluster["metadata"]["name"], MAX_RAYCLUSTER_NAME)


def _name(kind: str, name: str, limit: int) -> str | None:
    if len(name) > limit:
        return f"{kind} name should be no more than {limit} characters"
    if not is_dns_1035(name):
        return (
            f"{kind} name should be a valid DNS1035 label: [a DNS-1035 label must consist of lower case "
            "alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric "
            "character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')]"
        )
    return None


def rayjob_spec(job: Object) -> str | None:
    """Why the operator calls this RayJob's spec invalid, without its `The RayJob spec is invalid: `."""
    spec = job.get("spec") or {}
    mode = spec.get("submissionMode", "K8sJobMode")
    selector = spec.get("clusterSelector")
    shuts_down = bool(spec.get("shutdownAfterJobFinishes"))
    if spec.get("suspend") and not shuts_down:
        return "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be suspended"
    if spec.get("suspend") and selector:
        return "the ClusterSelector mode doesn't support the suspend operation"
    if not spec.get("rayClusterSpec") and not selector:
        return "one of RayClusterSpec or ClusterSelector must be set"
    if selector and not selector.get("ray.io/cluster"):
        return "cluster name in ClusterSelector should not be empty"
    if mode == "InteractiveMode" and spec.get("backoffLimit"):
        return "BackoffLimit is incompatible with InteractiveMode"
    if selector and spec.get("backoffLimit"):
        return "BackoffLimit is incompatible with clusterSelector"
    if mode == "SidecarMode" and (why := _sidecar(spec)):
        return why
    if spec.get("rayClusterSpec") and (why := raycluster_spec(spec["rayClusterSpec"])):
        return why
    if (spec.get("rayClusterSpec") or {}).get("authOptions", {}).get("enableK8sTokenAuth"):
        return "authOptions.enableK8sTokenAuth is not supported for RayJob"
    try:
        runtime_env(spec.get("runtimeEnvYAML") or "")
    except BadRuntimeEnv as exc:
        return str(exc)
    return _deadlines(spec, shuts_down)


def _sidecar(spec: Object) -> str | None:
    if spec.get("submitterPodTemplate"):
        return "Currently, SidecarMode doesn't support SubmitterPodTemplate"
    if spec.get("submitterConfig"):
        return "Currently, SidecarMode doesn't support SubmitterConfig"
    if spec.get("clusterSelector"):
        return "ClusterSelector is incompatible with SidecarMode"
    return None


def _deadlines(spec: Object, shuts_down: bool) -> str | None:
    for field in ("activeDeadlineSeconds", "preRunningDeadlineSeconds"):
        if spec.get(field) is not None and spec[field] <= 0:
            return f"{field} must be a positive integer"
    if spec.get("backoffLimit", 0) < 0:
        return "backoffLimit must be a positive integer"
    ttl = spec.get("ttlSecondsAfterFinished", 0)
    if ttl < 0:
        return "ttlSecondsAfterFinished must be a non-negative integer"
    if ttl and not shuts_down:
        return "a RayJob with shutdownAfterJobFinishes set to false cannot have TTLSecondsAfterFinished"
    if (
        spec.get("deletionStrategy")
        and shuts_down
        and spec["deletionStrategy"].get("deletionRules")
    ):
        return "spec.shutdownAfterJobFinishes and spec.deletionStrategy.deletionRules are mutually exclusive"
    return None


def raycluster_spec(spec: Object) -> str | None:
    """Why the operator calls a RayCluster's spec invalid."""
    if not _containers(spec.get("headGroupSpec") or {}):
        return "headGroupSpec should have at least one container"
    seen: set[str] = set()
    for group in spec.get("workerGroupSpecs") or []:
        name = group.get("groupName", "")
        if not _containers(group):
            return f"workerGroupSpec {name} should have at least one container"
        if name in seen:
            return f"worker group names must be unique: {name}"
        seen.add(name)
        if why := _group(name, group, bool(spec.get("enableInTreeAutoscaling"))):
            return why
    for field, gate in (
        ("networkPolicy", "RayClusterNetworkPolicy"),
        ("tlsOptions", "RayClusterMTLS"),
    ):
        if spec.get(field):
            return f"{field} is set but the {gate} feature gate is not enabled"
    if (spec.get("authOptions") or {}).get("mode") == "token" and not _is_at_least(
        spec, (2, 52, 0)
    ):
        return (
            "authOptions.mode is 'token' but minimum Ray version is 2.52.0, "
            f"got {spec.get('rayVersion') or 'none'}"
        )
    return None


def _group(name: str, group: Object, autoscaling: bool) -> str | None:
    params = group.get("rayStartParams") or {}
    if group.get("resources") and {"num-cpus", "num-gpus", "memory", "resources"} & set(params):
        return (
            f"resource fields should not be set in both group {name}'s resources and rayStartParams"
        )
    if "labels" in params:
        return f"rayStartParams['labels'] is not supported for group {name}; use the group's labels field"
    low, high = group.get("minReplicas", 0), group.get("maxReplicas", 2147483647)
    if low < 0 or high < 0:
        return f"worker group {name} has a negative number of replicas"
    if low > high:
        return f"worker group {name} minReplicas {low} should be lower than maxReplicas {high}"
    if group.get("suspend") and autoscaling:
        return f"worker group {name} cannot be suspended with Autoscaler enabled"
    return None


def _containers(group: Object) -> list[Object]:
    return ((group.get("template") or {}).get("spec") or {}).get("containers") or []


def _is_at_least(spec: Object, wanted: tuple[int, int, int]) -> bool:
    parts = str(spec.get("rayVersion") or "").split(".")
    if len(parts) < 3 or not all(part[:1].isdigit() for part in parts[:3]):
        return False
    digits = ["".join(ch for ch in part if ch.isdigit()) for part in parts[:3]]
    return tuple(int(text) for text in digits) >= wanted
