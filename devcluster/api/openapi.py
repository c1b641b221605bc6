"""OpenAPI v3 from the type files.

Enough for `kubectl explain` and for kubectl to know that we validate.
"""

from __future__ import annotations

from typing import Any

from devcluster.api.admission import schema_name
from devcluster.api.discovery import groups, of_version
from devcluster.resources import Resource
from devcluster.schemas.model import ABSENT, Field, Type, structs

_PREFIX = "#/components/schemas/"
_SCALARS: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "number": {"type": "number"},
    "quantity": {"x-kubernetes-int-or-string": True, "type": "string"},
    "intstr": {"x-kubernetes-int-or-string": True, "type": "string"},
    "time": {"type": "string", "format": "date-time"},
}
_QUERY = ("dryRun", "fieldManager", "fieldValidation", "force")


def index() -> dict[str, Any]:
    """Where the document of each group and version is."""
    paths = ["api/v1", *(f"apis/{group}/v1" for group in groups())]
    return {"paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}"} for path in paths}}


def document(group: str, version: str) -> dict[str, Any] | None:
    """None for a version that is not served."""
    found = of_version(group, version)
    if not found:
        return None
    wanted: dict[str, dict[str, Any]] = {}
    paths: dict[str, Any] = {}
    for resource in found:
        _add_struct(schema_name(resource), wanted)
        wanted[schema_name(resource)]["x-kubernetes-group-version-kind"] = [_gvk(resource)]
        paths.update(_paths(resource))
    return {
        "openapi": "3.0.0",
        "info": {"title": "devcluster", "version": "v1"},
        "paths": paths,
        "components": {"schemas": wanted},
    }


def _paths(resource: Resource) -> dict[str, Any]:
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else "/api/v1"
    middle = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{root}{middle}/{resource.plural}"
    one = collection + "/{name}"
    return {
        collection: {"get": _operation(resource, "list"), "post": _operation(resource, "post")},
        one: {
            "get": _operation(resource, "get"),
            "put": _operation(resource, "put"),
            "patch": _operation(resource, "patch"),
            "delete": _operation(resource, "delete"),
        },
    }


def _operation(resource: Resource, action: str) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": f"{action}{resource.group.replace('.', '')}{resource.kind}",
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(resource),
    }
    if action in ("post", "put", "patch"):
        operation["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
            for name in _QUERY
        ]
        schema = {"$ref": _PREFIX + schema_name(resource)}
        operation["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return operation


def _gvk(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _add_struct(name: str, wanted: dict[str, dict[str, Any]]) -> None:
    """The struct and, first come, everything it refers to."""
    if name in wanted:
        return
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    wanted[name] = schema
    struct = structs()[name]
    if "metadata" in struct and struct["metadata"].type.name == "ObjectMeta":
        schema["properties"]["apiVersion"] = {"type": "string"}
        schema["properties"]["kind"] = {"type": "string"}
    for field_name, field in struct.items():
        schema["properties"][field_name] = _field_schema(field, wanted)
    required = [field_name for field_name, field in struct.items() if field.required]
    if required:
        schema["required"] = required


def _field_schema(field: Field, wanted: dict[str, dict[str, Any]]) -> dict[str, Any]:
    schema = _schema(field.type, wanted)
    if field.default is not ABSENT:
        schema["default"] = field.default
    if field.choices:
        schema["enum"] = list(field.choices)
    if field.minimum is not None:
        schema["minimum"] = field.minimum
    if field.keys:
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = list(field.keys)
        schema["x-kubernetes-patch-strategy"] = "merge"
        schema["x-kubernetes-patch-merge-key"] = field.keys[0]
    return schema


def _schema(type_: Type, wanted: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if type_.form == "scalar":
        return dict(_SCALARS[type_.name])
    if type_.form == "any":
        return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    if type_.form == "struct":
        _add_struct(type_.name, wanted)
        return {"allOf": [{"$ref": _PREFIX + type_.name}]}
    item = _schema(type_.item or Type("any"), wanted)
    if type_.form == "list":
        return {"type": "array", "items": item}
    return {"type": "object", "additionalProperties": item}
