"""JSON merge patch (RFC 7386), JSON patch (RFC 6902) and the strategic merge patch of built-in
kinds.
"""

from __future__ import annotations

import json
from typing import Any

from devcluster.errors import BadRequest, StoreError
from devcluster.objects import json_copy
from devcluster.schemas.model import Field, Struct, Type, structs

MERGE = "application/merge-patch+json"
JSON = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def merge(current: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return json_copy(patch)
    merged = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def strategic(current: Any, patch: Any, type_: Type) -> Any:
    """Merge where lists with a key are merged item by item.

    `$patch` and `$deleteFromPrimitiveList` directives work.
    """
    if not isinstance(patch, dict):
        return json_copy(patch)
    if patch.get("$patch") == "replace":
        return {key: json_copy(value) for key, value in patch.items() if key != "$patch"}
    merged = dict(current) if isinstance(current, dict) else {}
    struct: Struct = structs()[type_.name] if type_.form == "struct" else {}
    for key, value in patch.items():
        if key.startswith("$deleteFromPrimitiveList/"):
            target = key.partition("/")[2]
            merged[target] = [v for v in merged.get(target, []) if v not in value]
        elif key.startswith("$"):
            continue
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = _strategic_field(merged.get(key), value, struct.get(key))
    return merged


def _strategic_field(current: Any, patch: Any, field: Field | None) -> Any:
    if field is None:
        return merge(current, patch)
    if isinstance(patch, list) and field.is_set:
        return [*(current or []), *(item for item in patch if item not in (current or []))]
    if isinstance(patch, list) and field.keys:
        return _strategic_list(current or [], patch, field.keys[0], field.type.item or Type("any"))
    if field.type.form == "any":
        return merge(current, patch)
    return strategic(current, patch, field.type)


def _strategic_list(current: list[Any], patch: list[Any], key: str, item: Type) -> list[Any]:
    if any(each.get("$patch") == "replace" for each in patch):
        return [json_copy(each) for each in patch if "$patch" not in each]
    merged = list(current)
    for each in patch:
        at = next((i for i, have in enumerate(merged) if have.get(key) == each.get(key)), None)
        if each.get("$patch") == "delete":
            merged = [have for have in merged if have.get(key) != each.get(key)]
        elif at is None:
            merged.append(strategic({}, each, item))
        else:
            merged[at] = strategic(merged[at], each, item)
    return merged


def json_patch(current: Any, operations: Any) -> Any:
    """BadRequest for a malformed patch.

    422 when it does not fit the object (a failed test, a missing path).
    """
    if not isinstance(operations, list):
        raise BadRequest("a JSON patch is a list of operations")
    document = {"": json_copy(current)}
    for operation in operations:
        if not isinstance(operation, dict) or "op" not in operation or "path" not in operation:
            raise BadRequest(f"not a JSON patch operation: {json.dumps(operation)}")
        try:
            _operate(document, operation)
        except (KeyError, IndexError, ValueError, TypeError) as exc:
            message = f"the server rejected our request due to an error in our request: {exc}"
            raise StoreError(422, "Invalid", message) from exc
    return document[""]


def _operate(document: dict[str, Any], operation: dict[str, Any]) -> None:
    path = _pointer(operation["path"])
    match operation["op"]:
        case "add":
            _add(document, path, json_copy(operation["value"]))
        case "remove":
            _take(document, path)
        case "replace":
            _take(document, path)
            _add(document, path, json_copy(operation["value"]))
        case "move":
            _add(document, path, _take(document, _pointer(operation["from"])))
        case "copy":
            _add(document, path, json_copy(_find(document, _pointer(operation["from"]))))
        case "test":
            if _find(document, path) != operation.get("value"):
                raise ValueError(f"testing value {operation['path']} failed")
        case other:
            raise BadRequest(f"Unexpected kind: {other}")


def _pointer(text: str) -> list[str]:
    """RFC 6901.

    The document itself is the value at key "" of a wrapper, so that it has a parent too.
    """
    return [part.replace("~1", "/").replace("~0", "~") for part in text.split("/")]


def _find(document: Any, path: list[str]) -> Any:
    found = document
    for part in path:
        found = found[_index(found, part)] if isinstance(found, list) else found[part]
    return found


def _add(document: Any, path: list[str], value: Any) -> None:
    parent, last = _find(document, path[:-1]), path[-1]
    if isinstance(parent, list):
        index = len(parent) if last == "-" else _index(parent, last, inserting=True)
        parent.insert(index, value)
    else:
        parent[last] = value


def _take(document: Any, path: list[str]) -> Any:
    parent, last = _find(document, path[:-1]), path[-1]
    return parent.pop(_index(parent, last)) if isinstance(parent, list) else parent.pop(last)


def _index(items: list[Any], text: str, *, inserting: bool = False) -> int:
    index = int(text)
    if not 0 <= index < len(items) + inserting:
        raise IndexError(f"index {text} out of bounds")
    return index
