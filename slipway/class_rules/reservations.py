"""Rules that take reserved capacity."""

from __future__ import annotations

from collections.abc import Iterator

from slipway.class_rules.reading import Subject
from slipway.class_rules.rule import (
    AUTOSCALER,
    DOCUMENTATION,
    SLIPWAY,
    Problem,
    cel,
    error,
    warning,
)

_SPECIFIC = "Specific"


def _named_without_specific(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.items("reservations", "specific") and priority.affinity != _SPECIFIC:
            yield (
                priority.at("reservations", "affinity").path,
                f"{priority.title} names reservations, and they count only with the affinity {_SPECIFIC}. "
                "Choose it, or take the names away.",
            )


def _specific_without_name(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.affinity == _SPECIFIC and not priority.items("reservations", "specific"):
            yield (
                priority.at("reservations", "specific").path,
                f"{priority.title} wants specific reservations and names none. Name one, or choose another affinity.",
            )


def _specific_with_zones(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        zones = subject.zones(priority)
        if priority.affinity == _SPECIFIC and zones.value is not None:
            yield (
                zones.path,
                f"{priority.title} takes a specific reservation, which has zones of its own, so GKE skips a rule "
                "with location.zones. Move the zones to reservations.specific[].zones.",
            )


def _any_best_effort_first(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        follower = subject.follows(priority)
        if priority.affinity == "AnyBestEffort" and follower:
            yield (
                priority.at("reservations", "affinity").path,
                f"{priority.title} falls back to on-demand nodes by itself when no reservation is free, so "
                f"{follower.title.lower()} may never be tried. Choose {_SPECIFIC}, or put this rule last.",
            )


def _any_then_fail(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.affinity == "AnyThenFail":
            yield (
                priority.at("reservations", "affinity").path,
                "Only the newest GKE versions (1.36 and later, it is said) know AnyThenFail; others refuse the class. "
                f"See that your cluster has it, or choose {_SPECIFIC}.",
            )


def _spot_with_reservation(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        takes_one = priority.has("reservations") and priority.affinity not in ("", "None")
        if priority.is_spot and takes_one:
            yield (
                priority.at("spot").path,
                f"{priority.title} is spot, and spot nodes cannot come from a reservation. "
                "Take spot or the reservation away, or make two rules of it.",
            )


RULES = (
    cel(57, "reservation-names", "Named reservations are Specific.", _named_without_specific),
    cel(58, "reservation-unnamed", "Specific reservations are named.", _specific_without_name),
    error(
        "reservation-zones",
        AUTOSCALER,
        "Zones of a reservation stand with it.",
        _specific_with_zones,
    ),
    error(
        "spot-reservation", SLIPWAY, "Spot nodes come from no reservation.", _spot_with_reservation
    ),
    warning(
        "any-best-effort", DOCUMENTATION, "AnyBestEffort ends the list.", _any_best_effort_first
    ),
    warning("any-then-fail", DOCUMENTATION, "AnyThenFail is new.", _any_then_fail),
)
