"""Kubernetes quantities (`500m`, `16Gi`), as far as sums of CPU, memory and chips need them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal

_BINARY: dict[str, int] = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50}
_DECIMAL: dict[str, int | Decimal] = {
    "m": Decimal("0.001"),
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "T": 10**12,
}
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)")


def parse(text: str | int | float) -> Decimal:
    """The number that a quantity means. ValueError when it is none."""
    found = _QUANTITY.fullmatch(str(text).strip())
    scale = None if found is None else _scale(found[2])
    if found is None or scale is None:
        raise ValueError(f"{text!r} is not a quantity; write 4, 500m or 16Gi.")
    return Decimal(found[1]) * Decimal(scale)


def _scale(unit: str) -> int | Decimal | None:
    return _BINARY.get(unit) or _DECIMAL.get(unit)


def total(parts: Iterable[tuple[str | int | float, int]]) -> str:
    """The sum of quantity times count, written in the first part's unit, as Go's Quantity does."""
    result, unit = Decimal(0), None
    for text, count in parts:
        value = parse(text) * count
        result += value
        if unit is None and value:
            found = _QUANTITY.fullmatch(str(text).strip())
            unit = found[2] if found else ""
    scale = Decimal(_scale(unit or "") or 1)
    for name, size in _units(unit or "", scale):
        if result % size == 0:
            return f"{int(result / size)}{name}"
    return f"{int((result * 1000).to_integral_value(rounding='ROUND_CEILING'))}m"


def _units(unit: str, scale: Decimal) -> list[tuple[str, Decimal]]:
    """Units to try, the largest first: of the same family as the first part, then none."""
    family: Mapping[str, int | Decimal] = _BINARY if unit in _BINARY else _DECIMAL
    sizes = [(name, Decimal(size)) for name, size in family.items() if 1 <= Decimal(size) <= scale]
    sizes.sort(key=lambda row: -row[1])
    return [*sizes, ("", Decimal(1))]
