"""`kubectl get` output: the server makes the rows, so that every client shows the same columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from devcluster.api.columns import COLUMNS, Column
from devcluster.objects import Object
from devcluster.resources import Resource

_DEFAULT = (
    Column("Name", ".metadata.name", format="name"),
    Column("Created At", ".metadata.creationTimestamp", type="date"),
)


@dataclass(frozen=True)
class TableShape:
    """Turns one object or a list into a `meta.k8s.io/v1` Table."""

    resource: Resource
    include_object: str
    now: Callable[[], datetime]

    def one(self, obj: Object) -> Object:
        """A watch event or a single get.

        A bookmark is no object (it has no uid) and makes no row.
        """
        metadata = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
        return self._table([obj] if "uid" in obj["metadata"] else [], metadata)

    def many(self, items: list[Object], metadata: Object) -> Object:
        return self._table(items, metadata)

    def _table(self, items: list[Object], metadata: Object) -> Object:
        columns = columns_of(self.resource)
        return {
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": [column.definition() for column in columns],
            "rows": [self._row(columns, obj) for obj in items],
        }

    def _row(self, columns: tuple[Column, ...], obj: Object) -> Object:
        cells = [self._cell(column, obj) for column in columns]
        return {"cells": cells, **self._object(obj)}

    def _cell(self, column: Column, obj: Object) -> Any:
        value = column.read(obj) if column.read is not None else jsonpath(obj, column.path)
        if column.type == "date":
            return age(value, self.now()) if value else column.empty
        return column.empty if value is None else value

    def _object(self, obj: Object) -> Object:
        if self.include_object == "None":
            return {}
        if self.include_object == "Object":
            return {"object": obj}
        metadata = obj["metadata"]
        head = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        return {"object": {**head, "metadata": metadata}}


def columns_of(resource: Resource) -> tuple[Column, ...]:
    return COLUMNS.get(resource.plural, _DEFAULT)


def jsonpath(obj: Object, path: str) -> Any:
    found: Any = obj
    for part in path.strip(".").split("."):
        found = found.get(part) if isinstance(found, dict) else None
    return found


def age(text: str, now: datetime) -> str:
    """`5s`, `3m10s`, `2h`, `4d3h`: a duration as kubectl writes ages."""
    since = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return human(now.astimezone(UTC) - since)


def human(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 730:
        return f"{days}d"
    return _two(days // 365, "y", days % 365, "d")


def _two(big: int, big_unit: str, small: int, small_unit: str) -> str:
    return f"{big}{big_unit}{small}{small_unit}" if small else f"{big}{big_unit}"
