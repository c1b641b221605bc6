"""The worker group of TPU hosts: one replica is one slice."""

from __future__ import annotations

from typing import Any

from slipway.naming import Target
from slipway.plan import Plan, Rung
from slipway.request import Provisioning

GROUP_NAME = "tpu"
# Where the code is mounted, for every pod of the cluster alike: the runtime environment names the file by this path.
CODE_ROOT = "/tmp/slipway-code"  # noqa: S108  # a mount point inside pods
# What the machine keeps for the node's own agents.
USABLE_SHARE = 0.85
# libtpu writes until the disk is full unless told otherwise.
TPU_LOG_MB = 100

_TPU_TOLERATION = {"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}
_SELECTORS: dict[Provisioning, dict[str, str]] = {
    Provisioning.SPOT: {"cloud.google.com/gke-spot": "true"},
    Provisioning.FLEX_START: {"cloud.google.com/gke-flex-start": "true"},
    Provisioning.ON_DEMAND: {"cloud.google.com/gke-provisioning": "standard"},
    Provisioning.RESERVATION: {"cloud.google.com/reservation-affinity": "specific"},
}


def worker_group(plan: Plan, rung: Rung, target: Target, name: str) -> dict[str, Any]:
    """TPU_TOPOLOGY, TPU_ACCELERATOR_TYPE and the worker's id are not set: GKE's device plugin and webhook do that."""
    shape = rung.shape
    chips = str(shape.chips_per_host)
    resources = {
        "cpu": str(int(shape.machine.vcpus * USABLE_SHARE)),
        "memory": f"{int(shape.machine.memory_gib * USABLE_SHARE)}Gi",
        "google.com/tpu": chips,
    }
    container: dict[str, Any] = {
        "name": "ray-worker",
        "image": target.ray_image,
        "resources": {"requests": resources, "limits": dict(resources)},
        "env": [
            {"name": "JAX_PLATFORMS", "value": "tpu,cpu"},
            {"name": "ENABLE_PJRT_COMPATIBILITY", "value": "true"},
            {"name": "TPU_MAX_LOG_SIZE_MB", "value": str(TPU_LOG_MB)},
        ],
        "ports": [{"name": "mxla", "containerPort": 8081, "protocol": "TCP"}],
    }
    pod: dict[str, Any] = {
        # With Always a crashed container would start again in place, and the slice would never be replaced.
        "restartPolicy": "Never",
        "nodeSelector": _node_selector(rung),
        "tolerations": _tolerations(rung),
        "containers": [container],
    }
    if plan.request.code:
        container["volumeMounts"] = [code_mount(name)]
        pod["volumes"] = [code_volume(name)]
    return {
        "groupName": GROUP_NAME,
        "replicas": rung.slices,
        "minReplicas": rung.slices,
        "maxReplicas": rung.slices,
        "numOfHosts": shape.hosts,
        "priority": 0,
        "labels": _ray_labels(rung),
        "rayStartParams": {},
        "template": {"metadata": {"labels": target.labels()}, "spec": pod},
    }


def code_mount(name: str) -> dict[str, Any]:
    return {"name": "code", "mountPath": f"{CODE_ROOT}/{name}", "readOnly": True}


def code_volume(name: str) -> dict[str, Any]:
    return {"name": "code", "configMap": {"name": f"{name}-code"}}


def _node_selector(rung: Rung) -> dict[str, str]:
    selector = {
        "cloud.google.com/gke-tpu-accelerator": rung.shape.machine.accelerator_label,
        "cloud.google.com/gke-tpu-topology": str(rung.shape.topology),
    }
    if rung.compute_class:
        return selector | {"cloud.google.com/compute-class": rung.compute_class}
    selector |= _SELECTORS[rung.provisionings[0]]
    if rung.reservation:
        selector["cloud.google.com/reservation-name"] = rung.reservation
    return selector


def _tolerations(rung: Rung) -> list[dict[str, str]]:
    """Spot and flex-start pools are tainted; without these GKE would make no node and say nothing."""
    tolerations = [_TPU_TOLERATION]
    if Provisioning.SPOT in rung.provisionings:
        tolerations.append(_tolerate("cloud.google.com/gke-spot", "true"))
    if Provisioning.FLEX_START in rung.provisionings:
        tolerations.append(_tolerate("cloud.google.com/gke-flex-start", "true"))
    if rung.compute_class:
        tolerations.append(_tolerate("cloud.google.com/compute-class", rung.compute_class))
    return tolerations


def _tolerate(key: str, value: str) -> dict[str, str]:
    return {"key": key, "operator": "Equal", "value": value, "effect": "NoSchedule"}


def _ray_labels(rung: Rung) -> dict[str, str]:
    """For Ray's label selectors; Ray sees these and not the pod's. Where GKE chooses among several, none is claimed."""
    labels = {"slipway.dev/rung": str(rung.index)}
    if len(rung.provisionings) == 1:
        only = rung.provisionings[0]
        labels["slipway.dev/provisioning"] = only.value
        labels["ray.io/market-type"] = "spot" if only is Provisioning.SPOT else "on-demand"
    return labels
