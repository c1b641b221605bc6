"""Compute classes: an ordered list of rules, each a provisioning of one shape in some place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from slipway.catalog import Catalog
from slipway.errors import Complaints, FieldErrors
from slipway.request import Provisioning
from slipway.topology import Shape, resolve_shape

MAX_RULES = 20
_CLASS_NAME = re.compile(r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$")
_ZONE = re.compile(r"^[a-z]+-[a-z]+\d-[a-z]$")
_RESERVATION = re.compile(r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$")
# GKE's bounds of a flex-start lease.
_FLEX_START_SECONDS = (600, 7 * 86_400)


@dataclass(frozen=True)
class ClassRule:
    """One way to get one shape. `zones` empty means anywhere; `max_run_seconds` bounds a flex-start lease."""

    provisioning: Provisioning
    generation: str
    topology: str
    machine_type: str | None
    zones: tuple[str, ...]
    reservation: str | None
    max_run_seconds: int | None

    def to_mapping(self) -> dict[str, Any]:
        return {
            "provisioning": self.provisioning.value,
            "generation": self.generation,
            "topology": self.topology,
            "machine_type": self.machine_type,
            "zones": list(self.zones),
            "reservation": self.reservation,
            "max_run_seconds": self.max_run_seconds,
        }

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            provisioning=Provisioning(stored["provisioning"]),
            generation=stored["generation"],
            topology=stored["topology"],
            machine_type=stored["machine_type"],
            zones=tuple(stored["zones"]),
            reservation=stored["reservation"],
            max_run_seconds=stored["max_run_seconds"],
        )

    def shape(self, catalog: Catalog) -> Shape:
        """Raises FieldErrors for a shape that does not exist."""
        return resolve_shape(catalog, self.generation, self.topology, self.machine_type)


@dataclass(frozen=True)
class ComputeClassSpec:
    name: str
    rules: tuple[ClassRule, ...]

    def to_mapping(self) -> dict[str, Any]:
        return {"name": self.name, "rules": [rule.to_mapping() for rule in self.rules]}

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Self:
        return cls(stored["name"], tuple(ClassRule.from_mapping(rule) for rule in stored["rules"]))


def validate_class(spec: ComputeClassSpec, catalog: Catalog) -> None:
    """Raises FieldErrors on `name`, `rules`, or `rules.<index>.<field>`."""
    wrong = Complaints()
    if not _CLASS_NAME.fullmatch(spec.name):
        wrong.add("name", "A class name has 1 to 40 of a-z, 0-9 and -, and begins with a letter.")
    if not spec.rules:
        wrong.add("rules", "A class needs at least one rule. Add one.")
    if len(spec.rules) > MAX_RULES:
        wrong.add(
            "rules", f"A class has {MAX_RULES} rules at most; this one has {len(spec.rules)}."
        )
    seen: dict[ClassRule, int] = {}
    for index, rule in enumerate(spec.rules[:MAX_RULES]):
        try:
            _validate_rule(rule, catalog)
        except FieldErrors as exc:
            wrong.merge(exc, prefix=f"rules.{index}.")
        if rule in seen:
            wrong.add(
                f"rules.{index}.provisioning",
                f"This rule repeats rule {seen[rule] + 1}, so it can never help. Remove one.",
            )
        seen.setdefault(rule, index)
    wrong.raise_if_any()


def _validate_rule(rule: ClassRule, catalog: Catalog) -> None:
    wrong = Complaints()
    try:
        shape = rule.shape(catalog)
    except FieldErrors as exc:
        wrong.merge(exc)
    else:
        if rule.provisioning is Provisioning.FLEX_START and not shape.generation.flex_start:
            wrong.add(
                "provisioning",
                f"There is no flex-start for {shape.generation.name}. Choose spot, on-demand or a reservation.",
            )
    for zone in rule.zones:
        if not _ZONE.fullmatch(zone):
            wrong.add("zones", f"{zone[:40]!r} is not a zone. Write it like us-east5-b.")
    _validate_reservation(rule, wrong)
    _validate_lease(rule, wrong)
    wrong.raise_if_any()


def _validate_reservation(rule: ClassRule, wrong: Complaints) -> None:
    if rule.provisioning is Provisioning.RESERVATION:
        check_reservation(rule.reservation, wrong)
        if rule.zones:
            wrong.add("zones", "A reservation is in one zone already. Leave the zones empty.")
    elif rule.reservation:
        wrong.add(
            "reservation",
            f"Only reservation rules name one; this is {rule.provisioning}. Empty the field.",
        )


def check_reservation(name: str | None, wrong: Complaints) -> None:
    if not name:
        wrong.add("reservation", "Name the reservation.")
    elif not _RESERVATION.fullmatch(name):
        wrong.add(
            "reservation", f"{name[:70]!r} is not a reservation's name: a-z, 0-9 and -, 63 at most."
        )


def _validate_lease(rule: ClassRule, wrong: Complaints) -> None:
    if rule.max_run_seconds is None:
        return
    least, most = _FLEX_START_SECONDS
    if rule.provisioning is not Provisioning.FLEX_START:
        wrong.add("max_run_seconds", "Only flex-start leases are bounded. Empty the field.")
    elif not least <= rule.max_run_seconds <= most:
        wrong.add(
            "max_run_seconds", "A flex-start lease lasts 600 seconds (10 min) to 604800 (7 days)."
        )
