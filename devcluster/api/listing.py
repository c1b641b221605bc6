"""Lists: selection, consistent pages, and the versions they are of."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from devcluster import selectors
from devcluster.api.event_versions import outward, stored_as
from devcluster.api.request import Options, Target, parse_revision
from devcluster.errors import BadRequest, Expired, StoreError
from devcluster.objects import Key, Object, key_of
from devcluster.resources import Resource
from devcluster.store import Store


@dataclass(frozen=True)
class Page:
    items: list[Object]
    revision: int
    token: str = ""
    remaining: int | None = None

    def metadata(self) -> Object:
        found: Object = {"resourceVersion": str(self.revision)}
        if self.token:
            found["continue"] = self.token
        if self.remaining is not None:
            found["remainingItemCount"] = self.remaining
        return found


def page(store: Store, target: Target, options: Options) -> Page:
    """The objects that the selectors take, `limit` at a time, all pages as of the first page's
    revision.
    """
    resource = stored_as(target.resource)
    asked = parse_revision(options.resource_version)
    if asked > store.revision:
        raise too_large(asked, store.revision)
    start: Key | None = None
    at = asked if options.resource_version_match == "Exact" else 0
    if options.token:
        at, start = _read_token(options.token)
    items, revision = _as_of(store, resource, target.namespace, at, start)
    matches = matcher(resource, target, options)
    chosen = [obj for obj in items if matches(obj)]
    if start is not None:
        chosen = [obj for obj in chosen if key_of(resource, obj) > start]
    if not options.limit or len(chosen) <= options.limit:
        return Page([outward(target.resource, obj) for obj in chosen], revision)
    rest = len(chosen) - options.limit
    chosen = chosen[: options.limit]
    token = _token(revision, key_of(resource, chosen[-1]))
    is_selected = bool(options.label_selector or options.field_selector)
    shown = [outward(target.resource, obj) for obj in chosen]
    return Page(shown, revision, token, None if is_selected else rest)


def matcher(resource: Resource, target: Target, options: Options) -> selectors.Matcher:
    """Both selectors and, for a watch on one object, its name."""
    by_labels = selectors.labels(options.label_selector)
    by_fields = selectors.fields(resource, options.field_selector)
    namespace, name = target.namespace, target.name

    def matches(obj: Object) -> bool:
        metadata = obj["metadata"]
        return (
            (not namespace or metadata.get("namespace") == namespace)
            and (not name or metadata["name"] == name)
            and by_labels(obj)
            and by_fields(obj)
        )

    return matches


def too_large(asked: int, current: int) -> StoreError:
    message = f"Too large resource version: {asked}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return StoreError(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1})


def _as_of(
    store: Store, resource: Resource, namespace: str, at: int, start: Key | None
) -> tuple[list[Object], int]:
    """The objects at revision `at` (0: now): today's, with the changes since then taken back."""
    items, revision = store.view(resource, namespace)
    if not at or at == revision:
        return items, revision
    try:
        changes = store.changes_since(resource, at)
    except Expired as exc:
        raise _expired_token(start) from exc
    by_key: dict[Key, Object] = {key_of(resource, obj): obj for obj in items}
    for change in reversed(changes):
        if change.revision > revision:
            continue
        key = key_of(resource, change.obj)
        if change.before is None:
            by_key.pop(key, None)
        elif not namespace or key[0] == namespace:
            by_key[key] = change.before
    return [by_key[key] for key in sorted(by_key)], at


def _expired_token(start: Key | None) -> Expired:
    """410 whose status carries a token that goes on from the same place, without the old snapshot."""
    error = Expired(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results."
    )
    if start is not None:
        error.metadata = {"continue": _token(0, start)}
    return error


def _token(revision: int, last: Key) -> str:
    raw = json.dumps({"v": "devcluster/1", "rv": revision, "after": last})
    return base64.urlsafe_b64encode(raw.encode()).decode().rstrip("=")


def _read_token(text: str) -> tuple[int, Key]:
    try:
        raw = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        namespace, name = raw["after"]
        return int(raw["rv"]), (str(namespace), str(name))
    except (binascii.Error, ValueError, KeyError, TypeError) as exc:
        raise BadRequest("continue key is not valid: it is not a token of this server") from exc
