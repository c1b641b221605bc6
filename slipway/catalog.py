"""What Cloud TPU offers: generations, machine types and the slices they form. Our own data files, checked when read."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from slipway.errors import CatalogError
from slipway.topology import Shape, Topology

_DATA = Path(__file__).parent / "data"

# Larger 3D slices are whole cubes of 4x4x4 chips; the longest side that is attested anywhere.
_CUBE_SIDE, _LONGEST_SIDE = 4, 256


@dataclass(frozen=True)
class MachineType:
    """A TPU VM. `single_host_topology` is the slice that one of it forms alone, if it may."""

    name: str
    generation: str
    chips: int
    vcpus: int
    memory_gib: int
    accelerator_label: str
    single_host_topology: str
    multi_host: bool
    source: str


@dataclass(frozen=True)
class Generation:
    """`ray_version` is Ray's name (v5litepod, v7x). HBM, FLOP/s and bandwidth are per chip.

    `topologies` are the listed ones; with three dimensions every larger block of whole cubes is one too.
    """

    name: str
    title: str
    ray_version: str
    ray_accelerator_type: str
    cores_per_chip: int
    dims: int
    max_chips: int
    topologies: tuple[Topology, ...]
    hbm_gib: int
    bf16_tflops: int
    hbm_gbps: int
    flex_start: bool
    note: str
    machines: tuple[MachineType, ...]


@dataclass(frozen=True)
class Catalog:
    generations: Mapping[str, Generation]

    def shapes(self, generation: str) -> tuple[Shape, ...]:
        """Every slice of a generation, by chips, then hosts. Raises KeyError for an unknown one."""
        return _shapes(self.generations[generation])


@cache
def _shapes(generation: Generation) -> tuple[Shape, ...]:
    cubes = _cubes(generation.max_chips) if generation.dims == 3 else []
    found = [
        Shape(generation, topology, machine)
        for topology in (*generation.topologies, *cubes)
        for machine in generation.machines
        if _forms(machine, topology)
    ]
    return tuple(sorted(found, key=lambda shape: (shape.chips, shape.topology.dims, shape.hosts)))


def _forms(machine: MachineType, topology: Topology) -> bool:
    if str(topology) == machine.single_host_topology:
        return True
    return (
        machine.multi_host
        and topology.chips > machine.chips
        and topology.chips % machine.chips == 0
    )


def _cubes(max_chips: int) -> list[Topology]:
    """AxBxC with A <= B <= C, each a multiple of the cube's side, larger than one cube."""
    sides = range(_CUBE_SIDE, _LONGEST_SIDE + 1, _CUBE_SIDE)
    return [
        Topology((a, b, c))
        for a in sides
        if a**3 <= max_chips
        for b in sides
        if a <= b and a * b * b <= max_chips
        for c in sides
        if b <= c and _CUBE_SIDE**3 < a * b * c <= max_chips
    ]


def load(folder: Path = _DATA) -> Catalog:
    """Read the data files. Raises CatalogError for one that contradicts itself."""
    machines = [_machine(row) for row in _rows(folder / "machines.csv")]
    generations = {}
    for row in _rows(folder / "generations.csv"):
        own = tuple(machine for machine in machines if machine.generation == row["name"])
        generations[row["name"]] = _generation(row, own)
    homeless = [machine.name for machine in machines if machine.generation not in generations]
    if homeless:
        raise CatalogError(f"machines.csv names generations that generations.csv lacks: {homeless}")
    return Catalog(generations)


def _machine(row: Mapping[str, str]) -> MachineType:
    machine = MachineType(
        name=row["name"],
        generation=row["generation"],
        chips=int(row["chips"]),
        vcpus=int(row["vcpus"]),
        memory_gib=int(row["memory_gib"]),
        accelerator_label=row["accelerator_label"],
        single_host_topology=row["single_host_topology"],
        multi_host=row["multi_host"] == "yes",
        source=row["source"],
    )
    alone = machine.single_host_topology
    if alone and Topology.parse(alone).chips != machine.chips:
        raise CatalogError(
            f"{machine.name} has {machine.chips} chips, and {alone} has another number."
        )
    if not alone and not machine.multi_host:
        raise CatalogError(f"{machine.name} forms no slice at all.")
    return machine


def _generation(row: Mapping[str, str], machines: tuple[MachineType, ...]) -> Generation:
    if not machines:
        raise CatalogError(f"{row['name']} has no machine type.")
    return Generation(
        name=row["name"],
        title=row["title"],
        ray_version=row["ray_version"],
        ray_accelerator_type=row["ray_accelerator_type"],
        cores_per_chip=int(row["cores_per_chip"]),
        dims=int(row["dims"]),
        max_chips=int(row["max_chips"]),
        topologies=tuple(Topology.parse(text) for text in row["topologies"].split()),
        hbm_gib=int(row["hbm_gib"]),
        bf16_tflops=int(row["bf16_tflops"]),
        hbm_gbps=int(row["hbm_gbps"]),
        flex_start=row["flex_start"] == "yes",
        note=row["note"],
        machines=machines,
    )


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


CATALOG = load()
