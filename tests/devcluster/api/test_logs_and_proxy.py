"""What is passed on: logs of pods, and requests to services."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from devcluster.resources import PODS, SERVICES
from devcluster.server import ApiServer
from devcluster.store import Store
from tests.devcluster.api.conftest import FakeWorld, _context

LOG = "/api/v1/namespaces/default/pods/p/log"
PROXY = "/api/v1/namespaces/default/services/head-svc:dashboard/proxy"


def make_pod(store: Store, *containers: str, node: str = "n") -> None:
    spec = {"nodeName": node, "containers": [{"name": name} for name in containers]}
    store.create(PODS, {"metadata": {"name": "p", "namespace": "default"}, "spec": spec})


def test_a_log_is_passed_on_as_it_comes(http: httpx.Client, store: Store, world: FakeWorld) -> None:
    make_pod(store, "c")
    world.log = [b"one\n", b"", b"two\n"]
    answer = http.get(LOG)
    assert (answer.status_code, answer.text) == (200, "one\ntwo\n")
    assert http.get(LOG, params={"limitBytes": "5"}).text == "one\nt"


def test_a_log_that_does_not_exist_is_said_so(http: httpx.Client, store: Store) -> None:
    make_pod(store, "a", "b")
    answer = http.get(LOG)
    assert answer.status_code == 400
    assert answer.json()["message"] == (
        "a container name must be specified for pod p, choose one of: [a b]"
    )
    assert http.get(LOG, params={"container": "x"}).status_code == 400
    assert http.get(LOG.replace("/p/", "/q/")).status_code == 404


def test_a_pod_without_a_host_has_no_log(http: httpx.Client, store: Store) -> None:
    make_pod(store, "c", node="")
    assert http.get(LOG).json()["message"] == "pod p does not have a host assigned"


def test_a_log_that_breaks_ends_and_does_not_hang(
    http: httpx.Client, store: Store, world: FakeWorld
) -> None:
    make_pod(store, "c")
    world.log, world.failure = [b"one\n"], OSError("disk")
    with pytest.raises(httpx.RemoteProtocolError):
        http.get(LOG)


async def _echo(request: Request) -> JSONResponse:
    body = await request.body()
    headers = dict(request.headers)
    query = request.url.query
    seen = {"method": request.method, "path": request.url.path, "query": query}
    return JSONResponse(
        {**seen, "raw": request.scope["raw_path"].decode(), "headers": headers, "size": len(body)},
        status_code=418,
        headers={"X-Answer": "yes"},
    )


async def _slow(_request: Request) -> StreamingResponse:
    async def lines() -> AsyncIterator[bytes]:
        yield b"first\n"
        await asyncio.sleep(0.5)
        yield b"second\n"

    return StreamingResponse(lines(), media_type="text/plain")


async def _talk(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text(websocket.headers.get("x-ray-authorization", "nobody"))
    while (text := await websocket.receive_text()) != "bye":
        await websocket.send_bytes(text.upper().encode())
    await websocket.close()


@pytest.fixture
def dashboard(store: Store, world: FakeWorld) -> Iterator[None]:
    """A service with something that listens behind it."""
    store.create(SERVICES, {"metadata": {"name": "head-svc", "namespace": "default"}})
    app = Starlette(
        routes=[
            Route("/slow", _slow),
            WebSocketRoute("/talk", _talk),
            Route("/{path:path}", _echo, methods=["GET", "POST", "PUT", "DELETE"]),
        ]
    )
    behind = uvicorn.Server(
        uvicorn.Config(app, port=0, log_config=None, log_level="error", ws="websockets-sansio")
    )
    thread = threading.Thread(target=behind.run)
    thread.start()
    while not behind.started:
        thread.join(0.01)
    world.endpoint = ("127.0.0.1", behind.servers[0].sockets[0].getsockname()[1])
    yield
    behind.should_exit = True
    thread.join()


@pytest.mark.usefixtures("dashboard")
def test_a_request_goes_through_with_its_own_headers_and_without_the_apis_token(
    http: httpx.Client, world: FakeWorld
) -> None:
    answer = http.post(
        f"{PROXY}/api/jobs/a%2Fb/?x=1&y=%20",
        content=b"x" * 100_000,
        headers={"X-Ray-Authorization": "Bearer ray"},
    )
    seen: dict[str, Any] = answer.json()
    assert (answer.status_code, answer.headers["x-answer"]) == (418, "yes")
    assert (seen["method"], seen["raw"], seen["query"]) == ("POST", "/api/jobs/a%2Fb/", "x=1&y=%20")
    assert seen["size"] == 100_000
    assert seen["headers"]["x-ray-authorization"] == "Bearer ray"
    assert "authorization" not in seen["headers"]
    assert world.asked[-1] == ("default", "head-svc", "dashboard")


@pytest.mark.usefixtures("dashboard")
def test_an_answer_streams(http: httpx.Client) -> None:
    with http.stream("GET", f"{PROXY}/slow") as answer:
        lines = answer.iter_lines()
        assert next(lines) == "first"
        began = time.monotonic()
        assert next(lines) == "second"
        assert time.monotonic() - began > 0.3


@pytest.mark.usefixtures("dashboard")
def test_a_websocket_goes_through(server: ApiServer) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "X-Ray-Authorization": "Bearer ray"}
    url = server.url.replace("https", "wss") + f"{PROXY}/talk"
    with connect(url, additional_headers=headers, ssl=_context(server), proxy=None) as socket:
        assert socket.recv(timeout=5) == "Bearer ray"
        socket.send("hello")
        assert socket.recv(timeout=5) == b"HELLO"
        socket.send("bye")


@pytest.mark.usefixtures("dashboard")
def test_a_websocket_needs_the_token_too(server: ApiServer) -> None:
    url = server.url.replace("https", "wss") + f"{PROXY}/talk"
    with pytest.raises(InvalidStatus) as caught:
        connect(url, ssl=_context(server), proxy=None)
    assert caught.value.response.status_code == 401


def test_no_service_is_404_no_pod_503_and_nobody_listening_503(
    http: httpx.Client, store: Store, world: FakeWorld
) -> None:
    assert http.get(f"{PROXY}/").status_code == 404
    store.create(SERVICES, {"metadata": {"name": "head-svc", "namespace": "default"}})
    empty = http.get(f"{PROXY}/")
    assert (empty.status_code, empty.json()["reason"]) == (503, "ServiceUnavailable")
    assert empty.json()["message"] == 'no endpoints available for service "head-svc:dashboard"'
    world.endpoint = ("127.0.0.1", 1)
    refused = http.get(f"{PROXY}/")
    assert refused.status_code == 503
    assert refused.json()["message"] == (
        "error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused"
    )
