"""The machines of the emulated cluster: which exist, what shape they have, what a slice needs of
them.

A bounded number of TPU hosts stands idle and shapeless. The autoscaler gives hosts a shape
(accelerator, topology, machine type) when a slice asks, all hosts of a slice or none, as a GKE node
pool of a multi-host slice comes; it takes the shape back when the slice has gone. The table of
machines is devcluster's own on purpose: Slipway's catalog must not be able to agree with itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from devcluster.controllers.names import (
    ACCELERATOR,
    CLUSTER,
    HOST_INDEX,
    REPLICA_NAME,
    TOPOLOGY,
    TPU,
)

Object = dict[str, Any]

CPU_NODE = "devcluster-cpu-0"
EMULATED = "slipway.dev/emulated"
SLICE_NOTE = "devcluster.slipway.dev/slice"
SLOT_NOTE = "devcluster.slipway.dev/host-index"
READY_AT_NOTE = "devcluster.slipway.dev/ready-at"


@dataclass(frozen=True)
class Machine:
    """A GKE TPU machine type.

    `tpu_type` is the prefix of TPU_ACCELERATOR_TYPE, which counts cores.
    """

    name: str
    accelerator: str
    chips: int
    vcpus: int
    memory_gib: int
    tpu_type: str
    cores_per_chip: int


MACHINES: tuple[Machine, ...] = (
    Machine("ct3-hightpu-4t", "tpu-v3-device", 4, 96, 340, "v3", 2),
    Machine("ct3p-hightpu-4t", "tpu-v3-slice", 4, 48, 340, "v3", 2),
    Machine("ct4p-hightpu-4t", "tpu-v4-podslice", 4, 240, 407, "v4", 2),
    Machine("ct5lp-hightpu-1t", "tpu-v5-lite-podslice", 1, 24, 48, "v5litepod", 1),
    Machine("ct5lp-hightpu-4t", "tpu-v5-lite-podslice", 4, 112, 192, "v5litepod", 1),
    Machine("ct5lp-hightpu-8t", "tpu-v5-lite-podslice", 8, 224, 384, "v5litepod", 1),
    Machine("ct5p-hightpu-1t", "tpu-v5p-slice", 1, 52, 112, "v5p", 2),
    Machine("ct5p-hightpu-2t", "tpu-v5p-slice", 2, 104, 224, "v5p", 2),
    Machine("ct5p-hightpu-4t", "tpu-v5p-slice", 4, 208, 448, "v5p", 2),
    Machine("ct6e-standard-1t", "tpu-v6e-slice", 1, 44, 176, "v6e", 1),
    Machine("ct6e-standard-4t", "tpu-v6e-slice", 4, 180, 720, "v6e", 1),
    Machine("ct6e-standard-8t", "tpu-v6e-slice", 8, 180, 1440, "v6e", 1),
    Machine("tpu7x-standard-1t", "tpu7x", 1, 56, 248, "tpu7x", 2),
    Machine("tpu7x-standard-4t", "tpu7x", 4, 224, 992, "tpu7x", 2),
)


class NotProvidable(Exception):
    """No machine GKE has could run this pod. The text is what the autoscaler would say."""


@dataclass(frozen=True)
class Need:
    """What the slice of one pod needs.

    `hosts` machines of one type, and this pod's place among them.
    """

    slice_id: str
    machine: Machine
    topology: str
    hosts: int
    slot: int

    @property
    def accelerator_type(self) -> str:
        """TPU_ACCELERATOR_TYPE as GKE's device plugin writes it: `v6e-16`, counted in cores."""
        cores = chips_of(self.topology) * self.machine.cores_per_chip
        return f"{self.machine.tpu_type}-{cores}"


def chips_of(topology: str) -> int:
    """Chips of `4x4`. ValueError when it is not numbers joined by `x`."""
    return math.prod(int(part) for part in topology.split("x"))


def tpu_chips(pod: Object) -> int:
    """`google.com/tpu` that all containers of a pod ask for together."""
    total = 0
    for container in pod["spec"].get("containers", []):
        resources = container.get("resources") or {}
        asked = (resources.get("requests") or {}).get(TPU) or (resources.get("limits") or {}).get(
            TPU
        )
        total += int(asked or 0)
    return total


def slice_id_of(pod: Object) -> str:
    """Tells the slice that a TPU pod is a host of; a single-host pod is a slice of its own."""
    metadata = pod["metadata"]
    labels = metadata.get("labels") or {}
    group = labels.get(REPLICA_NAME) or f"pod/{metadata['name']}"
    return f"{metadata['namespace']}/{labels.get(CLUSTER, '')}/{group}"


