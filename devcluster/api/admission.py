"""From what a client sent to what may be stored: identity, structure, names, defaults."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

from devcluster.api.defaults import fill_defaults
from devcluster.errors import BadRequest, Cause, Invalid
from devcluster.objects import Object
from devcluster.resources import CONFIGMAPS, EVENTS_V1, NAMESPACES, SECRETS, SERVICES, Resource
from devcluster.schemas.check import Checked, check

_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
_LABEL_1123 = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
_LABEL_1035 = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")
_LABEL_VALUE = re.compile(r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$")
_LABEL_KEY = re.compile(r"^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$")
_DATA_LIMIT_BYTES = 1024 * 1024
_ANNOTATIONS_LIMIT_BYTES = 256 * 1024


def identify(resource: Resource, body: Any, namespace: str, name: str) -> Object:
    """The body as an object of `resource`, with the path's namespace and name.

    BadRequest when they disagree.
    """
    if not isinstance(body, dict):
        raise BadRequest("the body of the request must be one object")
    if resource.custom and not body.get("kind"):
        raise BadRequest(f"Object 'Kind' is missing in '{json.dumps(body)[:200]}'")
    kind = body.get("kind") or resource.kind
    version = body.get("apiVersion") or resource.api_version
    if kind != resource.kind:
        raise BadRequest(
            f'{kind} in version "{version}" cannot be handled as a {resource.kind}: '
            f"no kind {kind!r} is served at this path"
        )
    if version != resource.api_version:
        raise BadRequest(
            f"the API version in the data ({version}) does not match the expected API version "
            f"({resource.api_version})"
        )
    metadata = body.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise BadRequest(_cannot_handle(resource, "metadata must be an object"))
    metadata = dict(metadata or {})
    if resource.namespaced:
        if (metadata.get("namespace") or namespace) != namespace:
            raise BadRequest(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = namespace
    if name:
        if (metadata.get("name") or name) != name:
            raise BadRequest(
                f"the name of the object ({metadata['name']}) does not match the name on the URL ({name})"
            )
        metadata["name"] = name
    return {**body, "apiVersion": version, "kind": kind, "metadata": metadata}


def admit(
    resource: Resource, obj: Object, old: Object | None, field_validation: str
) -> tuple[Object, list[str]]:
    """Check and default an identified object; returns it and the warnings to send along.

    Unknown fields: Strict refuses (400), Warn prunes and warns, Ignore prunes. Wrong types are 422
    for custom resources and 400 for built-in ones, whose decoder fails first.
    """
    found = check(schema_name(resource), obj, old, custom=resource.custom)
    warnings = [f'unknown field "{path}"' for path in found.unknown]
    if found.unknown and field_validation == "Strict":
        unknown = ", ".join(warnings)
        raise BadRequest(_cannot_handle(resource, f"strict decoding error: {unknown}"))
    if found.is_type_wrong and not resource.custom:
        first = next(c for c in found.causes if c.reason == "FieldValueTypeInvalid")
        raise BadRequest(_cannot_handle(resource, f"json: cannot unmarshal: {first.message}"))
    causes = found.causes or _check_metadata(resource, found.value)
    name = found.value["metadata"].get("name", "")
    if causes:
        raise Invalid(resource, name, causes)
    if resource in (SECRETS, CONFIGMAPS):
        _check_data(resource, found.value)
    fill_defaults(resource, found.value)
    warnings = warnings if field_validation == "Warn" else []
    return found.value, warnings + found.not_evaluated


def check_only(resource: Resource, obj: Object) -> Checked:
    """Structure alone, for who words the refusal differently (server-side apply)."""
    return check(schema_name(resource), obj, None, custom=resource.custom)


def schema_name(resource: Resource) -> str:
    return "EventV1" if resource is EVENTS_V1 else resource.kind


def _cannot_handle(resource: Resource, why: str) -> str:
    kind = resource.kind
    return f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}'


def _check_metadata(resource: Resource, obj: Object) -> list[Cause]:
    metadata = obj["metadata"]
    causes = []
    name = metadata.get("name") or ""
    pattern, words = _SUBDOMAIN, "a lowercase RFC 1123 subdomain"
    limit = 253
    if resource is SERVICES:
        pattern, words, limit = _LABEL_1035, "a DNS-1035 label", 63
    elif resource is NAMESPACES:
        pattern, words, limit = _LABEL_1123, "a lowercase RFC 1123 label", 63
    if name and not pattern.match(name):
        text = f"{words} must match the regex '{pattern.pattern.strip('^$')}'"
        causes.append(Cause("metadata.name", f"Invalid value: {json.dumps(name)}: {text}"))
    if len(name) > limit:
        text = f"must be no more than {limit} characters"
        causes.append(Cause("metadata.name", f"Invalid value: {json.dumps(name)}: {text}"))
    for key, value in (metadata.get("labels") or {}).items():
        causes += _check_label(key, value)
    annotations = metadata.get("annotations") or {}
    size = sum(len(k.encode()) + len(v.encode()) for k, v in annotations.items())
    for key in annotations:
        if not _is_qualified_key(key.lower()):
            text = f"Invalid value: {json.dumps(key)}: name part must consist of alphanumerics"
            causes.append(Cause("metadata.annotations", text))
    if size > _ANNOTATIONS_LIMIT_BYTES:
        text = f"Too long: may not be more than {_ANNOTATIONS_LIMIT_BYTES} bytes"
        causes.append(Cause("metadata.annotations", text, "FieldValueTooLong"))
    return causes


def _check_label(key: str, value: str) -> list[Cause]:
    causes = []
    if not _is_qualified_key(key):
        text = "name part must be non-empty and consist of alphanumerics, '-', '_' or '.'"
        causes.append(Cause("metadata.labels", f"Invalid value: {json.dumps(key)}: {text}"))
    if len(value) > 63:
        text = f"Invalid value: {json.dumps(value)}: must be no more than 63 characters"
        causes.append(Cause("metadata.labels", text))
    elif not _LABEL_VALUE.match(value):
        text = (
            "a valid label must be an empty string or consist of alphanumeric characters, "
            "'-', '_' or '.', and must start and end with an alphanumeric character"
        )
        causes.append(Cause("metadata.labels", f"Invalid value: {json.dumps(value)}: {text}"))
    return causes


def _is_qualified_key(key: str) -> bool:
    prefix, _, name = key.rpartition("/")
    if "/" in key and (not _SUBDOMAIN.match(prefix) or len(prefix) > 253):
        return False
    return len(name) <= 63 and bool(_LABEL_KEY.match(name))


def _check_data(resource: Resource, obj: Object) -> None:
    """Base64 where it must be, and the size limit that etcd's own limit imposes."""
    encoded = "data" if resource is SECRETS else "binaryData"
    size = 0
    for key, value in (obj.get(encoded) or {}).items():
        try:
            size += len(base64.b64decode(value, validate=True))
        except (binascii.Error, ValueError) as exc:
            why = f"illegal base64 data at {encoded}.{key}: {exc}"
            raise BadRequest(_cannot_handle(resource, why)) from exc
    plain = (obj.get("data") or {}) if resource is CONFIGMAPS else (obj.get("stringData") or {})
    size += sum(len(value.encode()) for value in plain.values())
    if size > _DATA_LIMIT_BYTES:
        text = f"Too long: may not be more than {_DATA_LIMIT_BYTES} bytes"
        cause = Cause("data" if resource is SECRETS else "", text, "FieldValueTooLong")
        raise Invalid(resource, obj["metadata"].get("name", ""), [cause])
