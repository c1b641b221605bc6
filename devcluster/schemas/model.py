"""The type files read into types.

The one place that knows their notation (described in meta.toml).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

FILES = ("meta", "pod", "core", "events", "ray", "gke")
SCALARS = frozenset({"string", "bool", "int32", "int64", "number", "quantity", "intstr", "time"})
ABSENT: Any = object()


@dataclass(frozen=True)
class Type:
    """`form` is scalar, any, struct, list or map.

    `name` a scalar's or a struct's, `item` a list's or map's.
    """

    form: str
    name: str = ""
    item: Type | None = None


@dataclass(frozen=True)
class Field:
    type: Type
    required: bool = False
    default: Any = ABSENT
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    keys: tuple[str, ...] = ()
    atomic: bool = False
    is_set: bool = False


@dataclass(frozen=True)
class Rule:
    """A CEL rule of a struct (`field` empty) or of one of its fields."""

    field: str
    rule: str
    message: str

    @property
    def is_transition(self) -> bool:
        return "oldSelf" in self.rule


Struct = Mapping[str, Field]


@cache
def structs() -> Mapping[str, Struct]:
    """Every struct type by name. ValueError when a file uses a type that no file defines."""
    found: dict[str, Struct] = {}
    for file in FILES:
        for name, lines in _read(file).items():
            if name in found:
                raise ValueError(f"{file}.toml: type {name} is defined twice")
            found[name] = {field: _parse_field(text) for field, text in lines.items()}
    for name, struct in found.items():
        for field_name, field in struct.items():
            innermost = field.type
            while innermost.item is not None:
                innermost = innermost.item
            if innermost.form == "struct" and innermost.name not in found:
                raise ValueError(f"{name}.{field_name}: no type {innermost.name}")
    return found


@cache
def rules(struct: str) -> tuple[Rule, ...]:
    found = _read("rules").get(struct, {})
    return tuple(
        Rule("" if field == "self" else field, row["rule"], row["message"])
        for field, rows in found.items()
        for row in rows
    )


@cache
def _read(file: str) -> dict[str, Any]:
    text = resources.files(__package__).joinpath(f"{file}.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _parse_field(text: str) -> Field:
    name, *attributes = (part.strip() for part in text.split(";"))
    values: dict[str, Any] = {"type": _parse_type(name)}
    for attribute in attributes:
        word, _, rest = attribute.partition(" ")
        match word:
            case "required":
                values["required"] = True
            case "default":
                values["default"] = json.loads(rest)
            case "one":
                values["choices"] = tuple(rest.removeprefix("of ").split())
            case "min":
                values["minimum"] = int(rest)
            case "by":
                values["keys"] = tuple(rest.split("+"))
            case "atomic":
                values["atomic"] = True
            case "set":
                values["is_set"] = True
            case _:
                raise ValueError(f"unknown attribute {attribute!r} in {text!r}")
    return Field(**values)


def _parse_type(text: str) -> Type:
    if found := re.fullmatch(r"\[(.+)\]", text):
        return Type("list", item=_parse_type(found[1]))
    if found := re.fullmatch(r"\{(.+)\}", text):
        return Type("map", item=_parse_type(found[1]))
    if text == "any":
        return Type("any")
    return Type("scalar" if text in SCALARS else "struct", name=text)
