"""Transactions over the table: every change gets a revision, is saved, remembered for watches, and
told.

A transaction is one `with ledger.transaction()`. Those inside it join it (cascades). It is saved
whole; when saving fails, the table is as it was before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from devcluster import objects
from devcluster.history import Change, History
from devcluster.objects import Key, Object
from devcluster.persistence import Persistence, Write
from devcluster.resources import Resource
from devcluster.table import ObjectTable

Subscriber = Callable[[str, Resource, Object], None]


@dataclass
class _Batch:
    """The changes of one transaction, so that they can be saved together or undone together."""

    revision_before: int
    changes: list[tuple[Resource, Change]] = field(default_factory=list)
    undo: list[tuple[Resource, Key, Object | None]] = field(default_factory=list)


class Ledger:
    def __init__(self, path: Path | None, changes_kept: int) -> None:
        self.lock = threading.RLock()
        self.table = ObjectTable()
        self._persistence = Persistence(path)
        self._subscribers: list[Subscriber] = []
        self._batch: _Batch | None = None
        self.revision, rows = self._persistence.load()
        for row in rows:
            if row.body is not None:
                self.table.load(row.storage, (row.namespace, row.name), row.body)
        self.history = History(self.revision, changes_kept)

    def close(self) -> None:
        with self.lock:
            self._persistence.close()

    def subscribe(self, fn: Subscriber) -> Callable[[], None]:
        self._subscribers = [*self._subscribers, fn]

        def unsubscribe() -> None:
            self._subscribers = [known for known in self._subscribers if known is not fn]

        return unsubscribe

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Subscribers hear of the changes after the outermost one is committed, outside the lock."""
        with self.lock:
            if self._batch is not None:
                yield
                return
            batch = self._batch = _Batch(self.revision)
            try:
                yield
                self._commit(batch)
            except BaseException:
                self._roll_back(batch)
                raise
            finally:
                self._batch = None
        for res, change in batch.changes:
            for subscriber in self._subscribers:
                subscriber(change.type, res, change.obj)

    def put(self, res: Resource, key: Key, obj: Object, change_type: str) -> None:
        """Store `obj` itself (not a copy) under a new revision."""
        before = self.table.get(res, key)
        self.revision += 1
        obj["metadata"]["resourceVersion"] = str(self.revision)
        self._record(res, key, before, Change(self.revision, change_type, obj, before))
        self.table.set(res, key, obj)

    def remove(self, res: Resource, key: Key, before: Object) -> Object:
        """The object as watches see it go: with the revision of its end."""
        last: Object = {**before, "metadata": dict(before["metadata"])}
        self.revision += 1
        last["metadata"]["resourceVersion"] = str(self.revision)
        self._record(res, key, before, Change(self.revision, "DELETED", last, before))
        self.table.set(res, key, None)
        return last

    def _record(self, res: Resource, key: Key, before: Object | None, change: Change) -> None:
        if self._batch is None:
            raise RuntimeError("a change outside a transaction")
        self._batch.changes.append((res, change))
        self._batch.undo.append((res, key, before))

    def _commit(self, batch: _Batch) -> None:
        if not batch.changes:
            return
        writes = []
        for res, change in batch.changes:
            body = None if change.type == "DELETED" else change.obj
            writes.append(Write(res.storage, *objects.key_of(res, change.obj), body))
        self._persistence.save(self.revision, writes)
        for res, change in batch.changes:
            self.history.add(res.storage, change)

    def _roll_back(self, batch: _Batch) -> None:
        for res, key, before in reversed(batch.undo):
            self.table.set(res, key, before)
        self.revision = batch.revision_before
