"""What changed lately, per resource, for watches.

Bounded: who asks for older changes must list again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from devcluster.errors import Expired
from devcluster.objects import Object

CHANGES_KEPT = 8192


@dataclass(frozen=True)
class Change:
    """One committed change.

    `before` lets a watch with a selector see an object leave its selection.
    """

    revision: int
    type: str  # ADDED, MODIFIED, DELETED
    obj: Object
    before: Object | None


class History:
    def __init__(self, start: int, kept: int = CHANGES_KEPT) -> None:
        self._kept = kept
        self._start = start
        self._changes: dict[str, deque[Change]] = {}
        self._forgotten: dict[str, int] = {}  # the newest revision no longer kept

    def add(self, storage: str, change: Change) -> None:
        changes = self._changes.setdefault(storage, deque())
        changes.append(change)
        if len(changes) > self._kept:
            self._forgotten[storage] = changes.popleft().revision

    def since(self, storage: str, revision: int) -> list[Change]:
        """Changes after `revision`, oldest first. Expired when some of them are no longer kept."""
        oldest = self._forgotten.get(storage, self._start)
        if revision < oldest:
            raise Expired(f"too old resource version: {revision} ({oldest})")
        found: list[Change] = []
        for change in reversed(self._changes.get(storage, ())):
            if change.revision <= revision:
                break
            found.append(change)
        found.reverse()
        return found
