"""The few protobuf bodies that kubectl sends: `create namespace`, `configmap`, `secret`,
`serviceaccount`, `auth can-i`.

Newer kubectl has no JSON fallback for these typed calls. Answers are always JSON, which it does
accept. Other kinds are refused (415), as an API server refuses protobuf for custom resources.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"


@dataclass(frozen=True)
class _Message:
    """Field number -> (JSON name, form).

    Forms: string, strings, bool, int, map, bytes-map, or another message.
    """

    fields: Mapping[int, tuple[str, Any]]


_META = _Message(
    {
        1: ("name", "string"),
        2: ("generateName", "string"),
        3: ("namespace", "string"),
        5: ("uid", "string"),
        6: ("resourceVersion", "string"),
        11: ("labels", "map"),
        12: ("annotations", "map"),
        14: ("finalizers", "strings"),
    }
)
_RESOURCE_ATTRIBUTES = _Message(
    {
        1: ("namespace", "string"),
        2: ("verb", "string"),
        3: ("group", "string"),
        4: ("version", "string"),
        5: ("resource", "string"),
        6: ("subresource", "string"),
        7: ("name", "string"),
    }
)
_NON_RESOURCE = _Message({1: ("path", "string"), 2: ("verb", "string")})
_REVIEW = _Message(
    {1: ("resourceAttributes", _RESOURCE_ATTRIBUTES), 2: ("nonResourceAttributes", _NON_RESOURCE)}
)
_KINDS: dict[str, _Message] = {
    "Namespace": _Message({1: ("metadata", _META)}),
    "ServiceAccount": _Message({1: ("metadata", _META)}),
    "ConfigMap": _Message(
        {
            1: ("metadata", _META),
            2: ("data", "map"),
            3: ("binaryData", "bytes-map"),
            4: ("immutable", "bool"),
        }
    ),
    "Secret": _Message(
        {
            1: ("metadata", _META),
            2: ("data", "bytes-map"),
            3: ("type", "string"),
            4: ("stringData", "map"),
            5: ("immutable", "bool"),
        }
    ),
    "SelfSubjectAccessReview": _Message({1: ("metadata", _META), 2: ("spec", _REVIEW)}),
}


def decode(raw: bytes) -> dict[str, Any] | None:
    """The body as JSON data, None when it is not one of the kinds known here."""
    if not raw.startswith(_MAGIC):
        return None
    envelope = dict(_fields(raw[len(_MAGIC) :]))
    type_meta = dict(_fields(_bytes(envelope.get(1))))
    api_version, kind = _text(type_meta.get(1, b"")), _text(type_meta.get(2, b""))
    if kind not in _KINDS:
        return None
    return {
        "apiVersion": api_version,
        "kind": kind,
        **_read(_bytes(envelope.get(2)), _KINDS[kind]),
    }


def _read(raw: bytes, message: _Message) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, value in _fields(raw):
        if number not in message.fields:
            continue
        name, form = message.fields[number]
        if isinstance(form, _Message):
            found[name] = _read(_bytes(value), form)
        elif form == "string":
            found[name] = _text(value)
        elif form == "strings":
            found.setdefault(name, []).append(_text(value))
        elif form == "bool":
            found[name] = bool(value)
        else:
            entry = dict(_fields(_bytes(value)))
            content = _bytes(entry.get(2))
            is_text = form == "map"
            shown = content.decode() if is_text else base64.b64encode(content).decode()
            found.setdefault(name, {})[_text(entry.get(1, b""))] = shown
    # Go writes every string, the empty ones too; JSON clients leave those out.
    return {name: value for name, value in found.items() if value not in ("", None)}


def _fields(raw: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Wire format: varints and length-delimited values; fixed-width ones are passed over."""
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == 0:
            value, at = _varint(raw, at)
            yield number, value
        elif wire_type == 2:
            length, at = _varint(raw, at)
            yield number, raw[at : at + length]
            at += length
        elif wire_type in (1, 5):
            at += 8 if wire_type == 1 else 4
        else:
            raise ValueError(f"protobuf wire type {wire_type} is not supported")


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
        shift += 7


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()
