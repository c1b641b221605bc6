"""Watches.

Pulled from the store's history, woken by its changes. A slow client costs nobody anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator

from devcluster.api.event_versions import outward, stored_as
from devcluster.api.listing import matcher, too_large
from devcluster.api.request import Options, Target, parse_revision
from devcluster.errors import StoreError
from devcluster.history import Change
from devcluster.objects import Object
from devcluster.resources import Resource
from devcluster.selectors import Matcher
from devcluster.store import Store

DEFAULT_TIMEOUT_S = 1800
BOOKMARK_EVERY_S = 60
Shape = Callable[[Object], Object]


class Hub:
    """Wakes the watches of a resource when it changed. Lives on the server's event loop."""

    def __init__(self, store: Store) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self.is_closing = False
        self._unsubscribe = store.subscribe(self._changed)

    def _changed(self, _type: str, resource: Resource, _obj: Object) -> None:
        """Called from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has just been closed
            self._loop.call_soon_threadsafe(self._wake, resource.storage)

    def _wake(self, storage: str) -> None:
        for event in self._waiting.get(storage, ()):
            event.set()

    @contextlib.contextmanager
    def listening(self, storage: str) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._waiting.setdefault(storage, set()).add(event)
        try:
            yield event
        finally:
            self._waiting[storage].discard(event)

    def close_from_outside(self) -> None:
        """`close`, from another thread."""
        self.on_loop(self.close)

    def on_loop(self, fn: Callable[[], None]) -> None:
        """Run `fn` on the server's loop soon; not at all when that has ended."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(fn)

    def close(self) -> None:
        """End every watch, so that the server can stop."""
        self.is_closing = True
        self._unsubscribe()
        for storage in self._waiting:
            self._wake(storage)


async def stream(
    store: Store, hub: Hub, target: Target, options: Options, shape: Shape
) -> AsyncIterator[bytes]:
    """One JSON line per event. A version that is no longer kept is one ERROR event of code 410."""
    resource = stored_as(target.resource)
    matches = matcher(resource, target, options)
    deadline = time.monotonic() + (options.timeout_s or DEFAULT_TIMEOUT_S)
    show = _Shower(target.resource, shape)
    with hub.listening(resource.storage) as changed:
        revision = parse_revision(options.resource_version)
        if revision > store.revision:
            yield show.error(too_large(revision, store.revision))
            return
        if revision == 0:
            items, revision = store.view(resource, target.namespace)
            for obj in items:
                if matches(obj):
                    yield show.event("ADDED", obj)
            if options.send_initial_events:
                yield show.bookmark(revision, ends_initial=True)
        next_bookmark = time.monotonic() + BOOKMARK_EVERY_S
        while not hub.is_closing:
            changed.clear()
            try:
                changes = store.changes_since(resource, revision)
            except StoreError as exc:
                yield show.error(exc)
                return
            for change in changes:
                revision = change.revision
                event_type = _seen_through(matches, change)
                if event_type is not None:
                    obj = change.obj
                    if event_type == "DELETED" and change.type != "DELETED" and change.before:
                        obj = _last_selected(change.before, change.obj)
                    yield show.event(event_type, obj)
            now = time.monotonic()
            if now >= deadline:
                break
            if options.bookmarks and now >= next_bookmark:
                yield show.bookmark(max(revision, _quiet_revision(store, resource, revision)))
                next_bookmark = now + BOOKMARK_EVERY_S
            wait = min(deadline, next_bookmark) - now
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), wait)
        if options.bookmarks:
            yield show.bookmark(max(revision, _quiet_revision(store, resource, revision)))


def _quiet_revision(store: Store, resource: Resource, seen: int) -> int:
    """The newest revision at which nothing of this resource was missed.

    Where a later watch may start.
    """
    newest = store.revision
    return seen if store.changes_since(resource, seen) else newest


def _seen_through(matches: Matcher, change: Change) -> str | None:
    """What a change is for a watch with selectors: an object can enter and leave its selection."""
    is_in = matches(change.obj)
    was_in = change.before is not None and matches(change.before)
    if change.type == "DELETED":
        return "DELETED" if was_in else None
    if is_in:
        return "MODIFIED" if was_in else "ADDED"
    return "DELETED" if was_in else None


def _last_selected(before: Object, after: Object) -> Object:
    """An object that left the selection is shown as it was, at the revision of the change."""
    version = after["metadata"]["resourceVersion"]
    return {**before, "metadata": {**before["metadata"], "resourceVersion": version}}


class _Shower:
    """Events as lines, in the shape (plain, Table) the client asked for."""

    def __init__(self, resource: Resource, shape: Shape) -> None:
        self._resource = resource
        self._shape = shape

    def event(self, event_type: str, obj: Object) -> bytes:
        return _line(event_type, self._shape(outward(self._resource, obj)))

    def bookmark(self, revision: int, *, ends_initial: bool = False) -> bytes:
        metadata: Object = {"resourceVersion": str(revision), "creationTimestamp": None}
        if ends_initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        kind, version = self._resource.kind, self._resource.api_version
        obj = {"kind": kind, "apiVersion": version, "metadata": metadata}
        return _line("BOOKMARK", self._shape(obj))

    def error(self, error: StoreError) -> bytes:
        return _line("ERROR", error.as_status())


def _line(event_type: str, obj: Object) -> bytes:
    return json.dumps({"type": event_type, "object": obj}, separators=(",", ":")).encode() + b"\n"
