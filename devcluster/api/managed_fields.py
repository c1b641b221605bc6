"""Keeping metadata.managedFields: after an ordinary write, and as server-side apply needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from devcluster.api import ownership
from devcluster.api.ownership import Path
from devcluster.objects import Object, timestamp

APPLY, UPDATE = "Apply", "Update"


@dataclass
class Entry:
    manager: str
    operation: str
    api_version: str
    subresource: str
    time: str
    paths: set[Path] = field(default_factory=set)

    def is_of(self, manager: str, operation: str, subresource: str) -> bool:
        return (self.manager, self.operation, self.subresource) == (manager, operation, subresource)

    def as_dict(self) -> dict[str, Any]:
        row: dict[str, Any] = {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": ownership.to_fields_v1(self.paths),
        }
        if self.subresource:
            row["subresource"] = self.subresource
        return row


def read(obj: Object | None) -> list[Entry]:
    rows = (obj or {}).get("metadata", {}).get("managedFields") or []
    return [
        Entry(
            row["manager"],
            row["operation"],
            row["apiVersion"],
            row.get("subresource", ""),
            row.get("time", ""),
            ownership.from_fields_v1(row.get("fieldsV1", {})),
        )
        for row in rows
    ]


def write(obj: Object, entries: list[Entry]) -> None:
    rows = [entry.as_dict() for entry in entries if entry.paths]
    if rows:
        obj["metadata"]["managedFields"] = rows
    else:
        obj["metadata"].pop("managedFields", None)


def track(
    kind: str, old: Object | None, new: Object, manager: str, subresource: str, now: datetime
) -> None:
    """Give `manager` what differs between `old` and `new`, in place.

    Nothing changes hands when nothing differs.
    """
    entries = read(old)
    before, after = _scope(kind, old or {}, subresource), _scope(kind, new, subresource)
    changed = {path for path, value in after.items() if path not in before or before[path] != value}
    removed = before.keys() - after.keys()
    if changed or removed:
        own = None
        for entry in entries:
            entry.paths -= removed
            if entry.is_of(manager, UPDATE, subresource):
                own = entry
            else:
                entry.paths -= changed
        if own is None and changed:
            own = Entry(manager, UPDATE, new["apiVersion"], subresource, "")
            entries.append(own)
        if own is not None:
            own.paths |= changed
            own.time = timestamp(now)
    write(new, entries)


def _scope(kind: str, obj: Object, subresource: str) -> dict[Path, Any]:
    """The leaves that a write through this door can change."""
    wants_status = subresource == "status"
    found = ownership.leaves(kind, obj)
    return {path: v for path, v in found.items() if (path[0] == "f:status") is wants_status}
