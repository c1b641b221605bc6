"""What templates need of the look: icons, states, ages. No data access."""

from __future__ import annotations

from datetime import datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

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
def host_family(host: dict[str, object]) -> str:
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


@register.filter
def sheets(names: str) -> list[str]:
    """The stylesheets of these names, in this order."""
    return [f"css/{name}.css" for name in names.split()]


@register.filter
def times(number: int, factor: int) -> int:
    return number * factor


@register.filter
def minutes(seconds: int) -> str:
    return f"{seconds // 60} min"
