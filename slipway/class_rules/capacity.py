"""How a rule gets its nodes: spot, flex-start, how long it waits for them and how long they live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slipway.class_rules.reading import Priority, Subject, duration_s
from slipway.class_rules.rule import (
    AUTOSCALER,
    DOCUMENTATION,
    SLIPWAY,
    Problem,
    cel,
    error,
    warning,
)
from slipway.class_rules.tpu import generations_of

_RUN_SECONDS = range(30, 120 * 86400 + 1)
_FLEX_RUN_SECONDS = range(600, 604800 + 1)

# How long GKE asks for a multi-host slice when the rule does not say.
_MULTI_HOST_WAIT_S = 35100

# Zones where flex-start gives TPUs, by generation (GKE's documentation, 2026-12).
_FLEX_ZONES: Mapping[str, frozenset[str]] = {
    "v6e": frozenset({"asia-northeast1-b", "us-east5-a", "us-east5-b"}),
    "v5e": frozenset({"us-west4-a"}),
    "v5p": frozenset({"us-east5-a"}),
}
_NEVER_FLEX = frozenset({"v3", "v4"})


def _is_flex_and_spot(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.is_flex and priority.is_spot:
            yield (
                priority.at("spot").path,
                f"{priority.title} is both flex-start and spot, and a node is one of them. Keep one, "
                "or make two rules of it.",
            )


def _waits_for_nothing(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        place = priority.at("capacityCheckWaitTimeSeconds")
        if place.value is not None and not priority.has("tpu") and not priority.is_flex:
            yield (
                place.path,
                f"{priority.title} is neither flex-start nor for TPUs, so GKE does not wait for it. "
                "Take the waiting time away.",
            )


def _single_host_waits(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        place = priority.at("capacityCheckWaitTimeSeconds")
        if place.value is not None and priority.hosts == 1 and not priority.is_flex:
            yield (
                place.path,
                f"{priority.title} gives a slice of one host, for which GKE refuses a waiting time: it moves on "
                "at once when there is no capacity. Take the waiting time away.",
            )


def _waits_for_hours(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        place = priority.at("capacityCheckWaitTimeSeconds")
        is_multi_host = (priority.hosts or 0) > 1
        follower = subject.follows(priority)
        if is_multi_host and not priority.is_flex and place.value is None and follower:
            yield (
                place.path,
                f"{priority.title} gives a slice of several hosts and does not say how long to wait, so GKE can "
                f"wait {duration_s(_MULTI_HOST_WAIT_S)} before it tries {follower.title.lower()}. "
                "Set capacityCheckWaitTimeSeconds.",
            )


def _run_time(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        seconds = priority.number("maxRunDurationSeconds")
        if seconds is not None and not priority.is_flex and seconds not in _RUN_SECONDS:
            yield _outside(priority, seconds, _RUN_SECONDS, "nodes may live")


def _flex_run_time(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        seconds = priority.number("maxRunDurationSeconds")
        if seconds is not None and priority.is_flex and seconds not in _FLEX_RUN_SECONDS:
            yield _outside(priority, seconds, _FLEX_RUN_SECONDS, "flex-start nodes may live")


def _outside(priority: Priority, seconds: int, allowed: range, what: str) -> Problem:
    low, high = allowed[0], allowed[-1]
    return (
        priority.at("maxRunDurationSeconds").path,
        f"{priority.title}: {what} {low} to {high} seconds ({duration_s(low)} to {duration_s(high)}), "
        f"not {seconds}.",
    )


def _recycles_at_once(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        place = priority.at("flexStart", "nodeRecycling", "leadTimeSeconds")
        lead = priority.number("flexStart", "nodeRecycling", "leadTimeSeconds")
        life = priority.number("maxRunDurationSeconds")
        life = _FLEX_RUN_SECONDS[-1] if life is None else life
        if lead is not None and priority.is_flex and lead >= life:
            yield (
                place.path,
                f"{priority.title} replaces its nodes {lead} seconds before their end, and they live {life} "
                "seconds, so that each would be replaced as soon as it is there. Make leadTimeSeconds smaller.",
            )


def _flex_has_none(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        for name in generations_of(priority, subject.catalog) & _NEVER_FLEX:
            if priority.is_flex:
                yield (
                    priority.at("flexStart").path,
                    f"{priority.title}: flex-start has no {name} anywhere. Choose another way to get it.",
                )


def _flex_is_unknown(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        names = generations_of(priority, subject.catalog)
        for name in names - _NEVER_FLEX - _FLEX_ZONES.keys():
            if priority.is_flex:
                yield (
                    priority.at("flexStart").path,
                    f"{priority.title}: whether flex-start has {name}, and where, is not known. "
                    "Ask Google, and let another rule follow.",
                )


def _flex_zones(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        zones, named, offered = _zones_of_flex(subject, priority)
        if named and offered and not offered & set(named):
            yield (
                zones,
                f"{priority.title}: flex-start has this TPU in {', '.join(sorted(offered))} only, and none of them "
                "is named. Name one.",
            )


def _flex_zones_in_vain(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        zones, named, offered = _zones_of_flex(subject, priority)
        others = [zone for zone in named if zone not in offered]
        if others and offered & set(named):
            yield (
                zones,
                f"{priority.title}: flex-start does not have this TPU in {', '.join(others[:5])}, as far as is known. "
                "Take these zones away.",
            )


def _zones_of_flex(
    subject: Subject, priority: Priority
) -> tuple[str, tuple[str, ...], frozenset[str]]:
    """Where the zones stand, which they are, and where flex-start has the TPU; empty when one is not known."""
    zones = subject.zones(priority)
    offered: frozenset[str] = frozenset()
    if priority.is_flex:
        for name in generations_of(priority, subject.catalog):
            offered |= _FLEX_ZONES.get(name, frozenset())
    named = tuple(place.text() for place in zones.items() if offered)
    return zones.path, named, offered


RULES = (
    cel(39, "flex-spot", "A rule is flex-start or spot.", _is_flex_and_spot),
    cel(40, "wait-unsupported", "Waiting is for flex-start and TPUs.", _waits_for_nothing),
    error("wait-single-host", AUTOSCALER, "A single host is not waited for.", _single_host_waits),
    error("run-time", AUTOSCALER, "Nodes live 30 seconds to 120 days.", _run_time),
    error(
        "flex-run-time", AUTOSCALER, "Flex-start nodes live 10 minutes to 7 days.", _flex_run_time
    ),
    error("flex-generation", DOCUMENTATION, "Flex-start has no v3 and no v4.", _flex_has_none),
    error("flex-zones", DOCUMENTATION, "Flex-start has TPUs in some zones.", _flex_zones),
    warning("wait-default", AUTOSCALER, "A slice that falls back says its wait.", _waits_for_hours),
    warning(
        "recycling-lead", SLIPWAY, "Nodes live longer than their recycling.", _recycles_at_once
    ),
    warning(
        "flex-generation-unknown", SLIPWAY, "Not all of flex-start is known.", _flex_is_unknown
    ),
    warning("flex-zones-in-vain", DOCUMENTATION, "No zone is named in vain.", _flex_zones_in_vain),
)
