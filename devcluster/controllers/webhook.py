"""What GKE's KubeRay TPU webhook does: refuse a RayCluster whose hosts don't fit its topology, fill in TPU pods.

KubeRay sets no TPU environment itself; this webhook and the device plugin (`pods/tpu.py`) do.
"""

from __future__ import annotations

import math
from typing import Any

from devcluster.controllers.names import (
    CLUSTER,
    GROUP,
    HOST_INDEX,
    REPLICA_INDEX,
    REPLICA_NAME,
    TOPOLOGY,
    TPU,
    check_name,
    headless_service,
)

Object = dict[str, Any]

WEBHOOK = "kuberay-tpu-webhook.google.com"
MISMATCH = "Number of workers in worker group not equal to specified topology"
JAX_PORT = 8471


def refusal(cluster: Object) -> str | None:
    """Why the API server refuses to create this RayCluster, as its error text; None when it is admitted."""
    for group in cluster.get("spec", {}).get("workerGroupSpecs") or []:
        pod = (group.get("template") or {}).get("spec") or {}
        chips = sum(_chips(container) for container in pod.get("containers") or [])
        if not chips:
            continue
        topology = (pod.get("nodeSelector") or {}).get(TOPOLOGY)
        why = _group_refusal(chips, topology, group.get("numOfHosts", 1))
        if why:
            return f'admission webhook "{WEBHOOK}" denied the request: {why}'
    return None


def _group_refusal(chips: int, topology: str | None, hosts: int) -> str | None:
    if hosts == 0:
        return "workerGroupSpec NumOfHosts not set."
    if not topology:
        return "Ray Cluster missing TPU topology nodeSelector"
    try:
        total = math.prod(int(part) for part in topology.split("x"))
    except ValueError:
        return f"Error parsing topology: {topology}"
    return None if max(total // chips, 1) == hosts else MISMATCH


def fill_in(pod: Object, hosts: int) -> None:
    """Add what the mutating webhook adds to a TPU pod of a group with `hosts` hosts per slice, in place."""
    containers = [c for c in pod["spec"].get("containers", []) if _chips(c)]
    if not containers:
        return
    labels = pod["metadata"]["labels"]
    cluster, group = labels[CLUSTER], labels[GROUP]
    replica, host = labels.get(REPLICA_INDEX, "0"), labels.get(HOST_INDEX, "0")
    selector = (pod["spec"].get("nodeSelector") or {}).get(TOPOLOGY, "")
    names = [f"{group}-{replica}-{index}.{headless_service(cluster)}" for index in range(hosts)]
    for container in containers:
        env = container.setdefault("env", [])
        _default(env, "TPU_WORKER_ID", host)
        _default(env, "TPU_NAME", f"{group}-{replica}")
        if not any(entry["name"] == "TPU_DEVICE_PLUGIN_HOST_IP" for entry in env):
            source = {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.hostIP"}}
            env.append({"name": "TPU_DEVICE_PLUGIN_HOST_IP", "valueFrom": source})
        _default(env, "TPU_DEVICE_PLUGIN_ADDR", "$(TPU_DEVICE_PLUGIN_HOST_IP):2112")
        if hosts > 1:
            _default(env, "TPU_WORKER_HOSTNAMES", ",".join(names))
        if any(entry["name"] == "MEGASCALE_NUM_SLICES" for entry in env):
            _default(env, "MEGASCALE_SLICE_ID", replica)
            _default(
                env,
                "MEGASCALE_COORDINATOR_ADDRESS",
                f"{group}-0-0.{headless_service(cluster)}",
            )
            _default(env, "MEGASCALE_PORT", "8081")
    if hosts > 1 and selector:
        pod["spec"]["hostname"] = f"{group}-{replica}-{host}"
        pod["spec"]["subdomain"] = check_name(headless_service(cluster))
        pod["spec"]["affinity"] = _one_slice_per_pool(labels)


def _one_slice_per_pool(labels: dict[str, str]) -> Object:
    def term(key: str, operator: str, value: str) -> Object:
        return {"key": key, "operator": operator, "values": [value]}

    def rule(*terms: Object) -> Object:
        return {
            "topologyKey": "cloud.google.com/gke-nodepool",
            "labelSelector": {"matchExpressions": list(terms)},
        }

    cluster, replica = labels[CLUSTER], labels[REPLICA_NAME]
    field = "requiredDuringSchedulingIgnoredDuringExecution"
    return {
        "podAffinity": {
            field: [rule(term(CLUSTER, "In", cluster), term(REPLICA_NAME, "In", replica))]
        },
        "podAntiAffinity": {
            field: [rule(term(CLUSTER, "In", cluster), term(REPLICA_NAME, "NotIn", replica))]
        },
    }


def _chips(container: Object) -> int:
    resources = container.get("resources") or {}
    for kind in ("requests", "limits"):
        if value := (resources.get(kind) or {}).get(TPU):
            return int(value)
    return 0


def _default(env: list[Object], name: str, value: str) -> None:
    if not any(entry["name"] == name for entry in env):
        env.append({"name": name, "value": value})
