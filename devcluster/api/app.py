"""The ASGI application.

Every request is authenticated, read, authorised and handed to one function.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from devcluster.api import access, discovery, listing, logs, objects, openapi, watching
from devcluster.api.faults import Faults
from devcluster.api.logs import PodLogs
from devcluster.api.objects import Reply, Writer
from devcluster.api.proxy import Endpoints, ServiceProxy
from devcluster.api.request import (
    Options,
    Target,
    negotiated_table,
    parse_options,
    parse_path,
    read_body,
)
from devcluster.api.table import TableShape
from devcluster.errors import NotFound, StoreError
from devcluster.objects import Object
from devcluster.rbac import Tokens, User, authorize
from devcluster.resources import ACCESS_REVIEWS, PODS
from devcluster.store import Store

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


class WorldDoors(PodLogs, Endpoints, Protocol):
    """What the API asks of the world behind it."""


@dataclass
class Api:
    """What every request needs; `hub` exists while the server runs."""

    store: Store
    world: WorldDoors | None
    tokens: Tokens
    faults: Faults = field(default_factory=Faults)
    hub: watching.Hub | None = None

    def __post_init__(self) -> None:
        self.proxy = ServiceProxy(self.store, self.world)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                *(Route(path, _healthy) for path in ("/healthz", "/livez", "/readyz")),
                Route("/version", lambda _request: _json(discovery.VERSION)),
                # The generated clients write it with a slash at the end.
                Route("/version/", lambda _request: _json(discovery.VERSION)),
                Route("/{path:path}", self.serve, methods=METHODS),
                WebSocketRoute("/{path:path}", self.serve_websocket),
            ],
            exception_handlers={StoreError: _refuse},
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self.hub = watching.Hub(self.store)
        yield
        self.hub.close()
        await self.proxy.close()

    async def serve(self, request: Request) -> Response:
        user = self.tokens.user(request.headers.get("authorization"))
        target = parse_path(request.url.path)
        if target is None:
            return _discover(request) or _no_such_path(user, request.url.path)
        options = parse_options(request.query_params)
        verb = target.verb(request.method, watching=options.watch)
        authorize(user, verb, target.resource, target.subresource, target.namespace, _bare(target))
        await self.faults.check(verb, target.resource.plural)
        if target.subresource == "proxy" and target.resource.plural == "services":
            return await self.proxy.forward(request, target)
        if target.subresource == "log" and target.resource is PODS and verb == "get":
            return self._log(request, target)
        if target.subresource not in (None, "status"):
            raise NotFound(target.resource, f"{target.name}/{target.subresource}")
        if target.resource is ACCESS_REVIEWS and verb == "create":
            return _json(access.review(user, await read_body(request)), 201)
        return await self._object(request, target, options, verb)

    async def _object(
        self, request: Request, target: Target, options: Options, verb: str
    ) -> Response:
        if verb not in target.resource.verbs:
            raise _not_allowed()
        writer = Writer(options, request.headers.get("user-agent", ""))
        match verb:
            case "get" if options.watch:
                return self._watch(request, target, options)
            case "get":
                return _reply(
                    objects.get(self.store, target), self._shape(request, target, options)
                )
            case "list":
                return self._list(request, target, options)
            case "watch":
                return self._watch(request, target, options)
            case "create" if (
                not target.name and bool(target.namespace) == target.resource.namespaced
            ):
                reply = objects.create(self.store, target, await read_body(request), writer)
            case "update" if target.name:
                reply = objects.replace(self.store, target, await read_body(request), writer)
            case "patch" if target.name:
                media_type = request.headers.get("content-type", "").split(";")[0].strip()
                body = await read_body(request)
                reply = objects.patch(self.store, target, body, media_type, writer)
            case "delete" | "deletecollection":
                return await self._delete(request, target, options)
            case _:
                raise _not_allowed()
        return _reply(reply, None)

    def _shape(self, request: Request, target: Target, options: Options) -> TableShape | None:
        if not negotiated_table(request.headers.get("accept", "")):
            return None
        return TableShape(target.resource, options.include_object, self.store.now)

    def _list(self, request: Request, target: Target, options: Options) -> Response:
        page = listing.page(self.store, target, options)
        shape = self._shape(request, target, options)
        if shape is not None:
            return _json(shape.many(page.items, page.metadata()))
        return _json(_list_of(target, page.items, page.metadata()))

    def _watch(self, request: Request, target: Target, options: Options) -> Response:
        if self.hub is None:
            raise StoreError(503, "ServiceUnavailable", "the server is starting")
        shape = self._shape(request, target, options)
        show: Callable[[Object], Object] = shape.one if shape is not None else _plain
        lines = watching.stream(self.store, self.hub, target, options, show)
        return StreamingResponse(lines, media_type="application/json")

    async def _delete(self, request: Request, target: Target, options: Options) -> Response:
        query = dict(request.query_params)
        wanted = objects.parse_delete_options(await read_body(request), query)
        if target.name:
            return _reply(objects.delete(self.store, target, wanted), None)
        page = listing.page(self.store, target, options)
        for obj in page.items:
            metadata = obj["metadata"]
            one = Target(target.resource, metadata.get("namespace", ""), metadata["name"], None)
            with contextlib.suppress(NotFound):  # a cascade was quicker
                objects.delete(self.store, one, wanted)
        return _json(_list_of(target, page.items, page.metadata()))

    def _log(self, request: Request, target: Target) -> Response:
        pod = self.store.get(PODS, target.namespace, target.name)
        wanted = logs.parse_log_options(pod, request.query_params)
        world = self.world
        if world is None:
            raise StoreError(503, "ServiceUnavailable", "no kubelet runs behind this API server")

        def open_log() -> Any:
            return world.pod_log(
                target.namespace,
                target.name,
                wanted.container,
                follow=wanted.follow,
                tail_lines=wanted.tail_lines,
                since=wanted.since_s,
                previous=wanted.previous,
            )

        return StreamingResponse(logs.stream(open_log, wanted.limit_bytes), media_type="text/plain")

    async def serve_websocket(self, websocket: WebSocket) -> None:
        """Only the service proxy speaks WebSocket."""
        target = parse_path(websocket.url.path)
        try:
            user = self.tokens.user(websocket.headers.get("authorization"))
            if target is None or target.subresource != "proxy":
                raise StoreError(404, "NotFound", "nothing speaks WebSocket at this path")
            authorize(user, "get", target.resource, "proxy", target.namespace, _bare(target))
        except StoreError as exc:
            await websocket.send_denial_response(_json(exc.as_status(), exc.status_code))
            return
        await self.proxy.bridge(websocket, target)


def _healthy(_request: Request) -> Response:
    return PlainTextResponse("ok")


def _plain(obj: Object) -> Object:
    return obj


def _bare(target: Target) -> str:
    """`https:dashboard:8265` is service `dashboard` to RBAC."""
    parts = target.name.split(":")
    return parts[1] if len(parts) == 3 else parts[0]


def _json(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    raw = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    return Response(raw, status, headers, media_type="application/json")


def _reply(reply: Reply, shape: TableShape | None) -> Response:
    response = _json(shape.one(reply.obj) if shape is not None else reply.obj, reply.status)
    for warning in reply.warnings:
        text = warning.replace("\\", "\\\\").replace('"', '\\"')
        response.headers.append("Warning", f'299 - "{text}"')
    return response


def _list_of(target: Target, items: list[Object], metadata: Object) -> Object:
    resource = target.resource
    head = {"kind": f"{resource.kind}List", "apiVersion": resource.api_version}
    return {**head, "metadata": metadata, "items": items}


async def _refuse(_request: Request, exc: Exception) -> Response:
    if not isinstance(exc, StoreError):
        raise exc
    headers = {"Retry-After": "1"} if exc.status_code == 429 else None
    return _json(exc.as_status(), exc.status_code, headers)


def _not_allowed() -> StoreError:
    message = "the server does not allow this method on the requested resource"
    return StoreError(405, "MethodNotAllowed", message)


def _no_such_path(user: User, path: str) -> Response:
    """Plain text, no Status, for who may see everything.

    The others learn only that they may not.
    """
    if user.may("*", "*"):
        return PlainTextResponse("404 page not found\n", 404)
    message = f'forbidden: User "{user.name}" cannot get path "{path}"'
    return _json(StoreError(403, "Forbidden", message).as_status(), 403)


def _discover(request: Request) -> Response | None:
    """Discovery and OpenAPI documents; None for any other path."""
    parts = request.url.path.strip("/").split("/")
    accept = request.headers.get("accept", "")
    match parts:
        case ["api"] | ["apis"]:
            names = [""] if parts == ["api"] else discovery.groups()
            for version in ("v2", "v2beta1"):
                if f"g=apidiscovery.k8s.io;v={version}" in accept:
                    kind = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
                    response = _json(discovery.aggregated(names, version))
                    response.headers["content-type"] = kind
                    return response
            if parts == ["api"]:
                return _json(discovery.core_versions(request.url.netloc))
            return _json(discovery.group_list())
        case ["api", version]:
            return _maybe(discovery.resource_list("", version))
        case ["apis", group]:
            return _json(discovery.group(group)) if group in discovery.groups() else None
        case ["apis", group, version]:
            return _maybe(discovery.resource_list(group, version))
        case ["openapi", "v3"]:
            return _json(openapi.index())
        case ["openapi", "v3", "api", version]:
            return _maybe(openapi.document("", version))
        case ["openapi", "v3", "apis", group, version]:
            return _maybe(openapi.document(group, version))
        case _:
            return None


def _maybe(body: Any) -> Response | None:
    return None if body is None else _json(body)
