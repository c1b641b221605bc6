"""Create, read, replace, patch and delete: one function per verb, from a request to an object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from devcluster.api import managed_fields, patches
from devcluster.api.admission import admit, identify, schema_name
from devcluster.api.apply import apply
from devcluster.api.defaults import initial_status
from devcluster.api.event_versions import inward, outward, stored_as
from devcluster.api.request import Options, Target
from devcluster.errors import BadRequest, Cause, Conflict, Invalid, NotFound, StoreError
from devcluster.objects import Object, is_deleting
from devcluster.resources import NAMESPACES, Resource
from devcluster.schemas.model import Type
from devcluster.store import Store

_ATTEMPTS = 5  # a patch without a resourceVersion is retried when somebody else was quicker
_PROPAGATIONS = ("Background", "Foreground", "Orphan")


@dataclass(frozen=True)
class Reply:
    obj: Object
    status: int = 200
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Writer:
    """Who writes, for managedFields.

    The fieldManager of the query, else the program of the User-Agent.
    """

    options: Options
    user_agent: str

    @property
    def manager(self) -> str:
        return self.options.field_manager or self.user_agent.partition("/")[0] or "unknown"


def get(store: Store, target: Target) -> Reply:
    found = store.get(stored_as(target.resource), target.namespace, target.name)
    return Reply(outward(target.resource, found))


def create(store: Store, target: Target, body: Any, writer: Writer) -> Reply:
    resource = target.resource
    obj = identify(resource, body, target.namespace, "")
    if obj["metadata"].get("resourceVersion"):
        raise BadRequest("resourceVersion should not be set on objects to be created")
    admitted, warnings = admit(resource, obj, None, writer.options.field_validation)
    _start_status(resource, admitted)
    now = store.now()
    managed_fields.track(schema_name(resource), None, admitted, writer.manager, "", now)
    stored = store.create(
        stored_as(resource), inward(resource, admitted), dry_run=writer.options.dry_run
    )
    return Reply(outward(resource, stored), 201, tuple(warnings))


def _start_status(resource: Resource, obj: Object) -> None:
    """A client can't bring a status along: it is dropped, and some kinds get their first one."""
    if resource.has_status:
        obj.pop("status", None)
        status = initial_status(resource)
        if status is not None:
            obj["status"] = status


def replace(store: Store, target: Target, body: Any, writer: Writer) -> Reply:
    resource = target.resource
    obj = identify(resource, body, target.namespace, target.name)
    if resource.custom and not obj["metadata"].get("resourceVersion"):
        text = "Invalid value: 0: must be specified for an update"
        raise Invalid(resource, target.name, [Cause("metadata.resourceVersion", text)])
    current = outward(resource, store.get(stored_as(resource), target.namespace, target.name))
    return _store_update(store, target, current, obj, writer)


def _store_update(
    store: Store,
    target: Target,
    current: Object,
    obj: Object,
    writer: Writer,
    *,
    tracked: bool = False,
) -> Reply:
    """Admit and store what `current` becomes.

    `tracked`: its managedFields are already right (apply).
    """
    resource, subresource = target.resource, target.subresource
    admitted, warnings = admit(resource, obj, current, writer.options.field_validation)
    if tracked:
        admitted["metadata"]["managedFields"] = obj["metadata"].get("managedFields", [])
    else:
        kind, now = schema_name(resource), store.now()
        managed_fields.track(kind, current, admitted, writer.manager, subresource or "", now)
    _check_finalizers(resource, current, admitted)
    stored = store.update(
        stored_as(resource),
        inward(resource, admitted),
        subresource=subresource,
        dry_run=writer.options.dry_run,
    )
    return Reply(outward(resource, stored), 200, tuple(warnings))


def _check_finalizers(resource: Resource, current: Object, wanted: Object) -> None:
    before = current["metadata"].get("finalizers", [])
    added = [f for f in wanted["metadata"].get("finalizers", []) if f not in before]
    if is_deleting(current) and added:
        text = f"Forbidden: no new finalizers can be added if the object is being deleted, found {added}"
        cause = Cause("metadata.finalizers", text, "FieldValueForbidden")
        raise Invalid(resource, current["metadata"]["name"], [cause])


