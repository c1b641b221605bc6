"""The hub passes names on, to who listens, and forgets who left."""

from __future__ import annotations

import asyncio

import pytest

from webapp.live import hub as live


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> live.Hub:
    async def idle(self: live.Hub) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(live.Hub, "_read", idle)
    return live.Hub()


async def first_events(hub: live.Hub, topics: list[str], count: int) -> list[str]:
    events = hub.listen(topics)
    got = [await asyncio.wait_for(anext(events), 2) for _ in range(count)]
    await events.aclose()
    return got


def test_a_listener_hears_its_topic(hub: live.Hub) -> None:
    async def scene() -> list[str]:
        listening = asyncio.create_task(first_events(hub, ["workload:a"], 2))
        while not hub._pages:
            await asyncio.sleep(0.01)
        for queue in hub._pages[live._channel("workload:a")]:
            queue.put_nowait("status")
        return await listening

    assert asyncio.run(scene()) == ["retry: 2000\n\n", "event: status\ndata: status\n\n"]


def test_who_left_is_forgotten(hub: live.Hub) -> None:
    async def scene() -> None:
        await first_events(hub, ["workload:a", "team:x"], 1)

    asyncio.run(scene())
    assert hub._pages == {}


def test_a_slow_page_loses_events_and_not_the_hub(hub: live.Hub) -> None:
    queue: asyncio.Queue[str] = asyncio.Queue(1)
    for _ in range(3):
        live._put(queue, "log")
    assert queue.qsize() == 1
