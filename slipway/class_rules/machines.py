"""Which machine, GPU, network and disk a rule asks for, and what cannot stand side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slipway.class_rules.reading import Subject, shown
from slipway.class_rules.rule import Problem, cel

# Whoever names node pools says nothing else but in which order they come.
_BESIDE_NODE_POOLS = frozenset({"nodepools", "allocationStrategy", "priorityScore"})
_RESERVED_FAMILY = "ek"
_RDMA = "rdma"
_PROFILE = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
_LONGEST_PROFILE = 63
_HYPERDISK = "hyperdisk-balanced"


def _node_pools_and_more(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.has("nodepools"):
            others = [key for key, _ in priority.entries() if key not in _BESIDE_NODE_POOLS]
            others = [key for key in others if priority.has(key)]
            if others:
                yield (
                    priority.path,
                    f"{priority.title} names node pools, so nothing else may describe its nodes. "
                    f"Take away {', '.join(shown(key) for key in others[:5])}, or the node pools.",
                )


def _family_and_type(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.has("machineFamily") and priority.has("machineType"):
            yield (
                priority.at("machineFamily").path,
                f"{priority.title} names a machine type, which already says the family. Keep one of them.",
            )


def _type_and_size(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.has("machineType"):
            for size in ("minCores", "minMemoryGb"):
                if priority.has(size):
                    yield (
                        priority.at(size).path,
                        f"{priority.title} names a machine type, which already says its size. "
                        f"Take {size} away, or name a machine family instead.",
                    )


def _is_family_ek(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.text("machineFamily") == _RESERVED_FAMILY:
            yield (
                priority.at("machineFamily").path,
                f"{priority.title} asks for the machine family ek, which GKE keeps for itself. Choose another.",
            )


def _is_type_ek(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.text("machineType").startswith(_RESERVED_FAMILY):
            yield (
                priority.at("machineType").path,
                f"{priority.title} asks for an ek machine, which GKE keeps for itself. Choose another.",
            )


def _gpu_topology(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if not priority.has("gpu", "topology"):
            continue
        is_a4x = priority.text("machineFamily") == "a4x"
        is_gb200 = priority.text("gpu", "type") == "nvidia-gb200"
        if not (is_a4x or is_gb200) or not priority.has("placement", "policyName"):
            yield (
                priority.at("gpu", "topology").path,
                f"{priority.title} has a GPU topology, which only a4x machines or nvidia-gb200 GPUs have, "
                "together with placement.policyName. Add what is missing, or take the topology away.",
            )


def _rdma_without_profile(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.text("gpuDirect") == _RDMA and not priority.has("acceleratorNetworkProfile"):
            yield (
                priority.at("acceleratorNetworkProfile").path,
                f"{priority.title} wants GPUs to talk over RDMA, which needs an acceleratorNetworkProfile. Name one.",
            )


def _profile_form(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        place = priority.at("acceleratorNetworkProfile")
        name = place.value
        if isinstance(name, str) and (not _PROFILE.fullmatch(name) or len(name) > _LONGEST_PROFILE):
            yield (
                place.path,
                f"{shown(name)} names no network profile. Take lower-case letters, digits and -, "
                f"{_LONGEST_PROFILE} at most, a letter first.",
            )


def _gpu_direct(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        place = priority.at("gpuDirect")
        if isinstance(place.value, str) and place.value != _RDMA:
            yield place.path, f"gpuDirect can be {_RDMA} only. Write that, or leave it out."


def _pools_of_another_disk(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        disk = priority.at("storage", "bootDiskType").value
        if priority.has("storage", "bootDiskStoragePools") and disk not in (None, _HYPERDISK):
            yield (
                priority.at("storage", "bootDiskType").path,
                f"{priority.title} takes its boot disks from storage pools, which hold {_HYPERDISK} only. "
                "Choose that type, or take the pools away.",
            )


def _iops_and_throughput(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        storage = priority.at("storage")
        has_iops = storage.has("bootDiskProvisionedIops")
        if has_iops != storage.has("bootDiskProvisionedThroughput"):
            yield (
                storage.path,
                f"{priority.title} gives its boot disk IOPS or throughput. Give both, or neither.",
            )
        elif has_iops and storage.text("bootDiskType") != _HYPERDISK:
            yield (
                storage.path,
                f"{priority.title} gives its boot disk IOPS and throughput, which only {_HYPERDISK} takes. "
                "Set bootDiskType to it, or take both away.",
            )


RULES = (
    cel(19, "gpu-topology", "GPU topologies are for A4X with a placement policy.", _gpu_topology),
    cel(34, "node-pools-alone", "Node pools by name stand alone.", _node_pools_and_more),
    cel(35, "machine-family-and-type", "A machine type has its family.", _family_and_type),
    cel(36, "machine-type-and-size", "A machine type has its size.", _type_and_size),
    cel(37, "machine-family-ek", "The family ek is GKE's.", _is_family_ek),
    cel(38, "machine-type-ek", "Machines of ek are GKE's.", _is_type_ek),
    cel(42, "rdma-profile", "RDMA needs a network profile.", _rdma_without_profile),
    cel(44, "network-profile-form", "Network profiles have well-formed names.", _profile_form),
    cel(45, "gpu-direct-choice", "GPUDirect is rdma.", _gpu_direct),
    cel(59, "storage-pools-disk", "Storage pools hold Hyperdisks.", _pools_of_another_disk),
    cel(60, "disk-performance", "IOPS come with throughput, on a Hyperdisk.", _iops_and_throughput),
)
