"""`kubectl logs`: which container, then its bytes as the world hands them out."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent import futures
from dataclasses import dataclass
from typing import Protocol

from starlette.datastructures import QueryParams

from devcluster.errors import BadRequest
from devcluster.objects import Object

_QUEUED_CHUNKS = 64


class PodLogs(Protocol):
    """The part of the world that logs come from."""

    def pod_log(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        follow: bool,
        tail_lines: int | None,
        since: int | None,
        previous: bool,
    ) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class LogOptions:
    container: str
    follow: bool
    tail_lines: int | None
    since_s: int | None
    previous: bool
    limit_bytes: int | None


def parse_log_options(pod: Object, query: QueryParams) -> LogOptions:
    """BadRequest, worded as the API server words it, when the pod has no such log."""
    name = pod["metadata"]["name"]
    names = [container["name"] for container in pod.get("spec", {}).get("containers", [])]
    container = query.get("container", "")
    if not container and len(names) > 1:
        choices = " ".join(names)
        raise BadRequest(
            f"a container name must be specified for pod {name}, choose one of: [{choices}]"
        )
    container = container or (names[0] if names else "")
    if container not in names:
        raise BadRequest(f"container {container} is not valid for pod {name}")
    if not pod["spec"].get("nodeName"):
        raise BadRequest(f"pod {name} does not have a host assigned")
    _check_started(pod, container)
    return LogOptions(
        container=container,
        follow=query.get("follow", "").lower() in ("1", "true"),
        tail_lines=_number("tailLines", query),
        since_s=_number("sinceSeconds", query),
        previous=query.get("previous", "").lower() in ("1", "true"),
        limit_bytes=_number("limitBytes", query),
    )


def _check_started(pod: Object, container: str) -> None:
    for status in pod.get("status", {}).get("containerStatuses", []):
        waiting = status.get("state", {}).get("waiting")
        if status.get("name") == container and waiting and not status.get("restartCount"):
            name, why = pod["metadata"]["name"], waiting.get("reason", "ContainerCreating")
            raise BadRequest(f'container "{container}" in pod "{name}" is waiting to start: {why}')


def _number(name: str, query: QueryParams) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not text.isdigit():
        raise BadRequest(f'Invalid value for {name}: "{text}": must be a whole number')
    return int(text)


async def stream(
    open_log: Callable[[], Iterator[bytes]], limit_bytes: int | None
) -> AsyncIterator[bytes]:
    """Pump a blocking log iterator through a thread of its own, so that followers never starve each
    other.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(_QUEUED_CHUNKS)
    is_over = threading.Event()

    def hand_over(item: bytes | Exception | None) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()

    def pump() -> None:
        try:
            for chunk in open_log():
                if is_over.is_set():
                    return
                if chunk:
                    hand_over(chunk)
            hand_over(None)
        except Exception as exc:  # noqa: BLE001 - whatever it is, the reader must not wait for ever
            with contextlib.suppress(RuntimeError, futures.CancelledError):  # the server is gone
                hand_over(exc)

    threading.Thread(target=pump, name="pod-log", daemon=True).start()
    left = limit_bytes
    try:
        while (item := await queue.get()) is not None:
            if isinstance(item, Exception):
                raise item
            if left is not None:
                item, left = item[:left], left - len(item)
            yield item
            if left is not None and left <= 0:
                return
    finally:
        is_over.set()
        while not queue.empty():  # let a blocked pump see that it is over
            queue.get_nowait()
