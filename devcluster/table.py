"""The current objects with two indexes: by uid, and by the uid of an owner."""

from __future__ import annotations

from devcluster import objects
from devcluster.objects import Key, Object
from devcluster.resources import RESOURCES, Resource

_BY_STORAGE = {resource.storage: resource for resource in reversed(RESOURCES)}


class ObjectTable:
    """Not thread-safe: the store's lock is around every call."""

    def __init__(self) -> None:
        self._rows: dict[str, dict[Key, Object]] = {r.storage: {} for r in RESOURCES}
        self._uids: set[str] = set()
        self._dependents: dict[str, set[tuple[str, Key]]] = {}

    def get(self, res: Resource, key: Key) -> Object | None:
        return self._rows[res.storage].get(key)

    def rows(self, res: Resource, namespace: str | None) -> list[tuple[Key, Object]]:
        """In no order; every namespace when `namespace` is None or empty."""
        rows = self._rows[res.storage].items()
        return [row for row in rows if not namespace or row[0][0] == namespace]

    def load(self, storage: str, key: Key, obj: Object) -> None:
        """Put a row read from disk; one of a resource that is no longer served is left out."""
        if storage in _BY_STORAGE:
            self.set(_BY_STORAGE[storage], key, obj)

    def set(self, res: Resource, key: Key, obj: Object | None) -> None:
        """Put `obj` at `key`, or nothing when it is None."""
        rows = self._rows[res.storage]
        entry = (res.storage, key)
        before = rows.pop(key, None)
        if before is not None:
            self._uids.discard(before["metadata"]["uid"])
            for owner in objects.owners_of(before):
                self._forget_dependent(owner["uid"], entry)
        if obj is not None:
            rows[key] = obj
            self._uids.add(obj["metadata"]["uid"])
            for owner in objects.owners_of(obj):
                self._dependents.setdefault(owner["uid"], set()).add(entry)

    def _forget_dependent(self, owner_uid: str, entry: tuple[str, Key]) -> None:
        entries = self._dependents.get(owner_uid, set())
        entries.discard(entry)
        if not entries:
            self._dependents.pop(owner_uid, None)

    def has_uid(self, uid: str) -> bool:
        return uid in self._uids

    def dependents(self, owner_uid: str) -> list[tuple[Resource, Key]]:
        """What names this owner, in a stable order."""
        return [(_BY_STORAGE[s], key) for s, key in sorted(self._dependents.get(owner_uid, ()))]

    def contents(self, namespace: str) -> list[tuple[Resource, Key]]:
        """Everything in a namespace; events last, so that what ends can still report."""
        found = [
            (_BY_STORAGE[storage], key)
            for storage, rows in self._rows.items()
            for key in rows
            if key[0] == namespace
        ]
        return sorted(found, key=lambda row: (row[0].plural == "events", row[0].plural, row[1]))

    def is_orphan(self, obj: Object) -> bool:
        """True when it names owners and none of them exists any more."""
        owners = objects.owners_of(obj)
        return bool(owners) and not any(owner["uid"] in self._uids for owner in owners)
