"""A Kubernetes request, read from its path and query once, so that nobody below parses either
again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request

from devcluster.api import protobuf
from devcluster.errors import BadRequest, StoreError
from devcluster.resources import NAMESPACES, Resource, find

BODY_LIMIT_BYTES = 3 * 1024 * 1024
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True)
class Target:
    """What a path points at. `rest` is what follows `/proxy/`."""

    resource: Resource
    namespace: str
    name: str
    subresource: str | None
    rest: str = ""

    def verb(self, method: str, *, watching: bool) -> str:
        """The RBAC verb of an HTTP method on this target."""
        if method in ("GET", "HEAD"):
            if self.name:
                return "get"
            return "watch" if watching else "list"
        if method == "DELETE":
            return "delete" if self.name else "deletecollection"
        return _VERBS.get(method, method.lower())


def parse_path(path: str) -> Target | None:
    """None for a path that no served resource has."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "watch":  # the old form of ?watch=true, still spoken by some
        return None
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    resource = find(group, version, rest[0])
    if resource is None or (bool(namespace) and not resource.namespaced):
        return None
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else None
    if name and resource.namespaced and not namespace:
        return None
    if resource is NAMESPACES:
        namespace = ""
    tail = "/".join(rest[3:])
    if tail and subresource != "proxy":
        return None
    return Target(resource, namespace, name, subresource, tail)


@dataclass(frozen=True)
class Options:
    """The query parameters of reads and writes."""

    watch: bool = False
    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    token: str = ""
    timeout_s: int | None = None
    bookmarks: bool = False
    send_initial_events: bool = False
    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False
    include_object: str = "Metadata"


def parse_options(query: QueryParams) -> Options:
    """BadRequest for a parameter that does not mean anything."""
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        raise BadRequest(f'Invalid value for dryRun: "{dry_run}": supported values: "All"')
    validation = query.get("fieldValidation") or "Warn"
    if validation not in ("Ignore", "Warn", "Strict"):
        raise BadRequest(f'Invalid value for fieldValidation: "{validation}"')
    timeout = query.get("timeoutSeconds")
    return Options(
        watch=_is_true(query.get("watch")),
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
        resource_version=query.get("resourceVersion", ""),
        resource_version_match=query.get("resourceVersionMatch", ""),
        limit=_number("limit", query.get("limit") or "0"),
        token=query.get("continue", ""),
        timeout_s=_number("timeoutSeconds", timeout) if timeout else None,
        bookmarks=_is_true(query.get("allowWatchBookmarks")),
        send_initial_events=_is_true(query.get("sendInitialEvents")),
        dry_run=dry_run == "All",
        field_manager=query.get("fieldManager", ""),
        field_validation=validation,
        force=_is_true(query.get("force")),
        include_object=query.get("includeObject") or "Metadata",
    )


def _is_true(text: str | None) -> bool:
    return (text or "").lower() in ("1", "true")


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as exc:
        raise BadRequest(f'Invalid value for {name}: "{text}": must be a whole number') from exc


def parse_revision(text: str) -> int:
    """A resourceVersion as a number; "" is 0. BadRequest as the API server words it."""
    try:
        return int(text or "0")
    except ValueError as exc:
        raise BadRequest(f'Invalid resource version: "{text}"') from exc


async def read_body(request: Request) -> Any:
    """The body as JSON data; YAML only where the media type says so. None when there is no body."""
    size = 0
    chunks = []
    async for chunk in request.stream():
        size += len(chunk)
        if size > BODY_LIMIT_BYTES:
            message = f"Request entity too large: limit is {BODY_LIMIT_BYTES}"
            raise StoreError(413, "RequestEntityTooLarge", message)
        chunks.append(chunk)
    raw = b"".join(chunks)
    if not raw.strip():
        return None
    media_type = request.headers.get("content-type", "application/json").split(";")[0].strip()
    if media_type == protobuf.MEDIA_TYPE:
        return _read_protobuf(raw)
    if "cbor" in media_type:
        raise _unsupported()
    try:
        return json.loads(raw)
    except ValueError as exc:
        if "yaml" not in media_type:
            raise BadRequest(f"couldn't get version/kind; json parse error: {exc}") from exc
    return _read_yaml(raw)


def _read_protobuf(raw: bytes) -> Any:
    try:
        found = protobuf.decode(raw)
    except (ValueError, IndexError) as exc:
        raise BadRequest(f"the protobuf body can't be decoded: {exc}") from exc
    if found is None:
        raise _unsupported()
    return found


def _unsupported() -> StoreError:
    known = "application/json, application/yaml"
    message = (
        f"the body of the request was in an unknown format - accepted media types include: {known}"
    )
    return StoreError(415, "UnsupportedMediaType", message)


def _read_yaml(raw: bytes) -> Any:
    """Loaded late: only people with curl send YAML (kubectl turns it into JSON first)."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(raw)
    except YAMLError as exc:
        raise BadRequest(f"error parsing YAML: {exc}") from exc


def negotiated_table(accept: str) -> bool:
    """True when the client prefers rows for people (kubectl get)."""
    first = accept.split(",")[0]
    return "as=Table" in first and "g=meta.k8s.io" in first
