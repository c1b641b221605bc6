"""One walk over an object: what is wrong with it, what its type does not know, and the object with
defaults.

Wording follows the API server's, so that a message seen here can be searched for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from devcluster.errors import Cause
from devcluster.objects import json_copy
from devcluster.schemas import cel_rules
from devcluster.schemas.model import ABSENT, Field, Struct, Type, structs

_QUANTITY = re.compile(
    r"^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?(\d+(\.\d*)?|\.\d+))?$"
)
_TIME = re.compile(r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$")
_BOUNDS = {"int32": 2**31, "int64": 2**63}
_OPENAPI_NAME = {
    "bool": "boolean",
    "int32": "integer",
    "int64": "integer",
    "time": "string",
    "struct": "object",
    "map": "object",
    "list": "array",
}
# Fields that a null leaves out instead of making invalid: generators write `creationTimestamp:
# null`.
_FORGIVING = frozenset({"ObjectMeta", "TemplateMeta"})


@dataclass
class Checked:
    """`value` is pruned of what `unknown` names and has every default.

    With `causes` it must not be stored.
    """

    value: Any = None
    causes: list[Cause] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    not_evaluated: list[str] = field(default_factory=list)
    is_type_wrong: bool = False


def check(
    kind: str, obj: Mapping[str, Any], old: Mapping[str, Any] | None, *, custom: bool
) -> Checked:
    """Check a whole object of struct `kind`. `old` is what it replaces, for transition rules.

    `custom`: as a custom resource, where null is a value and list keys must be distinct.
    """
    walk = _Walk(custom)
    struct = structs()[kind]
    body = {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}
    kept = walk.struct(kind, struct, body, old, "")
    head = {key: obj[key] for key in ("apiVersion", "kind") if key in obj}
    walk.found.value = {**head, **kept}
    return walk.found


class _Walk:
    def __init__(self, custom: bool) -> None:
        self.custom = custom
        self.found = Checked()

    def struct(self, name: str, struct: Struct, value: Any, old: Any, path: str) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        before = old if isinstance(old, Mapping) else {}
        drops_null = not self.custom or name in _FORGIVING
        for key, item in value.items():
            at = f"{path}.{key}" if path else key
            if key not in struct:
                self.found.unknown.append(at)
            elif item is None and (drops_null or struct[key].default is not ABSENT):
                continue
            else:
                kept[key] = self.field(struct[key], item, before.get(key), at)
        for key, known in struct.items():
            if key in kept:
                continue
            at = f"{path}.{key}" if path else key
            if known.default is not ABSENT:
                kept[key] = json_copy(known.default)
            elif known.required:
                self.wrong(at, "Required value", "FieldValueRequired")
        if not self.found.causes:
            results = cel_rules.evaluate(name, kept, old, path)
            self.found.causes += results.causes
            self.found.not_evaluated += results.not_evaluated
        return kept

    def field(self, known: Field, value: Any, old: Any, path: str) -> Any:
        kept = self.typed(known.type, value, old, path)
        if known.choices and isinstance(kept, str) and kept not in known.choices:
            supported = ", ".join(json.dumps(choice) for choice in known.choices)
            text = f"Unsupported value: {json.dumps(kept)}: supported values: {supported}"
            self.wrong(path, text, "FieldValueNotSupported")
        if known.minimum is not None and isinstance(kept, int) and kept < known.minimum:
            text = f"{path} in body should be greater than or equal to {known.minimum}"
            self.wrong(path, f"Invalid value: {kept}: {text}")
        if self.custom and (known.keys or known.is_set) and isinstance(kept, list):
            self.distinct(known, kept, path)
        return kept

    def typed(self, type_: Type, value: Any, old: Any, path: str) -> Any:
        if type_.form == "any":
            return value
        if type_.form == "scalar":
            return self.scalar(type_.name, value, path)
        item = type_.item or Type("any")
        if type_.form == "list" and isinstance(value, list):
            return [self.typed(item, each, None, f"{path}[{i}]") for i, each in enumerate(value)]
        if type_.form == "map" and isinstance(value, dict):
            return {k: self.typed(item, each, None, f"{path}.{k}") for k, each in value.items()}
        if type_.form == "struct" and isinstance(value, dict):
            return self.struct(type_.name, structs()[type_.name], value, old, path)
        return self.wrong_type(_OPENAPI_NAME[type_.form], value, path)

    def scalar(self, name: str, value: Any, path: str) -> Any:
        is_int = isinstance(value, int) and not isinstance(value, bool)
        is_number = is_int or isinstance(value, float)
        match name:
            case "string" | "time":
                fits = isinstance(value, str)
            case "bool":
                fits = isinstance(value, bool)
            case "int32" | "int64":
                fits = is_int or (isinstance(value, float) and value.is_integer())
            case "number":
                fits = is_number
            case "quantity":
                fits = is_int or isinstance(value, str) or (is_number and not self.custom)
            case _:
                fits = is_int or isinstance(value, str)
        if not fits:
            return self.wrong_type(_OPENAPI_NAME.get(name, name), value, path)
        if name in _BOUNDS and not -_BOUNDS[name] <= value < _BOUNDS[name]:
            self.wrong(path, f"Invalid value: {value}: {path} in body must be of type {name}")
        if name == "quantity" and isinstance(value, str) and not _QUANTITY.match(value):
            text = f"{path} in body should match '{_QUANTITY.pattern}'"
            self.wrong(path, f"Invalid value: {json.dumps(value)}: {text}")
        if name == "time" and not _TIME.match(value):
            text = f"{path} in body must be of type date-time: {json.dumps(value)}"
            self.wrong(path, f"Invalid value: {json.dumps(value)}: {text}")
        return value

    def distinct(self, known: Field, items: list[Any], path: str) -> None:
        seen: list[Any] = []
        for index, item in enumerate(items):
            key = item
            if known.keys and isinstance(item, dict):
                key = {name: item.get(name) for name in known.keys}
            if key in seen:
                text = f"Duplicate value: {json.dumps(key, sort_keys=True)}"
                self.wrong(f"{path}[{index}]", text, "FieldValueDuplicate")
            seen.append(key)

    def wrong_type(self, wanted: str, value: Any, path: str) -> Any:
        self.found.is_type_wrong = True
        names = {"intstr": "integer,string", "quantity": "integer,string"}
        got = _type_name(value)
        text = f'{path} in body must be of type {names.get(wanted, wanted)}: "{got}"'
        self.wrong(path, f'Invalid value: "{got}": {text}', "FieldValueTypeInvalid")
        return value

    def wrong(self, path: str, message: str, reason: str = "FieldValueInvalid") -> None:
        self.found.causes.append(Cause(path, message, reason))


def _type_name(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
