"""The Kubernetes API, by verb. Plain mappings in and out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workers.gateways.errors import Conflict, Gone, NotFound, Refused, Unreachable
from workers.gateways.transport import Transport

Object = dict[str, Any]

# kind -> (API prefix, plural, namespaced)
KINDS: Mapping[str, tuple[str, str, bool]] = {
    "Namespace": ("/api/v1", "namespaces", False),
    "Secret": ("/api/v1", "secrets", True),
    "ConfigMap": ("/api/v1", "configmaps", True),
    "Pod": ("/api/v1", "pods", True),
    "Event": ("/api/v1", "events", True),
    "RayJob": ("/apis/ray.io/v1", "rayjobs", True),
    "RayCluster": ("/apis/ray.io/v1", "rayclusters", True),
    "ComputeClass": ("/apis/cloud.google.com/v1", "computeclasses", False),
}
WATCH_TIMEOUT_S = 240
# Bookmarks come about every minute; three missed ones mean that the line is dead.
WATCH_SILENCE_S = 200.0
PAGE = "500"


@dataclass(frozen=True)
class Listed:
    items: list[Object]
    resource_version: str


@dataclass(frozen=True)
class WatchEvent:
    """`type` is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Object


class KubeGateway:
    def __init__(self, transport: Transport) -> None:
        self._http = transport

    def get(self, kind: str, namespace: str, name: str) -> Object | None:
        try:
            found: Object = self._http.json("GET", _path(kind, namespace, name))
        except NotFound:
            return None
        return found

    def get_ours(
        self, kind: str, namespace: str, name: str, owner_labels: Mapping[str, str]
    ) -> Object | None:
        """The object, if it is there and carries `owner_labels`."""
        found = self.get(kind, namespace, name)
        return found if found is not None and _carries(found, owner_labels) else None

    def ensure(self, obj: Object, *, owner_labels: Mapping[str, str]) -> Object:
        """Create `obj`, or find it already made by us.

        Raises Conflict when an object of this name exists without `owner_labels`: it is not ours to touch.
        """
        kind, metadata = obj["kind"], obj["metadata"]
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        query = {"fieldValidation": "Strict", "fieldManager": "slipway"}
        try:
            created: Object = self._http.json("POST", _path(kind, namespace), query=query, body=obj)
            return created
        except Conflict as exc:
            found = self.get(kind, namespace, name)
            if found is None:
                # Deleted between the two calls, or a conflict of another kind: the next round decides.
                raise Unreachable(exc.message) from exc
            if not _carries(found, owner_labels):
                raise Conflict(
                    f"A {kind} named {namespace}/{name} exists that Slipway did not make for this attempt. "
                    "Delete or rename it, then submit again."
                ) from exc
            return found

    def ensure_namespace(self, name: str, labels: Mapping[str, str]) -> None:
        if self.get("Namespace", "", name) is None:
            body = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": dict(labels)},
            }
            try:
                self._http.json("POST", _path("Namespace", ""), body=body)
            except Conflict:
                return

    def apply(self, obj: Object) -> Object:
        """Server-side apply as field manager slipway, taking over fields that others changed."""
        metadata = obj["metadata"]
        path = _path(obj["kind"], metadata.get("namespace", ""), metadata["name"])
        applied: Object = self._http.json(
            "PATCH",
            path,
            query={"fieldManager": "slipway", "force": "true", "fieldValidation": "Strict"},
            body=obj,
            content_type="application/apply-patch+yaml",
        )
        return applied

    def patch(self, kind: str, namespace: str, name: str, patch: Object) -> None:
        self._http.json(
            "PATCH",
            _path(kind, namespace, name),
            query={"fieldManager": "slipway"},
            body=patch,
            content_type="application/merge-patch+json",
        )

    def delete(
        self, kind: str, namespace: str, name: str, *, owner_labels: Mapping[str, str]
    ) -> None:
        """Ask for deletion of an object that carries `owner_labels`. Gone already, or not ours, is success too."""
        found = self.get_ours(kind, namespace, name, owner_labels)
        if found is None:
            return
        body = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "propagationPolicy": "Background",
            # Not one of the same name that somebody made in between.
            "preconditions": {"uid": found["metadata"]["uid"]},
        }
        try:
            self._http.json("DELETE", _path(kind, namespace, name), body=body)
        except (NotFound, Conflict):
            return

    def list(self, kind: str, *, namespace: str = "", selector: str = "") -> Listed:
        """All objects, page by page, of one moment. Empty `namespace` means all."""
        items: list[Object] = []
        query = {"limit": PAGE, **({"labelSelector": selector} if selector else {})}
        while True:
            page = self._http.json("GET", _path(kind, namespace), query=query, read_timeout_s=30)
            items += page.get("items") or []
            more = page["metadata"].get("continue")
            if not more:
                return Listed(items, page["metadata"]["resourceVersion"])
            query = {**query, "continue": more}

    def watch(self, kind: str, *, since: str, selector: str = "") -> Iterator[WatchEvent]:
        """Changes after `since`, until the server ends the watch. Raises Gone when `since` is too old."""
        query = {
            "watch": "true",
            "resourceVersion": since,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_TIMEOUT_S),
            **({"labelSelector": selector} if selector else {}),
        }
        with self._http.open(
            "GET", _path(kind, ""), query=query, read_timeout_s=WATCH_SILENCE_S
        ) as response:
            for line in _lines(response.stream(65536)):
                try:
                    event = json.loads(line)
                except ValueError as exc:
                    raise Unreachable("The watch sent a broken line.") from exc
                if event["type"] == "ERROR":
                    status = event["object"]
                    message = str(status.get("message", "watch error"))
                    raise Gone(message) if status.get("code") == 410 else Unreachable(message)
                yield WatchEvent(event["type"], event["object"])


def _carries(obj: Object, labels: Mapping[str, str]) -> bool:
    found = obj["metadata"].get("labels") or {}
    return all(found.get(key) == value for key, value in labels.items())


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    from urllib3.exceptions import HTTPError

    rest = b""
    try:
        for piece in pieces:
            *whole, rest = (rest + piece).split(b"\n")
            yield from (line for line in whole if line.strip())
    except (HTTPError, OSError) as exc:
        raise Unreachable(f"The watch broke off: {exc}") from exc


def _path(kind: str, namespace: str, name: str = "") -> str:
    try:
        prefix, plural, namespaced = KINDS[kind]
    except KeyError as exc:
        raise Refused(f"Slipway does not handle objects of kind {kind}.") from exc
    place = (
        f"{prefix}/namespaces/{namespace}/{plural}"
        if namespaced and namespace
        else f"{prefix}/{plural}"
    )
    return f"{place}/{name}" if name else place
