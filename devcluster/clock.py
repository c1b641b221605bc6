"""Time as the cluster sees it: the machine's own, or a test's that moves only when told."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta


class Clock(ABC):
    @abstractmethod
    def now(self) -> datetime:
        """An aware UTC time."""


class RealClock(Clock):
    def now(self) -> datetime:
        return datetime.now(UTC)


class TickClock(Clock):
    """Stands still until `advance`.

    Starts at the real time, so that certificates and tokens stay valid.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._lock = threading.Lock()
        self._now = start or datetime.now(UTC).replace(microsecond=0)

    def now(self) -> datetime:
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> None:
        if seconds < 0:
            raise ValueError(f"Time can't go back by {-seconds} s.")
        with self._lock:
            self._now += timedelta(seconds=seconds)
