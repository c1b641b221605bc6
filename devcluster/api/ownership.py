"""Which manager owns which fields: sets of paths, and their `fieldsV1` form in
metadata.managedFields.

A path is a tuple of steps as fieldsV1 spells them: `f:spec`, `k:{"name":"a"}`, `v:"x"`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from devcluster.objects import Object
from devcluster.schemas.model import ABSENT, Field, Struct, Type, structs

Path = tuple[str, ...]
_SERVER_FIELDS = frozenset(
    {
        "name",
        "namespace",
        "generateName",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "managedFields",
        "selfLink",
    }
)
_ANY = Field(Type("any"))


def leaves(kind: str, obj: Object) -> dict[Path, Any]:
    """Every ownable path of an object with its value.

    Identity and server fields belong to nobody.
    """
    metadata = {k: v for k, v in obj.get("metadata", {}).items() if k not in _SERVER_FIELDS}
    body = {k: v for k, v in obj.items() if k not in ("apiVersion", "kind", "metadata")}
    if metadata:
        body["metadata"] = metadata
    return dict(_walk(Field(Type("struct", kind)), body, ())) if body else {}


def _walk(field: Field, value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    if field.is_set and isinstance(value, list):
        for item in value:
            yield (*path, _value_step(item)), item
    elif field.keys and isinstance(value, list):
        inner = Field(field.type.item or Type("any"))
        for item in value:
            step = key_step(field, item)
            yield (*path, step), ABSENT
            yield from _walk(inner, item, (*path, step))
    elif (
        isinstance(value, dict)
        and value
        and not field.atomic
        and field.type.form in ("struct", "map")
    ):
        for key, item in value.items():
            yield from _walk(child(field, key), item, (*path, f"f:{key}"))
    else:
        yield path, value


def child(field: Field, key: str) -> Field:
    """The field under a struct or map."""
    if field.type.form == "map":
        return Field(field.type.item or Type("any"))
    struct: Struct = structs().get(field.type.name, {})
    return struct.get(key, _ANY)


def key_step(field: Field, item: Any) -> str:
    """`k:{...}` with the defaults of missing key fields, as the API server completes them."""
    struct: Struct = structs().get((field.type.item or Type("any")).name, {})
    values = {}
    for key in field.keys:
        default = struct[key].default if key in struct else ABSENT
        values[key] = item.get(key, None if default is ABSENT else default)
    return "k:" + json.dumps(values, separators=(",", ":"), sort_keys=True)


def _value_step(item: Any) -> str:
    return "v:" + json.dumps(item, separators=(",", ":"))


def to_fields_v1(paths: Iterable[Path]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    for path in sorted(paths):
        node = root
        for step in path:
            node = node.setdefault(step, {})
        if path and path[-1].startswith("k:"):
            node["."] = {}
    return root


def from_fields_v1(fields: dict[str, Any]) -> set[Path]:
    return set(_unfold(fields, ()))


def _unfold(node: dict[str, Any], path: Path) -> Iterator[Path]:
    if "." in node or (not node and path):
        yield path
    for step, inner in node.items():
        if step != ".":
            yield from _unfold(inner, (*path, step))


def find(obj: Any, path: Path) -> Any:
    """The value at a path, ABSENT when there is none.

    List keys without a value match their default.
    """
    found = obj
    for step in path:
        found = _step(found, step)
        if found is ABSENT:
            return ABSENT
    return found


def _step(value: Any, step: str) -> Any:
    form, _, text = step.partition(":")
    if form == "f":
        return value.get(text, ABSENT) if isinstance(value, dict) else ABSENT
    if not isinstance(value, list):
        return ABSENT
    wanted = json.loads(text)
    if form == "v":
        return wanted if wanted in value else ABSENT
    return next((item for item in value if matches_key(item, wanted)), ABSENT)


def matches_key(item: Any, wanted: dict[str, Any]) -> bool:
    """An item that leaves a key field out matches by the others.

    A port's protocol is nearly always left out.
    """
    return all(item.get(key, value) == value for key, value in wanted.items())


def remove(obj: Any, path: Path) -> None:
    """Take the value at a path out, in place, and then maps that became empty by it."""
    parents = [obj]
    for step in path[:-1]:
        found = _step(parents[-1], step)
        if found is ABSENT:
            return
        parents.append(found)
    parent, last = parents[-1], path[-1]
    if last.startswith("f:") and isinstance(parent, dict):
        parent.pop(last[2:], None)
    elif isinstance(parent, list):
        found = _step(parent, last)
        if found is not ABSENT:
            parent.remove(found)
    if len(path) > 2 and not parent:
        remove(obj, path[:-1])


def shown(path: Path) -> str:
    """`.spec.containers[name="a"].image`, as conflicts name a field."""
    text = ""
    for step in path:
        form, _, rest = step.partition(":")
        if form == "f":
            text += f".{rest}"
        elif form == "k":
            pairs = ",".join(f"{k}={json.dumps(v)}" for k, v in json.loads(rest).items())
            text += f"[{pairs}]"
        else:
            text += f"[={rest}]"
    return text
