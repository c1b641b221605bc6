"""Server-side apply.

Merge a manager's intent into the live object, or say who else owns a field.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from devcluster.api import managed_fields, ownership
from devcluster.api.admission import check_only, schema_name
from devcluster.api.managed_fields import APPLY, Entry
from devcluster.api.ownership import Path
from devcluster.errors import ApplyConflict, BadRequest, Cause, Invalid, StoreError
from devcluster.objects import Object, copied, json_copy, timestamp
from devcluster.resources import Resource
from devcluster.schemas.model import ABSENT, Field, Type


def apply(
    resource: Resource,
    live: Object | None,
    config: Object,
    *,
    manager: str,
    force: bool,
    subresource: str,
    now: datetime,
) -> Object:
    """The object that applying `config` leaves, with its managedFields; admission comes after.

    ApplyConflict when another manager owns a field with another value and `force` is not given.
    """
    check_request(resource, config, manager)
    kind = schema_name(resource)
    wanted = ownership.leaves(kind, config)
    if resource.has_status:
        wants_status = subresource == "status"
        wanted = {p: v for p, v in wanted.items() if (p[0] == "f:status") is wants_status}
    entries = managed_fields.read(live)
    own = next((e for e in entries if e.is_of(manager, APPLY, subresource)), None)
    if own is None:
        own = Entry(manager, APPLY, resource.api_version, subresource, timestamp(now))
        entries.append(own)
    others = [entry for entry in entries if entry is not own]
    if live is not None:
        _settle_conflicts(live, wanted, others, force=force)
    merged = copied(live) if live is not None else _bare(resource, config)
    _drop_given_up(merged, own.paths - wanted.keys(), wanted.keys() | _all_paths(others))
    intent = {
        "metadata": config["metadata"],
        **{k: v for k, v in config.items() if k in _tops(wanted)},
    }
    if "f:metadata" not in {path[0] for path in wanted}:
        intent["metadata"] = {}
    merged = copied(_merge(Field(Type("struct", kind)), merged, _without_server_fields(intent)))
    if own.paths != set(wanted):
        own.paths, own.time = set(wanted), timestamp(now)
    managed_fields.write(merged, entries)
    return merged


def check_request(resource: Resource, config: Object, manager: str) -> None:
    """What the API server refuses before it looks at the object.

    A wrong structure is a 500 there, and here.
    """
    if not manager:
        cause = Cause(
            "fieldManager", "Required value: is required for apply patch", "FieldValueRequired"
        )
        error = Invalid(resource, "", [cause])
        error.message = f'PatchOptions.meta.k8s.io "" is invalid: {cause.field}: {cause.message}'
        raise error
    if config["metadata"].get("managedFields"):
        raise BadRequest("metadata.managedFields must be nil")
    found = check_only(resource, config)
    if not found.unknown and not found.is_type_wrong:
        return
    if found.unknown:
        why = f".{found.unknown[0]}: field not declared in schema"
    else:
        cause = next(c for c in found.causes if c.reason == "FieldValueTypeInvalid")
        why = f".{cause.field}: {cause.message}"
    metadata = config["metadata"]
    where = "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part)
    what = f"{where}; {resource.api_version}, Kind={resource.kind}"
    raise StoreError(500, "", f"failed to create typed patch object ({what}): {why}")


def _settle_conflicts(
    live: Object, wanted: dict[Path, Any], others: list[Entry], *, force: bool
) -> None:
    causes, managers = [], []
    for path, value in wanted.items():
        if value is ABSENT or ownership.find(live, path) == value:
            continue
        for entry in others:
            if path not in entry.paths:
                continue
            if force:
                entry.paths.discard(path)
                continue
            who = f'"{entry.manager}" using {entry.api_version}'
            managers.append(who)
            text = f"conflict with {who}"
            causes.append(Cause(ownership.shown(path), text, "FieldManagerConflict"))
    if causes:
        raise ApplyConflict(causes, managers)


def _drop_given_up(merged: Object, given_up: set[Path], kept: set[Path]) -> None:
    """Remove what this manager owned and no longer wants, unless somebody else does."""
    for path in sorted(given_up, key=len, reverse=True):
        if not any(other[: len(path)] == path for other in kept):
            ownership.remove(merged, path)


def _merge(field: Field, live: Any, wanted: Any) -> Any:
    if field.is_set and isinstance(wanted, list) and isinstance(live, list):
        return [*live, *(item for item in wanted if item not in live)]
    if field.keys and isinstance(wanted, list) and isinstance(live, list):
        return _merge_keyed(field, live, wanted)
    is_granular = field.type.form in ("struct", "map") and not field.atomic
    if is_granular and isinstance(wanted, dict) and isinstance(live, dict):
        merged = dict(live)
        for key, value in wanted.items():
            merged[key] = _merge(ownership.child(field, key), live.get(key), value)
        return merged
    return json_copy(wanted)


def _merge_keyed(field: Field, live: list[Any], wanted: list[Any]) -> list[Any]:
    inner = Field(field.type.item or Type("any"))
    merged = list(live)
    steps = [ownership.key_step(field, item) for item in live]
    for item in wanted:
        step = ownership.key_step(field, item)
        if step in steps:
            at = steps.index(step)
            merged[at] = _merge(inner, merged[at], item)
        else:
            merged.append(json_copy(item))
            steps.append(step)
    return merged


def _bare(resource: Resource, config: Object) -> Object:
    metadata = config["metadata"]
    identity = {key: metadata[key] for key in ("name", "namespace") if key in metadata}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": identity}


def _tops(wanted: dict[Path, Any]) -> set[str]:
    return {path[0].removeprefix("f:") for path in wanted}


def _without_server_fields(intent: Object) -> Object:
    metadata = intent["metadata"]
    kept = ("labels", "annotations", "finalizers", "ownerReferences")
    return {**intent, "metadata": {key: metadata[key] for key in kept if key in metadata}}


def _all_paths(entries: list[Entry]) -> set[Path]:
    return set().union(*(entry.paths for entry in entries))
