"""Live updates: names of what changed, never the data.

A page that hears "status of workload x changed" asks for that piece again, and is checked again. So the hub needs no
knowledge of permissions beyond the subscription, and a lost message costs one refresh.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from functools import cache

import redis
import redis.asyncio
from django.conf import settings
from django.db import transaction

log = logging.getLogger(__name__)

KEEP_ALIVE_S = 15
# A browser that reads slower than this many changes gets the newest ones only.
QUEUE_LENGTH = 64


def workload_topic(uid: str) -> str:
    return f"workload:{uid}"


def team_topic(slug: str) -> str:
    return f"team:{slug}"


def publish(topic: str, *events: str) -> None:
    """Tell every open page, in every web process, after the current transaction is committed."""
    transaction.on_commit(lambda: _send(topic, events))


def _send(topic: str, events: tuple[str, ...]) -> None:
    try:
        for event in events:
            _client().publish(_channel(topic), event)
    except redis.RedisError as exc:
        # Pages fall back to their slow poll; what is stored is not at risk.
        log.warning("Live updates are not sent: %s", exc)


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.BROKER_URL, socket_timeout=1, socket_connect_timeout=1)


def _channel(topic: str) -> str:
    return f"slipway:{settings.INSTANCE}:live:{topic}"


class Hub:
    """One subscription to the broker per process and event loop, fanned out to its open pages."""

    def __init__(self) -> None:
        self._pages: dict[str, set[asyncio.Queue[str]]] = {}
        self._reader: asyncio.Task[None] | None = None

    async def listen(self, topics: list[str]) -> AsyncGenerator[str, None]:
        """Server-sent events of these topics, with a comment every KEEP_ALIVE_S so that proxies keep the line."""
        queue: asyncio.Queue[str] = asyncio.Queue(QUEUE_LENGTH)
        channels = [_channel(topic) for topic in topics]
        for channel in channels:
            self._pages.setdefault(channel, set()).add(queue)
        if self._reader is None or self._reader.done():
            self._reader = asyncio.create_task(self._read())
        try:
            yield "retry: 2000\n\n"
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    yield ": still here\n\n"
                else:
                    yield f"event: {event}\ndata: {event}\n\n"
        finally:
            for channel in channels:
                pages = self._pages.get(channel, set())
                pages.discard(queue)
                if not pages:
                    self._pages.pop(channel, None)

    async def _read(self) -> None:
        while self._pages:
            with contextlib.suppress(redis.RedisError, OSError):
                await self._read_until_broken()
            # After a gap every page refreshes once: what was missed is unknown.
            for pages in list(self._pages.values()):
                for queue in pages:
                    for event in ("status", "slices", "timeline", "log", "list"):
                        _put(queue, event)
            await asyncio.sleep(1)

    async def _read_until_broken(self) -> None:
        client = redis.asyncio.Redis.from_url(settings.BROKER_URL, socket_connect_timeout=2)
        async with client, client.pubsub() as pubsub:
            await pubsub.psubscribe(_channel("*"))
            while self._pages:
                message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=5)
                if message is None:
                    continue
                for queue in self._pages.get(message["channel"].decode(), ()):
                    _put(queue, message["data"].decode())


def _put(queue: asyncio.Queue[str], event: str) -> None:
    with contextlib.suppress(asyncio.QueueFull):
        queue.put_nowait(event)


hub = Hub()
