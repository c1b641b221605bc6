"""The shape of a spec: which fields there are, of which type, within which bounds (fields.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from slipway.class_rules.reading import Place, Subject, shown, whole_number
from slipway.class_rules.rule import SCHEMA, Judge, Problem, error, warning

_FILE = Path(__file__).parent / "fields.toml"

_WORDS = {"text": "text", "int": "a whole number", "bool": "true or false"}

# The kind of a problem, which is the id of its rule, beside where and what.
_Problem = tuple[str, str, str]
Bounds = Mapping[str, Any]


@cache
def tables() -> Mapping[str, Mapping[str, Bounds]]:
    """Every mapping of the spec by its name, its fields with their types and bounds."""
    read = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    return {
        name: {key: {"type": text} if isinstance(text, str) else text for key, text in rows.items()}
        for name, rows in read.items()
    }


def _walk(bounds: Bounds, place: Place) -> Iterator[_Problem]:
    """Everything that is wrong with a value that is there, and with what it holds."""
    kind, value = bounds["type"], place.value
    if kind.startswith("["):
        if not isinstance(value, list | tuple):
            yield _wrong_type("a list", place)
            return
        yield from _wrong_length(bounds, len(value), "entries", place)
        each = {key.removeprefix("each_"): v for key, v in bounds.items() if key[:5] == "each_"}
        for item in place.items():
            yield from _walk({**each, "type": kind[1:-1]}, item)
    elif kind.startswith("{"):
        if not isinstance(value, Mapping):
            yield _wrong_type("a mapping", place)
            return
        yield from _wrong_length(bounds, len(value), "entries", place)
        for _key, item in place.entries():
            yield from _walk({"type": kind[1:-1]}, item)
    elif kind in _WORDS:
        yield from _scalar(kind, bounds, place)
    elif isinstance(value, Mapping):
        yield from _wrong_length(bounds, len(value), "fields", place)
        yield from _mapping(kind, place)
    else:
        yield _wrong_type("a mapping", place)


def _mapping(name: str, place: Place) -> Iterator[_Problem]:
    fields = tables()[name]
    for key, item in place.entries():
        if key not in fields:
            text = (
                f"GKE's ComputeClass has no field {shown(key)} here, so GKE drops it or refuses the class. "
                "Look for a slip of the pen, or take it away."
            )
            yield "unknown-field", item.path, text
        elif item.value is not None:
            yield from _walk(fields[key], item)
    for key, bounds in fields.items():
        if bounds.get("required") and not place.has(key):
            where = f"{place.path} has" if place.path else "The class has"
            yield "missing-field", place.at(key).path, f"{where} no {key}, and needs one. Add it."


def _scalar(kind: str, bounds: Bounds, place: Place) -> Iterator[_Problem]:
    value = place.value
    if kind == "bool":
        if not isinstance(value, bool):
            yield _wrong_type(_WORDS[kind], place)
        return
    if kind == "text":
        if not isinstance(value, str):
            yield _wrong_type(_WORDS[kind], place)
            return
        yield from _wrong_length(bounds, len(value), "characters", place)
        if "like" in bounds and not re.search(bounds["like"], value):
            text = f"{place.path} is {shown(value)}, which GKE cannot read. Write it so that it fits {bounds['like']}."
            yield "wrong-form", place.path, text
    else:
        number = whole_number(value)
        if number is None:
            yield _wrong_type(_WORDS[kind], place)
            return
        yield from _out_of_range(bounds, number, place)
        value = number
    if "choices" in bounds and value not in bounds["choices"]:
        offers = ", ".join(str(choice) for choice in bounds["choices"])
        yield "no-choice", place.path, f"{place.path} is {shown(value)}. Choose one of {offers}."


def _wrong_type(wanted: str, place: Place) -> _Problem:
    where = place.path or "The spec"
    return "wrong-type", place.path, f"{where} is {shown(place.value)}, and must be {wanted}."


def _wrong_length(bounds: Bounds, length: int, unit: str, place: Place) -> Iterator[_Problem]:
    least, most = bounds.get("shortest", 0), bounds.get("longest", length)
    if length < least:
        text = f"{place.path} has {length} {unit}. Give it at least {least}, or leave it out."
        yield "wrong-length", place.path, text
    elif length > most:
        text = f"{place.path} has {length} {unit}, and GKE takes {most} at most. Make it shorter."
        yield "wrong-length", place.path, text


def _out_of_range(bounds: Bounds, number: int, place: Place) -> Iterator[_Problem]:
    low, high = bounds.get("min"), bounds.get("max")
    if (low is not None and number < low) or (high is not None and number > high):
        allowed = f"from {low} to {high}" if high is not None else f"{low} or more"
        yield "out-of-range", place.path, f"{place.path} is {number}. Give it {allowed}."


def _problems(kind: str) -> Judge:
    def judge(subject: Subject) -> Iterator[Problem]:
        for found, path, message in _walk({"type": "Spec"}, subject.spec):
            if found == kind:
                yield path, message

    return judge


RULES = (
    error("wrong-type", SCHEMA, "Every field has its type.", _problems("wrong-type")),
    error("missing-field", SCHEMA, "What GKE needs is there.", _problems("missing-field")),
    error("no-choice", SCHEMA, "A field with choices has one of them.", _problems("no-choice")),
    error("out-of-range", SCHEMA, "Numbers stay within their bounds.", _problems("out-of-range")),
    error("wrong-length", SCHEMA, "Texts and lists keep their length.", _problems("wrong-length")),
    error(
        "wrong-form", SCHEMA, "Durations, sizes and keys are well formed.", _problems("wrong-form")
    ),
    warning(
        "unknown-field", SCHEMA, "Every field is one that GKE knows.", _problems("unknown-field")
    ),
)