def need_of(pod: Object) -> Need:
    """What must be there before this TPU pod can run.

    NotProvidable when GKE has no such machine.
    """
    labels = pod["metadata"].get("labels") or {}
    selector = pod["spec"].get("nodeSelector") or {}
    chips = tpu_chips(pod)
    accelerator, topology = selector.get(ACCELERATOR), selector.get(TOPOLOGY)
    if not accelerator or not topology:
        raise NotProvidable("node(s) didn't match Pod's node affinity/selector")
    of_type = [machine for machine in MACHINES if machine.accelerator == accelerator]
    if not of_type:
        raise NotProvidable(f'TPU type "{accelerator}" not supported')
    fitting = [machine for machine in of_type if machine.chips == chips]
    if not fitting:
        raise NotProvidable(
            f"Accelerator count {chips} is not supported for TPU type {accelerator}"
        )
    try:
        total = chips_of(topology)
    except ValueError as exc:
        raise NotProvidable(f"Invalid TPU topology: {topology}") from exc
    if total % chips or total < 1:
        raise NotProvidable(f"Invalid TPU topology: {topology}")
    return Need(
        slice_id=slice_id_of(pod),
        machine=fitting[0],
        topology=topology,
        hosts=total // chips,
        slot=int(labels.get(HOST_INDEX, "0")),
    )


class Capacity:
    """The bound on hosts, and what a test holds back."""

    def __init__(self, max_hosts: int) -> None:
        if not 0 <= max_hosts <= 4096:
            raise ValueError(f"max_hosts is {max_hosts}; choose 0 to 4096.")
        self.max_hosts = max_hosts
        self._held: Callable[[Object], bool] | None = None

    def hold(self, which: Callable[[Object], bool]) -> None:
        """Let no machine become ready for the TPU pods that `which` names, until `release`."""
        self._held = which

    def release(self) -> None:
        self._held = None

    def is_held(self, pod: Object) -> bool:
        return self._held is not None and self._held(pod)

    def node_names(self) -> list[str]:
        return [f"devcluster-tpu-{number:02d}" for number in range(self.max_hosts)]


def idle_tpu_node(name: str, number: int, created: str) -> Object:
    return _node(
        name, f"127.1.0.{10 + number % 240}", {"cloud.google.com/gke-nodepool": "idle"}, {}, created
    )


def cpu_node(created: str) -> Object:
    labels = {
        "cloud.google.com/gke-nodepool": "cpu",
        "node.kubernetes.io/instance-type": "e2-standard-32",
    }
    return _node(CPU_NODE, "127.1.0.2", labels, {"cpu": "32", "memory": "128Gi"}, created)


def _node(
    name: str, address: str, labels: dict[str, str], allocatable: dict[str, str], created: str
) -> Object:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": created,
        "lastTransitionTime": created,
    }
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": "devcluster-a",
                EMULATED: "true",
                **labels,
            },
            "annotations": {},
        },
        "spec": {},
        "status": {
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [ready],
        },
    }


def shape(node: Object, pod: Object, need: Need) -> None:
    """Give an idle node the labels and chips that this pod's slice asked for, in place."""
    labels = node["metadata"]["labels"]
    labels.update(pod["spec"].get("nodeSelector") or {})
    labels["cloud.google.com/gke-nodepool"] = pool_name(need)
    labels["cloud.google.com/gke-accelerator-count"] = str(need.machine.chips)
    labels["node.kubernetes.io/instance-type"] = need.machine.name
    allocatable = {
        "cpu": str(need.machine.vcpus),
        "memory": f"{need.machine.memory_gib}Gi",
        TPU: str(need.machine.chips),
    }
    node["status"]["allocatable"] = node["status"]["capacity"] = allocatable


def unshape(node: Object) -> None:
    """Make the node idle again, in place."""
    metadata = node["metadata"]
    fresh = idle_tpu_node(metadata["name"], 0, "")
    metadata["labels"] = fresh["metadata"]["labels"]
    for note in (SLICE_NOTE, SLOT_NOTE, READY_AT_NOTE):
        metadata.get("annotations", {}).pop(note, None)
    node["status"]["allocatable"] = node["status"]["capacity"] = {}


def pool_name(need: Need) -> str:
    """One multi-host slice is one node pool in GKE; the name says which slice."""
    return "nap-" + need.slice_id.rsplit("/", 1)[-1][-40:]
