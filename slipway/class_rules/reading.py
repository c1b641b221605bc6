"""Reading a spec that anybody may have written: what is absent, or of another type than asked for, is just not there.

So a rule judges only what it can read. That a value has the wrong type is a finding of its own (structure.py).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from slipway.catalog import Catalog
from slipway.topology import Topology

_LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Place:
    """A value of the spec with its path. None stands for an absent one, as null does for the API server."""

    value: object
    path: str

    def at(self, *keys: str) -> Place:
        place = self
        for key in keys:
            inner = place.value.get(key) if isinstance(place.value, Mapping) else None
            place = Place(inner, f"{place.path}.{key}" if place.path else key)
        return place

    def has(self, *keys: str) -> bool:
        return self.at(*keys).value is not None

    def text(self, *keys: str) -> str:
        value = self.at(*keys).value
        return value if isinstance(value, str) else ""

    def number(self, *keys: str) -> int | None:
        return whole_number(self.at(*keys).value)

    def is_on(self, *keys: str) -> bool:
        return self.at(*keys).value is True

    def items(self, *keys: str) -> tuple[Place, ...]:
        """The entries of a list; none for anything else."""
        place = self.at(*keys)
        if not isinstance(place.value, list | tuple):
            return ()
        return tuple(Place(each, f"{place.path}[{i}]") for i, each in enumerate(place.value))

    def entries(self, *keys: str) -> tuple[tuple[str, Place], ...]:
        """The keys and values of a mapping; none for anything else."""
        place = self.at(*keys)
        if not isinstance(place.value, Mapping):
            return ()
        return tuple((key, place.at(key)) for key in place.value if isinstance(key, str))


@dataclass(frozen=True)
class Priority(Place):
    """One rule of the class. `index` counts from 0, as paths do; people count from 1."""

    index: int = 0

    @property
    def title(self) -> str:
        return f"Rule {self.index + 1}"

    @property
    def is_spot(self) -> bool:
        return self.is_on("spot")

    @property
    def is_flex(self) -> bool:
        return self.is_on("flexStart", "enabled")

    @property
    def affinity(self) -> str:
        return self.text("reservations", "affinity")

    @property
    def hosts(self) -> int | None:
        """Hosts of the slice, or None when the rule does not say, or says what cannot be divided."""
        count = self.number("tpu", "count")
        try:
            chips = Topology.parse(self.text("tpu", "topology")).chips
        except ValueError:
            return None
        if count is None or count < 1 or chips % count:
            return None
        return chips // count


@dataclass(frozen=True)
class Subject:
    """A class as it would be written, and `old`, the spec that it would replace."""

    name: str
    spec: Place
    old: Place | None
    catalog: Catalog

    @cached_property
    def priorities(self) -> tuple[Priority, ...]:
        places = enumerate(self.spec.items("priorities"))
        return tuple(Priority(place.value, place.path, index) for index, place in places)

    @cached_property
    def in_order(self) -> tuple[Priority, ...]:
        """As GKE tries them: by score where there are scores, the highest first; else as they stand."""
        return tuple(sorted(self.priorities, key=lambda each: -(each.number("priorityScore") or 0)))

    def follows(self, priority: Priority) -> Priority | None:
        """The rule that GKE tries next."""
        return self._next.get(priority.index)

    @cached_property
    def _next(self) -> dict[int, Priority]:
        return {one.index: other for one, other in itertools.pairwise(self.in_order)}

    def zones(self, priority: Priority) -> Place:
        """Where the rule's zones stand: its own, else those that the class gives to all of its rules."""
        own = priority.at("location", "zones")
        return (
            own if own.value is not None else self.spec.at("priorityDefaults", "location", "zones")
        )

    @property
    def is_autopilot(self) -> bool:
        return self.spec.is_on("autopilot", "enabled")


def whole_number(value: object) -> int | None:
    """The API server takes 3.0 for 3, and true for no number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def shown(value: object) -> str:
    """The value in a message: as JSON, cut where it is long; of what holds others only that it is there."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def duration_s(seconds: int) -> str:
    """9 h 45 min for 35100."""
    parts = ((seconds // 86400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "min"))
    named = [f"{count} {unit}" for count, unit in (*parts, (seconds % 60, "s")) if count]
    return " ".join(named) or "0 s"
