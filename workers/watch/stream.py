"""List, then watch from there, for ever: the pattern of every Kubernetes controller. Knows no kind."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.db import close_old_connections
from django.utils import timezone

from workers.gateways.errors import GatewayError, Gone
from workers.gateways.kube import KubeGateway, Object

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 15.0


Listed = Callable[[list[Object], datetime], None]
Changed = Callable[[Object, bool], None]


@dataclass(frozen=True)
class Handlers:
    """`listed` gets every object that exists and when the list began; `changed` one object and whether it is gone."""

    listed: Listed
    changed: Changed
    # "" when the stream is well.
    health: Callable[[str], None]


class Stream:
    def __init__(
        self,
        kube: Callable[[], KubeGateway],
        kind: str,
        selector: str,
        handlers: Handlers,
        stop: threading.Event,
    ) -> None:
        self._kube = kube
        self._kind = kind
        self._selector = selector
        self._handlers = handlers
        self._stop = stop
        self._since = ""

    def run(self) -> None:
        """Until `stop` is set. Errors are told to `health` and tried again with growing pauses."""
        pause = FIRST_PAUSE_S
        while not self._stop.is_set():
            close_old_connections()
            try:
                self.turn()
                pause = FIRST_PAUSE_S
                continue
            except Gone:
                self._since = ""
                continue
            except GatewayError as exc:
                self._handlers.health(exc.message)
            except Exception:
                # A bug in one object's handling must not end the watch for all others; a list repeats what was missed.
                log.exception("Watching %s failed; listing again.", self._kind)
                self._since = ""
            self._stop.wait(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)

    def turn(self) -> None:
        """One list if needed, and one watch until the server ends it."""
        kube = self._kube()
        if not self._since:
            began = timezone.now()
            listed = kube.list(self._kind, selector=self._selector)
            self._handlers.listed(listed.items, began)
            self._since = listed.resource_version
        self._handlers.health("")
        for event in kube.watch(self._kind, since=self._since, selector=self._selector):
            if event.type != "BOOKMARK":
                self._handlers.changed(event.object, event.type == "DELETED")
            self._since = event.object["metadata"]["resourceVersion"]
            if self._stop.is_set():
                return
