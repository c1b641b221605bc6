"""A slice as a picture: chips as cells, hosts as frames. Geometry only; colours are the stylesheet's."""

from __future__ import annotations

from dataclasses import dataclass

from slipway.topology import ChipPosition, Shape

CELL, GAP, PLANE_GAP = 18, 2, 14
# Above this a drawing tells nothing that the numbers do not.
MAX_CHIPS = 512


@dataclass(frozen=True)
class Box:
    """A rectangle of the picture, in its own units."""

    x: int
    y: int
    width: int
    height: int
    worker_id: int
    label: str = ""

    @property
    def middle_x(self) -> int:
        return self.x + self.width // 2

    @property
    def middle_y(self) -> int:
        return self.y + self.height // 2


@dataclass(frozen=True)
class Drawing:
    width: int
    height: int
    chips: tuple[Box, ...]
    hosts: tuple[Box, ...]
    description: str


def draw_slice(shape: Shape) -> Drawing | None:
    """Planes of a 3D topology stand side by side. None when there are too many chips to draw."""
    if shape.chips > MAX_CHIPS:
        return None
    positions = shape.chip_positions()
    chips = tuple(_cell(shape, chip) for chip in positions)
    hosts = tuple(
        _frame([box for box in chips if box.worker_id == worker], worker)
        for worker in range(shape.hosts)
    )
    return Drawing(
        width=max(box.x + box.width for box in chips) + GAP + 2,
        height=max(box.y + box.height for box in chips) + GAP + 2,
        chips=chips,
        hosts=hosts,
        description=f"{shape}: {shape.hosts} hosts of {shape.chips_per_host} chips",
    )


def _cell(shape: Shape, chip: ChipPosition) -> Box:
    columns = shape.topology.dims[1]
    left = chip.z * (columns * CELL + PLANE_GAP) + chip.y * CELL
    return Box(
        x=left + GAP + 2,
        y=chip.x * CELL + GAP + 2,
        width=CELL - 2 * GAP,
        height=CELL - 2 * GAP,
        worker_id=chip.worker_id,
    )


def _frame(cells: list[Box], worker_id: int) -> Box:
    left, top = min(box.x for box in cells), min(box.y for box in cells)
    right = max(box.x + box.width for box in cells)
    bottom = max(box.y + box.height for box in cells)
    return Box(
        left - GAP,
        top - GAP,
        right - left + 2 * GAP,
        bottom - top + 2 * GAP,
        worker_id,
        str(worker_id),
    )
