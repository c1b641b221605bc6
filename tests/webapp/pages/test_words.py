"""Long lists told short."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from webapp.ui.templatetags.ui import host_groups, since, told_once

NOON = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)


@dataclass(frozen=True)
class Event:
    reason: str
    message: str = ""
    count: int = 1
    source: str = "scheduler"
    is_warning: bool = False
    last_at: datetime = NOON


def waiting(*indexes: int) -> list[dict[str, object]]:
    return [{"index": index, "phase": "Pending", "message": "no node"} for index in indexes]


@pytest.mark.parametrize(
    ("hosts", "labels"),
    [
        ([], []),
        (waiting(7), ["host 7"]),
        (waiting(*range(64)), ["hosts 0–63"]),
        (waiting(0, 2, 3, 9), ["hosts 0, 2–3, 9"]),
        ([*waiting(0), {"index": 1, "phase": "Missing"}], ["host 0", "host 1"]),
        (
            [{"index": index, "ready": True, "node": f"node-{index}"} for index in range(2)],
            ["host 0", "host 1"],
        ),
    ],
)
def test_hosts_that_wait_for_the_same_are_one_line(
    hosts: list[dict[str, object]], labels: list[str]
) -> None:
    assert [group.label for group in host_groups(hosts)] == labels


def test_neighbours_that_say_the_same_are_counted_and_others_keep_their_place() -> None:
    events = [Event("Failed", count=3), Event("Failed", count=2), Event("Started"), Event("Failed")]
    assert [(told.entry.reason, told.count) for told in told_once(events)] == [
        ("Failed", 5),
        ("Started", 1),
        ("Failed", 1),
    ]


def test_a_time_of_another_day_says_its_day() -> None:
    assert ">2026-01-02 12:00 UTC<" in since(NOON)
