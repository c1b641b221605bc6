"""What templates need of the look: states, ages, and long lists told short. No data access."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Protocol

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from slipway.catalog import CATALOG

register = template.Library()

# The state's family decides its colour; its word and its mark say it without colour.
FAMILIES = {
    "queued": "idle", "creating": "busy", "waiting": "warn", "starting": "busy", "running": "good",
    "stopping": "busy", "finishing": "busy", "succeeded": "done", "failed": "bad", "stopped": "idle",
}  # fmt: skip


@register.filter
def family(state: str) -> str:
    return FAMILIES.get(state, "idle")


@register.filter
def host_family(host: Mapping[str, object]) -> str:
    """Ready, coming, or not there."""
    if host.get("ready"):
        return "good"
    phase = host.get("phase")
    return {"Running": "busy", "Pending": "warn", "Failed": "bad", "Gone": "bad"}.get(
        str(phase), "idle"
    )


@register.filter
def age(when: datetime | None) -> str:
    """`12 s`, `3 min`, `2 h`, `5 d`: how long ago, in one unit."""
    if when is None:
        return ""
    seconds = max(0, int((timezone.now() - when).total_seconds()))
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


@register.simple_tag
def when(moment: datetime | None) -> SafeString:
    """A time that machines can read and people can hover."""
    if moment is None:
        return SafeString("")
    exact = moment.strftime("%Y-%m-%d %H:%M:%S")
    return format_html(
        '<time datetime="{}" title="{} UTC">{} ago</time>', moment.isoformat(), exact, age(moment)
    )


@register.simple_tag
def clock(moment: datetime | None) -> SafeString:
    if moment is None:
        return SafeString("")
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        moment.isoformat(),
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        moment.strftime("%H:%M:%S"),
    )


@register.simple_tag
def since(moment: datetime | None) -> SafeString:
    """A time of day, with its day when that is not today."""
    if moment is None:
        return SafeString("")
    is_today = moment.date() == timezone.now().date()
    return format_html(
        '<time datetime="{}" title="{} UTC">{} UTC</time>',
        moment.isoformat(),
        moment.strftime("%Y-%m-%d %H:%M:%S"),
        moment.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M"),
    )


@dataclass(frozen=True)
class HostGroup:
    """Hosts of which the same can be said. One that has a node stands alone: its node is its own."""

    label: str
    first: Mapping[str, object]


@register.filter
def host_groups(hosts: Iterable[Mapping[str, object]]) -> list[HostGroup]:
    """Sixty-four hosts that wait for the same thing are one line."""
    same: dict[object, list[Mapping[str, object]]] = {}
    for host in hosts:
        alone = host.get("index") if host.get("node") else None
        key = (alone, host.get("ready"), host.get("phase"), host.get("message"))
        same.setdefault(key, []).append(host)
    return [HostGroup(_host_label(group), group[0]) for group in same.values()]


def _host_label(hosts: Sequence[Mapping[str, object]]) -> str:
    """`host 3`, or `hosts 0–3, 5`."""
    numbers = sorted(int(str(host["index"])) for host in hosts)
    runs = [
        [number for _, number in run]
        for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])
    ]
    spans = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}\u2013{run[-1]}" for run in runs)
    return f"host{'s' if len(numbers) > 1 else ''} {spans}"


class Told(Protocol):
    """What is read of a timeline entry."""

    source: str
    reason: str
    message: str
    is_warning: bool
    count: int
    last_at: datetime


@dataclass(frozen=True)
class Happening:
    entry: Told
    count: int


@register.filter
def told_once(entries: Iterable[Told]) -> list[Happening]:
    """Neighbours that say the same, such as one event for each of 64 pods, are one line that counts them."""
    runs = groupby(
        entries, lambda e: (e.last_at.date(), e.source, e.reason, e.message, e.is_warning)
    )
    groups = ([*run] for _, run in runs)
    return [Happening(run[0], sum(entry.count for entry in run)) for run in groups]


@register.simple_tag
def machine_groups() -> list[tuple[str, list[tuple[str, str]]]]:
    """Machine types by generation, each with its chips, which are what tells one from another."""
    return [
        (
            generation.title,
            [
                (
                    machine.name,
                    f"{machine.name}: {machine.chips} chip{'s' if machine.chips > 1 else ''} a host",
                )
                for machine in generation.machines
            ],
        )
        for generation in CATALOG.generations.values()
    ]


@register.filter
def sheets(names: str) -> list[str]:
    """The stylesheets of these names, in this order."""
    return [f"css/{name}.css" for name in names.split()]


@register.filter
def times(number: int, factor: float) -> float:
    return number * factor


@register.filter
def minutes(seconds: int) -> str:
    return f"{seconds // 60} min"
