"""`services/<scheme>:<name>:<port>/proxy/...`: HTTP and WebSocket, streamed both ways.

The API's own Authorization header stops here; whoever is behind gets its credentials in another
header (Ray: X-Ray-Authorization).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.websockets import WebSocket, WebSocketDisconnect

from devcluster.api.request import Target
from devcluster.errors import StoreError
from devcluster.resources import SERVICES
from devcluster.store import Store

if TYPE_CHECKING:
    import httpx

_CONNECT_TIMEOUT_S = 10
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NOT_FORWARDED = _HOP_BY_HOP | {"authorization"}
_WEBSOCKET_OWN = "sec-websocket-"


class Endpoints(Protocol):
    """The part of the world that knows where a service's pod listens."""

    def service_endpoint(
        self, namespace: str, service: str, port: str
    ) -> tuple[str, int] | None: ...


class ServiceProxy:
    """Holds the HTTP client for the life of the server; httpx is imported when first needed."""

    def __init__(self, store: Store, endpoints: Endpoints | None) -> None:
        self._store = store
        self._endpoints = endpoints
        self._client: httpx.AsyncClient | None = None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def forward(self, request: Request, target: Target) -> Response:
        """The service's answer, streamed.

        503 when nothing is behind the service or it does not answer.
        """
        import httpx

        ip, port = self.locate(target)
        if self._client is None:
            timeout = httpx.Timeout(None, connect=_CONNECT_TIMEOUT_S)
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=50)
            self._client = httpx.AsyncClient(timeout=timeout, limits=limits, trust_env=False)
        has_body = "content-length" in request.headers or "transfer-encoding" in request.headers
        outgoing = self._client.build_request(
            request.method,
            f"http://{ip}:{port}{rest_of(request.scope, target)}",
            headers=[pair for pair in request.headers.items() if pair[0] not in _NOT_FORWARDED],
            content=request.stream() if has_body else None,
        )
        try:
            answer = await self._client.send(outgoing, stream=True)
        except httpx.TransportError as exc:
            raise unreachable(f"dial tcp {ip}:{port}: {_plain(exc)}") from exc
        headers = [pair for pair in answer.headers.multi_items() if pair[0] not in _HOP_BY_HOP]
        response = StreamingResponse(_body(answer), status_code=answer.status_code)
        response.raw_headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers]
        return response

    async def bridge(self, websocket: WebSocket, target: Target) -> None:
        """A WebSocket through to the service.

        Closed (1014, bad gateway) when it can't be reached.
        """
        from websockets.asyncio.client import connect
        from websockets.exceptions import WebSocketException

        try:
            ip, port = self.locate(target)
            url = f"ws://{ip}:{port}{rest_of(websocket.scope, target)}"
            headers = {
                name: value
                for name, value in websocket.headers.items()
                if name not in _NOT_FORWARDED and not name.startswith(_WEBSOCKET_OWN)
            }
            async with connect(
                url,
                additional_headers=headers,
                subprotocols=websocket.scope.get("subprotocols") or None,
                max_size=None,
                proxy=None,
                user_agent_header=None,
            ) as upstream:
                await websocket.accept(subprotocol=upstream.subprotocol)
                await _pump_both(websocket, upstream)
        except (StoreError, OSError, WebSocketException):
            await _close(websocket)

    def locate(self, target: Target) -> tuple[str, int]:
        """Where the service listens.

        NotFound without the service, 503 without a ready pod behind it.
        """
        parts = target.name.split(":")
        name, port = (parts[1], parts[2]) if len(parts) == 3 else (parts[0], "".join(parts[1:2]))
        self._store.get(SERVICES, target.namespace, name)
        found = None
        if self._endpoints is not None:
            found = self._endpoints.service_endpoint(target.namespace, name, port)
        if found is None:
            message = f'no endpoints available for service "{target.name}"'
            raise StoreError(503, "ServiceUnavailable", message)
        return found


def unreachable(why: str) -> StoreError:
    return StoreError(503, "ServiceUnavailable", f"error trying to reach service: {why}")


def rest_of(scope: object, target: Target) -> str:
    """Path and query behind `/proxy`, byte for byte as the client escaped them."""
    if not isinstance(scope, dict):
        raise TypeError("an ASGI scope is a dict")
    raw = (scope.get("raw_path") or scope["path"].encode()).split(b"?")[0].decode("latin-1")
    path = raw.partition("/proxy")[2] or "/"
    query = scope.get("query_string", b"").decode("latin-1")
    return f"{path}?{query}" if query else path


async def _body(answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            yield chunk
    finally:
        await answer.aclose()


def _plain(exc: Exception) -> str:
    text = str(exc)
    is_refused = "refused" in text or "connection attempts failed" in text
    return "connect: connection refused" if is_refused else text or type(exc).__name__


async def _pump_both(websocket: WebSocket, upstream: object) -> None:
    from websockets.asyncio.client import ClientConnection
    from websockets.exceptions import ConnectionClosed

    if not isinstance(upstream, ClientConnection):
        raise TypeError("expected a client connection")

    async def outwards() -> None:
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            data = message.get("bytes")
            await upstream.send(data if data is not None else message["text"])

    async def inwards() -> None:
        async for message in upstream:
            if isinstance(message, bytes):
                await websocket.send_bytes(message)
            else:
                await websocket.send_text(message)

    tasks = [asyncio.create_task(outwards()), asyncio.create_task(inwards())]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in pending:
        task.cancel()
    results = await asyncio.gather(*done, *pending, return_exceptions=True)
    for result in results:
        is_expected = isinstance(
            result, ConnectionClosed | WebSocketDisconnect | asyncio.CancelledError
        )
        if isinstance(result, BaseException) and not is_expected:
            raise result
    await _close(websocket, code=1000)


async def _close(websocket: WebSocket, code: int = 1014) -> None:
    try:
        await websocket.close(code=code)
    except (RuntimeError, WebSocketDisconnect):
        return  # the client was quicker
