"""A real API server on a free port with a world of three methods behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from devcluster.resources import RAYJOBS
from devcluster.server import ApiServer
from devcluster.store import Store

JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"
MAPS = "/api/v1/namespaces/default/configmaps"


@dataclass
class FakeWorld:
    """Logs and endpoints as the test says."""

    log: list[bytes] = field(default_factory=list)
    failure: Exception | None = None
    endpoint: tuple[str, int] | None = None
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def pod_log(self, namespace: str, pod: str, container: str, **how: Any) -> Iterator[bytes]:
        yield from self.log
        if self.failure is not None:
            raise self.failure

    def service_endpoint(self, namespace: str, service: str, port: str) -> tuple[str, int] | None:
        self.asked.append((namespace, service, port))
        return self.endpoint


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store(changes_kept=50)
    yield made
    made.close()


@pytest.fixture
def world() -> FakeWorld:
    return FakeWorld()


@pytest.fixture
def server(store: Store, world: FakeWorld) -> Iterator[ApiServer]:
    made = ApiServer(store, world)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def http(server: ApiServer) -> Iterator[httpx.Client]:
    with client(server, server.token) as made:
        yield made


@pytest.fixture
def slipway(server: ApiServer) -> Iterator[httpx.Client]:
    with client(server, server.tokens.by_role["slipway"]) as made:
        yield made


def client(server: ApiServer, token: str | None) -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(
        base_url=server.url, headers=headers, verify=_context(server), timeout=10, trust_env=False
    )


def _context(server: ApiServer) -> Any:
    import ssl

    return ssl.create_default_context(cafile=str(server.ca_file))


def rayjob(name: str = "job", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": metadata, "spec": spec}


def config_map(name: str, labels: dict[str, str] | None = None, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def apply(
    http: httpx.Client, path: str, obj: dict[str, Any], manager: str, **query: str
) -> httpx.Response:
    return http.patch(
        f"{path}/{obj['metadata']['name']}",
        content=json.dumps(obj),
        params={"fieldManager": manager, **query},
        headers={"Content-Type": "application/apply-patch+yaml"},
    )


def patch(http: httpx.Client, path: str, kind: str, body: Any, **query: str) -> httpx.Response:
    media_type = f"application/{kind}-patch+json"
    headers = {"Content-Type": media_type}
    return http.patch(path, content=json.dumps(body), params=query, headers=headers)


def watch(http: httpx.Client, path: str, **query: str) -> list[dict[str, Any]]:
    """The events of a watch that ends after a second."""
    params = {"watch": "1", "timeoutSeconds": "1", **query}
    answer = http.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


def stored_job(store: Store, name: str = "job") -> dict[str, Any]:
    return store.get(RAYJOBS, "default", name)
