"""Trouble on demand: tests make the API refuse or stall, because real ones do."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass

from devcluster.errors import StoreError

_POLL_S = 0.02


@dataclass
class _Refusal:
    verb: str
    plural: str
    status: int
    message: str
    reason: str
    left: int | None


class Faults:
    """Set from the test's thread, read by the server's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._paused = False
        self._refusals: list[_Refusal] = []

    def pause(self) -> None:
        """Requests wait, as with a hung etcd, until `resume`."""
        self._paused = True

    def resume(self) -> None:
        self._paused = False

    def refuse(
        self,
        verb: str,
        plural: str,
        status: int,
        message: str,
        *,
        reason: str = "InternalError",
        times: int | None = None,
    ) -> None:
        """Answer `status` to a verb on a plural ("*" is any), `times` times or until `clear`."""
        with self._lock:
            self._refusals.append(_Refusal(verb, plural, status, message, reason, times))

    def clear(self) -> None:
        with self._lock:
            self._refusals.clear()
            self._paused = False

    async def check(self, verb: str, plural: str) -> None:
        """StoreError when this request is to be refused; returns late while paused."""
        while self._paused:
            await asyncio.sleep(_POLL_S)
        with self._lock:
            for refusal in self._refusals:
                if refusal.verb in ("*", verb) and refusal.plural in ("*", plural):
                    if refusal.left is not None:
                        refusal.left -= 1
                        if refusal.left <= 0:
                            self._refusals.remove(refusal)
                    raise StoreError(refusal.status, refusal.reason, refusal.message)
