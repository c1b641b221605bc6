"""The kubelet and the kernel of a node: set by a rule, or for all rules at once in priorityDefaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slipway.class_rules.durations import seconds_of
from slipway.class_rules.reading import Place, Subject
from slipway.class_rules.rule import Judge, Problem, Rule, cel

_SHORTEST_LOG_INTERVAL_S, _LONGEST_LOG_INTERVAL_S = 3, 300
# What the kubelet takes for imageGcLowThresholdPercent where nothing is said.
_DEFAULT_LOW_PERCENT = 80
_SWAP_PROFILES = ("bootDiskProfile", "ephemeralLocalSsdProfile", "dedicatedLocalSsdProfile")
_GRACE, _CRITICAL = "shutdownGracePeriodSeconds", "shutdownGracePeriodCriticalPodsSeconds"

# Judges one nodeSystemConfig.
SystemJudge = Callable[[Place], Iterator[Problem]]


def _gc_order(system: Place) -> Iterator[Problem]:
    kubelet = system.at("kubeletConfig")
    high = kubelet.number("imageGcHighThresholdPercent")
    low = kubelet.number("imageGcLowThresholdPercent")
    if high is not None and low is not None and high <= low:
        yield (
            kubelet.at("imageGcLowThresholdPercent").path,
            f"Removing images would start at {high} % and stop at {low} %. "
            "Make imageGcLowThresholdPercent the smaller one.",
        )


def _gc_high(system: Place) -> Iterator[Problem]:
    kubelet = system.at("kubeletConfig")
    high = kubelet.number("imageGcHighThresholdPercent")
    is_low_said = kubelet.has("imageGcLowThresholdPercent")
    if high is not None and not is_low_said and high <= _DEFAULT_LOW_PERCENT:
        yield (
            kubelet.at("imageGcHighThresholdPercent").path,
            f"Removing images stops at {_DEFAULT_LOW_PERCENT} % unless something else is said, so it must start "
            "above. Raise imageGcHighThresholdPercent, or set imageGcLowThresholdPercent below it.",
        )


def _critical_grace(system: Place) -> Iterator[Problem]:
    kubelet = system.at("kubeletConfig")
    critical = kubelet.at(_CRITICAL)
    if critical.value is None:
        return
    mine, whole = kubelet.number(_CRITICAL), kubelet.number(_GRACE)
    if not kubelet.has(_GRACE) or (mine is not None and whole is not None and mine > whole):
        yield (
            critical.path,
            f"The time of critical pods is part of {_GRACE}. Set that too, to as much or more.",
        )


def _log_interval_short(system: Place) -> Iterator[Problem]:
    place = system.at("kubeletConfig", "containerLogMonitorInterval")
    seconds = seconds_of(place.value)
    if seconds is not None and seconds < _SHORTEST_LOG_INTERVAL_S:
        yield (
            place.path,
            f"GKE looks at logs every {_SHORTEST_LOG_INTERVAL_S}s and no more often. Give it that or more.",
        )


def _log_interval_long(system: Place) -> Iterator[Problem]:
    place = system.at("kubeletConfig", "containerLogMonitorInterval")
    seconds = seconds_of(place.value)
    if seconds is not None and seconds > _LONGEST_LOG_INTERVAL_S:
        yield (
            place.path,
            f"GKE looks at logs every {_LONGEST_LOG_INTERVAL_S}s at least. Give it that or less.",
        )


def _swap_profiles(system: Place) -> Iterator[Problem]:
    swap = system.at("linuxNodeConfig", "swapConfig")
    named = [profile for profile in _SWAP_PROFILES if swap.has(profile)]
    if len(named) > 1:
        yield swap.path, f"Swap goes to one place, and {' and '.join(named)} are set. Keep one."


def _swap_size(profile: str) -> SystemJudge:
    def judge(system: Place) -> Iterator[Problem]:
        place = system.at("linuxNodeConfig", "swapConfig", profile)
        if place.has("swapSizeGib") and place.has("swapSizePercent"):
            yield (
                place.path,
                "The size of swap is said twice. Keep swapSizeGib or swapSizePercent.",
            )

    return judge


def _in_rules(judge_one: SystemJudge) -> Judge:
    def judge(subject: Subject) -> Iterator[Problem]:
        for priority in subject.priorities:
            yield from judge_one(priority.at("nodeSystemConfig"))

    return judge


def _in_defaults(judge_one: SystemJudge) -> Judge:
    def judge(subject: Subject) -> Iterator[Problem]:
        yield from judge_one(subject.spec.at("priorityDefaults", "nodeSystemConfig"))

    return judge


def _grace_without_spot(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        place = priority.at("nodeSystemConfig", "kubeletConfig", _GRACE)
        if place.value is not None and not priority.is_spot:
            yield (
                place.path,
                f"{priority.title} is not spot, and only spot nodes have a shutdown grace period. "
                f"Take {_GRACE} away, or make the rule spot.",
            )


def _default_grace_without_spot(subject: Subject) -> Iterator[Problem]:
    place = subject.spec.at("priorityDefaults", "nodeSystemConfig", "kubeletConfig", _GRACE)
    if place.value is not None and not all(priority.is_spot for priority in subject.priorities):
        yield (
            place.path,
            f"Only spot nodes have a shutdown grace period, and some rule is not spot. Move {_GRACE} "
            "to the rules that are.",
        )


def _both(numbers: tuple[int, int], id: str, summary: str, judge_one: SystemJudge) -> list[Rule]:
    """A rule that the CRD has twice, for the rules and for their defaults."""
    of_rules, of_defaults = numbers
    return [
        cel(of_rules, id, summary, _in_rules(judge_one)),
        cel(
            of_defaults,
            f"default-{id}",
            f"{summary[:-1]}, by default too.",
            _in_defaults(judge_one),
        ),
    ]


RULES = (
    cel(
        20,
        "default-shutdown-grace-spot",
        "Default grace is for spot rules.",
        _default_grace_without_spot,
    ),
    cel(41, "shutdown-grace-spot", "Shutdown grace is for spot.", _grace_without_spot),
    *_both((49, 61), "image-gc-order", "Image removal stops below its start.", _gc_order),
    *_both((50, 62), "image-gc-high", "Image removal starts above the default stop.", _gc_high),
    *_both((51, 63), "critical-grace", "Critical pods share the grace period.", _critical_grace),
    *_both(
        (52, 64), "log-interval-short", "Logs are not looked at too often.", _log_interval_short
    ),
    *_both((53, 65), "log-interval-long", "Logs are not looked at too rarely.", _log_interval_long),
    *_both((54, 66), "swap-profiles", "Swap has one place.", _swap_profiles),
    *_both(
        (55, 67), "swap-boot-size", "Boot-disk swap has one size.", _swap_size(_SWAP_PROFILES[0])
    ),
    *_both(
        (56, 68), "swap-ssd-size", "Local-SSD swap has one size.", _swap_size(_SWAP_PROFILES[1])
    ),
)
