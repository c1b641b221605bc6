"""How a controller runs: keys in a queue, one key at a time, look again later.

Level-triggered as in Kubernetes: a change only says *which* object to look at, never what happened. So a
controller that missed changes (a restart) needs nothing but a look at every object.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from devcluster.clock import Clock
from devcluster.resources import Resource

Object = dict[str, Any]
Key = tuple[str, str]  # namespace, name

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 30.0
_log = logging.getLogger(__name__)


class Controller(ABC):
    """`reconcile` brings one object closer to what its spec says. It must be safe to call at any time."""

    name: str

    @abstractmethod
    def concerns(self, resource: Resource, obj: Object) -> Iterable[Key]:
        """The keys to look at because `obj` changed. Called for every change: must be quick."""

    @abstractmethod
    def reconcile(self, key: Key) -> float | None:
        """Act; return the seconds after which to look again even if nothing changes (None: never)."""


class WorkQueue:
    """Keys with the time from which they are due. A key is in it at most once, and with one worker at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._due: dict[Key, datetime] = {}
        self._taken: set[Key] = set()
        self._changed = threading.Condition()
        self._closed = False

    def add(self, key: Key, after_s: float = 0.0) -> None:
        due = self._clock.now() + timedelta(seconds=after_s)
        with self._changed:
            if key not in self._due or due < self._due[key]:
                self._due[key] = due
                self._changed.notify()

    def take(self) -> Key | None:
        """The key that is due longest, or None when none is due now."""
        now = self._clock.now()
        with self._changed:
            due = [
                (at, key) for key, at in self._due.items() if at <= now and key not in self._taken
            ]
            if not due:
                return None
            key = min(due)[1]
            del self._due[key]
            self._taken.add(key)
            return key

    def done(self, key: Key) -> None:
        """Give back a key that `take` or `wait` handed out."""
        with self._changed:
            self._taken.discard(key)
            self._changed.notify()

    def wait(self) -> Key | None:
        """Block until a key is due. None once the queue is closed. Only for a real clock."""
        while True:
            with self._changed:  # re-entrant: nothing may be added between the look and the wait
                if self._closed:
                    return None
                key = self.take()
                if key is not None:
                    return key
                waiting = [at for key, at in self._due.items() if key not in self._taken]
                soonest = min(waiting, default=None)
                pause = None
                if soonest is not None:
                    pause = max(0.0, (soonest - self._clock.now()).total_seconds())
                self._changed.wait(pause)

    def next_due(self) -> datetime | None:
        with self._changed:
            return min(self._due.values(), default=None)

    def is_idle(self) -> bool:
        """Nothing is due now and nothing is being handled."""
        now = self._clock.now()
        with self._changed:
            return not self._taken and all(at > now for at in self._due.values())

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()


class Loop:
    """One controller with its queue: on threads of its own, or turned by hand."""

    def __init__(self, controller: Controller, clock: Clock, *, workers: int = 1) -> None:
        self.controller = controller
        self.queue = WorkQueue(clock)
        self._failures: dict[Key, int] = {}
        self._threads = [
            threading.Thread(
                target=self._run, name=f"devcluster-{controller.name}-{number}", daemon=True
            )
            for number in range(workers)
        ]

    def heed(self, resource: Resource, obj: Object) -> None:
        for key in self.controller.concerns(resource, obj):
            self.queue.add(key)

    def turn(self) -> bool:
        """Handle one due key. False when none was due."""
        key = self.queue.take()
        if key is None:
            return False
        self._handle(key)
        return True

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Take no more keys; `join` waits for what is in hand."""
        self.queue.close()

    def join(self, until: float) -> None:
        """`until`: on the monotonic clock."""
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while (key := self.queue.wait()) is not None:
            self._handle(key)

    def _handle(self, key: Key) -> None:
        try:
            again_s = self.controller.reconcile(key)
        except Exception:  # noqa: BLE001 - logged; see below
            # As controller-runtime does: one object's trouble must not stop the others.
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            _log.exception("%s: %s/%s failed, will retry", self.controller.name, *key)
            again_s = min(FIRST_RETRY_S * 2 ** (failures - 1), LAST_RETRY_S)
        else:
            self._failures.pop(key, None)
        if again_s is not None:
            self.queue.add(key, again_s)
        self.queue.done(key)
