"""What the workload page shows, put together once for the page and its pieces."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser

from slipway.catalog import CATALOG
from slipway.lifecycle import TERMINAL, State
from slipway.plan import plan
from webapp.accounts import access
from webapp.accounts.models import User
from webapp.workloads.drawing import Box, Drawing, draw_slice
from webapp.workloads.models import Attempt, Slice, TimelineEntry, Workload


@dataclass(frozen=True)
class HostCell:
    """A host in the drawing of its slice."""

    frame: Box
    chips: tuple[Box, ...]
    host: dict[str, Any]


@dataclass(frozen=True)
class SliceView:
    """`count` is how many hosts are ready; of an attempt that is over, how many were."""

    record: Slice
    total: int
    count: int
    drawing: Drawing | None
    cells: tuple[HostCell, ...]


def attempt_of(workload: Workload, number: str) -> Attempt | None:
    """The attempt of that number, or the newest when none is asked for."""
    if number:
        return (
            workload.attempts.filter(number=int(number)).first()
            if number.isdecimal() and len(number) < 6
            else None
        )
    return workload.attempts.order_by("-number").first()


def status_context(
    user: User | AnonymousUser, workload: Workload, attempt: Attempt
) -> dict[str, Any]:
    """What the status piece needs. Acts that this person may not do are not in it."""
    state = State(workload.state)
    is_newest = not workload.attempts.filter(number__gt=attempt.number).exists()
    can_stop = state not in TERMINAL and workload.stop_requested_at is None
    return {
        "workload": workload,
        "attempt": attempt,
        "attempt_count": workload.attempts.count(),
        "is_newest": is_newest,
        "reason": attempt.why(),
        "may_stop": can_stop and access.can(user, "stop", workload),
        "may_delete": access.can(user, "delete", workload),
        "may_clone": access.can(user, "submit", workload),
    }


def slices_of(attempt: Attempt) -> list[SliceView]:
    """Every slice with its drawing, from what was seen; before anything was, hosts stand as not there yet."""
    workload = attempt.workload
    shape = plan(workload.as_request(), workload.as_class_spec(), CATALOG).rungs[attempt.rung].shape
    drawing = draw_slice(shape)
    records = {record.index: record for record in attempt.slice_records.all()}
    views = []
    for index in range(attempt.slices):
        record = records.get(index) or Slice(attempt=attempt, index=index, hosts=_unseen(attempt))
        key = "ready" if attempt.ended_at is None else "was_ready"
        count = sum(1 for host in record.hosts if host.get(key))
        cells = tuple(_cells(record, drawing))
        views.append(SliceView(record, attempt.hosts_per_slice, count, drawing, cells))
    return views


def timeline_of(workload: Workload) -> Iterable[TimelineEntry]:
    """Everything that happened, newest first, over all attempts."""
    entries = TimelineEntry.objects.filter(attempt__workload=workload).select_related("attempt")
    return entries.order_by("-last_at", "-pk")[:300]


def _unseen(attempt: Attempt) -> list[dict[str, Any]]:
    return [
        {"index": host, "phase": "Missing", "ready": False}
        for host in range(attempt.hosts_per_slice)
    ]


def _cells(record: Slice, drawing: Drawing | None) -> Iterable[HostCell]:
    if drawing is None:
        return
    hosts = {host["index"]: host for host in record.hosts}
    for frame in drawing.hosts:
        chips = tuple(chip for chip in drawing.chips if chip.worker_id == frame.worker_id)
        yield HostCell(frame, chips, hosts.get(frame.worker_id, {"phase": "Missing"}))
