"""Topologies and shapes: how many hosts and chips a slice has, and where each chip sits.

A shape is generation + topology + machine type; hosts and chips follow from these and are never entered apart.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slipway.errors import FieldErrors

if TYPE_CHECKING:
    from slipway.catalog import Catalog, Generation, MachineType

# Chips of one host as a block of the grid: boards of 1x1, 2x2 or 2x4.
_HOST_BLOCKS = {1: (1, 1, 1), 4: (2, 2, 1), 8: (2, 4, 1)}
_TOPOLOGY = re.compile(r"^[1-9]\d{0,3}(x[1-9]\d{0,3}){1,2}$")


@dataclass(frozen=True, order=True)
class Topology:
    """The ICI shape of a slice in chips: 4x4, or 2x2x4 where the interconnect has three dimensions."""

    dims: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> Topology:
        """Raises ValueError for anything but two or three positive numbers joined by x."""
        if not _TOPOLOGY.fullmatch(text):
            raise ValueError(f"{text[:40]!r} is not a topology. Write it like 4x4 or 2x2x4.")
        return cls(tuple(int(part) for part in text.split("x")))

    @property
    def chips(self) -> int:
        return math.prod(self.dims)

    def __str__(self) -> str:
        return "x".join(str(size) for size in self.dims)


@dataclass(frozen=True)
class ChipPosition:
    """One chip: `worker_id` of its host within the slice, `chip` within the host, and its place in the slice."""

    worker_id: int
    chip: int
    x: int
    y: int
    z: int


@dataclass(frozen=True)
class Shape:
    """A slice that exists. Built by `Catalog.shapes` and `resolve_shape` only, which refuse the others."""

    generation: Generation
    topology: Topology
    machine: MachineType

    @property
    def chips(self) -> int:
        """Chips of one slice."""
        return self.topology.chips

    @property
    def chips_per_host(self) -> int:
        return self.machine.chips

    @property
    def hosts(self) -> int:
        """Hosts (TPU VMs, pods, Ray nodes) of one slice."""
        return self.chips // self.chips_per_host

    @property
    def is_multi_host(self) -> bool:
        return self.hosts > 1

    @property
    def pod_type(self) -> str:
        """Ray's and Cloud TPU's name of the slice size; it counts cores, of which newer generations have one a chip."""
        return f"{self.generation.ray_version}-{self.chips * self.generation.cores_per_chip}"

    def chip_positions(self) -> tuple[ChipPosition, ...]:
        """Every chip with its host, for drawing. Hosts are blocks of the grid, numbered along the last axis first.

        The order is ours: which worker id sits where is libtpu's to say at run time.
        """
        sizes = self.topology.dims + (1,) * (3 - len(self.topology.dims))
        block = _HOST_BLOCKS[self.chips_per_host]
        grid = [range(size // step) for size, step in zip(sizes, block, strict=True)]
        inside = [range(step) for step in block]
        return tuple(
            ChipPosition(
                worker,
                chip,
                *(at * step + off for at, step, off in zip(place, block, offset, strict=True)),
            )
            for worker, place in enumerate(itertools.product(*grid))
            for chip, offset in enumerate(itertools.product(*inside))
        )

    def __str__(self) -> str:
        return f"{self.generation.name} {self.topology}"


def resolve_shape(
    catalog: Catalog, generation: str, topology: str, machine_type: str | None
) -> Shape:
    """The shape that these words mean. Without a machine type, the one with the fewest hosts.

    Fewest, because Ray takes a 2x4 for one host of eight chips unless it is told otherwise, and would reserve two hosts
    of four chips without keeping them on one slice.

    Raises FieldErrors on `generation`, `topology` or `machine_type`, naming what would be possible.
    """
    known = catalog.generations.get(generation)
    if known is None:
        names = ", ".join(catalog.generations)
        raise FieldErrors(
            {
                "generation": (
                    f"There is no TPU generation {generation[:40]!r}. Choose one of {names}.",
                )
            }
        )
    shapes = catalog.shapes(known.name)
    fitting = [shape for shape in shapes if str(shape.topology) == topology]
    if not fitting:
        raise FieldErrors({"topology": (_no_such_topology(known, topology, shapes),)})
    if machine_type is None:
        return min(fitting, key=lambda shape: shape.hosts)
    for shape in fitting:
        if shape.machine.name == machine_type:
            return shape
    offers = " or ".join(f"{shape.machine.name} ({_hosts(shape.hosts)})" for shape in fitting)
    message = f"{machine_type[:40]} cannot form a {known.name} {topology}. Choose {offers}."
    raise FieldErrors({"machine_type": (message,)})


def _no_such_topology(generation: Generation, topology: str, shapes: tuple[Shape, ...]) -> str:
    try:
        wanted = Topology.parse(topology)
    except ValueError:
        nearest = list(shapes[:4])
        head = f"{topology[:40]!r} is not a topology: write {generation.dims} numbers joined by x."
    else:
        nearest = _nearest(wanted, shapes)
        if len(wanted.dims) != generation.dims:
            head = f"{generation.name} slices have {generation.dims} dimensions, and {topology} has {len(wanted.dims)}."
        else:
            head = f"{topology} is not a {generation.name} topology."
    offers = sorted({(shape.chips, shape.topology) for shape in nearest})
    listed = ", ".join(f"{name} ({chips} chip{'s' if chips > 1 else ''})" for chips, name in offers)
    return f"{head} Possible are {listed}."


def _nearest(wanted: Topology, shapes: tuple[Shape, ...]) -> list[Shape]:
    """Shapes of about as many chips."""
    return sorted(shapes, key=lambda shape: abs(math.log(shape.chips / wanted.chips)))[:3]


def _hosts(count: int) -> str:
    return "1 host" if count == 1 else f"{count} hosts"