def patch(store: Store, target: Target, body: Any, media_type: str, writer: Writer) -> Reply:
    """Any of the four patch types; 415 for one that the kind does not take."""
    resource = target.resource
    accepted = [patches.JSON, patches.MERGE, patches.APPLY]
    if not resource.custom:
        accepted.insert(2, patches.STRATEGIC)
    if media_type not in accepted:
        message = (
            "the body of the request was in an unknown format - accepted media types include: "
        )
        raise StoreError(415, "UnsupportedMediaType", message + ", ".join(accepted))
    for attempt in range(_ATTEMPTS):
        try:
            if media_type == patches.APPLY:
                return _apply(store, target, body, writer)
            return _patch_once(store, target, body, media_type, writer)
        except Conflict:
            names_version = isinstance(body, dict) and (body.get("metadata") or {}).get(
                "resourceVersion"
            )
            if names_version or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _patch_once(store: Store, target: Target, body: Any, media_type: str, writer: Writer) -> Reply:
    resource = target.resource
    current = outward(resource, store.get(stored_as(resource), target.namespace, target.name))
    if media_type == patches.JSON:
        patched = patches.json_patch(current, body)
    elif not isinstance(body, dict):
        raise BadRequest("the patch must be an object")
    elif media_type == patches.MERGE:
        patched = patches.merge(current, body)
    else:
        patched = patches.strategic(current, body, Type("struct", schema_name(resource)))
    obj = identify(resource, patched, target.namespace, target.name)
    return _store_update(store, target, current, obj, writer)


def _apply(store: Store, target: Target, body: Any, writer: Writer) -> Reply:
    resource, options = target.resource, writer.options
    if not isinstance(body, dict) or not body.get("kind") or not body.get("apiVersion"):
        raise BadRequest("an apply patch must set kind and apiVersion")
    config = identify(resource, body, target.namespace, target.name)
    try:
        found = store.get(stored_as(resource), target.namespace, target.name)
        live: Object | None = outward(resource, found)
    except NotFound:
        if target.subresource:
            raise
        live = None
    merged = apply(
        resource,
        live,
        config,
        manager=options.field_manager,
        force=options.force,
        subresource=target.subresource or "",
        now=store.now(),
    )
    if live is not None:
        return _store_update(store, target, live, merged, writer, tracked=True)
    admitted, warnings = admit(resource, merged, None, options.field_validation)
    admitted["metadata"]["managedFields"] = merged["metadata"].get("managedFields", [])
    _start_status(resource, admitted)
    stored = store.create(stored_as(resource), inward(resource, admitted), dry_run=options.dry_run)
    return Reply(outward(resource, stored), 201, tuple(warnings))


@dataclass(frozen=True)
class DeleteOptions:
    grace_s: int | None = None
    propagation: str = "Background"
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False


def parse_delete_options(body: Any, query: dict[str, str]) -> DeleteOptions:
    """From the body or, as older clients do, from the query."""
    given = body if isinstance(body, dict) else {}
    grace = given.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
    orphans = given.get("orphanDependents", query.get("orphanDependents"))
    propagation = given.get("propagationPolicy") or query.get("propagationPolicy")
    if orphans is not None and propagation is None:
        propagation = "Orphan" if str(orphans).lower() == "true" else "Background"
    if propagation not in (None, *_PROPAGATIONS):
        raise BadRequest(f'propagationPolicy: Unsupported value: "{propagation}"')
    preconditions = given.get("preconditions") or {}
    dry_run = given.get("dryRun") or query.get("dryRun")
    return DeleteOptions(
        grace_s=None if grace is None else int(grace),
        propagation=propagation or "Background",
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
        dry_run=bool(dry_run),
    )


def delete(store: Store, target: Target, options: DeleteOptions) -> Reply:
    """A Success status when the object is gone, the object itself when something is still waited
    for.
    """
    resource = stored_as(target.resource)
    last = store.delete(
        resource,
        target.namespace,
        target.name,
        uid=options.uid,
        resource_version=options.resource_version,
        propagation=options.propagation,
        grace_period=options.grace_s,
        dry_run=options.dry_run,
    )
    try:
        store.get(resource, target.namespace, target.name)
    except NotFound:
        is_gone = True
    else:
        is_gone = options.dry_run
    if not is_gone or resource.plural == "pods" or resource is NAMESPACES:
        return Reply(outward(target.resource, last))
    return Reply(_success(target, last))


def _success(target: Target, last: Object) -> Object:
    details = {
        "name": target.name,
        "group": target.resource.group,
        "kind": target.resource.plural,
        "uid": last["metadata"]["uid"],
    }
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
