"""Label and field selectors, as text in a query and as a test on an object."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from devcluster.errors import BadRequest
from devcluster.resources import Resource

Object = dict[str, Any]
Matcher = Callable[[Object], bool]

_SET = re.compile(r"^(?P<key>\S+)\s+(?P<op>in|notin)\s*\((?P<values>[^)]*)\)$")
_EQUAL = re.compile(r"^(?P<key>[^=!\s]+)\s*(?P<op>==|=|!=)\s*(?P<value>[^=!]*)$")
_KEY = re.compile(r"^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$")

# Custom resources can be selected by metadata only; built-in kinds add these.
_FIELDS: dict[str, tuple[str, ...]] = {
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "nodes": ("spec.unschedulable",),
    "namespaces": ("status.phase",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "jobs": ("status.successful",),
}


def labels(text: str | None) -> Matcher:
    """A test for `a=b,c!=d,e in (f,g),h,!i`. BadRequest when the text can't be read."""
    terms = [_label_term(term) for term in _split(text or "")]

    def matches(obj: Object) -> bool:
        have = obj.get("metadata", {}).get("labels") or {}
        return all(term(have) for term in terms)

    return matches


def _split(text: str) -> list[str]:
    """At commas outside parentheses."""
    parts = re.split(r",(?![^(]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def _label_term(term: str) -> Callable[[dict[str, str]], bool]:
    if found := _SET.match(term):
        key, values = found["key"], {value.strip() for value in found["values"].split(",")}
        if found["op"] == "in":
            return lambda have: have.get(key) in values
        return lambda have: have.get(key) not in values
    if found := _EQUAL.match(term):
        key, value = found["key"], found["value"].strip()
        if found["op"] == "!=":
            return lambda have: have.get(key) != value
        return lambda have: have.get(key) == value
    if term.startswith("!") and _KEY.match(term[1:].strip()):
        key = term[1:].strip()
        return lambda have: key not in have
    if _KEY.match(term):
        return lambda have: term in have
    raise BadRequest(f"unable to parse requirement: found '{term}', expected a label selector")


def fields(resource: Resource, text: str | None) -> Matcher:
    """A test for `metadata.name=x,status.phase!=Running`.

    BadRequest for a field the kind does not index.
    """
    terms = [_field_term(resource, term) for term in (text or "").split(",") if term.strip()]
    return lambda obj: all(term(obj) for term in terms)


def _field_term(resource: Resource, term: str) -> Matcher:
    found = _EQUAL.match(term.strip())
    if not found:
        raise BadRequest(f"invalid field selector: {term}")
    path, wanted = _canonical(found["key"]), found["value"].strip()
    known = () if resource.custom else _FIELDS.get(resource.plural, ())
    if path not in ("metadata.name", "metadata.namespace", *known):
        raise BadRequest(f"field label not supported: {found['key']}")
    negated = found["op"] == "!="
    return lambda obj: (_value(obj, path) == wanted) is not negated


def _canonical(path: str) -> str:
    """events.k8s.io calls the involved object `regarding`; the store keeps core/v1."""
    return (
        path.replace("regarding.", "involvedObject.", 1) if path.startswith("regarding.") else path
    )


def _value(obj: Object, path: str) -> str:
    if path == "source":
        path = "source.component"
    found: Any = obj
    for part in path.split("."):
        found = found.get(part) if isinstance(found, dict) else None
    if found is None:
        return "false" if path in ("spec.unschedulable", "spec.hostNetwork") else ""
    return str(found).lower() if isinstance(found, bool) else str(found)
