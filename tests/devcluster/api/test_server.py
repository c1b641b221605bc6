"""Starting, stopping, who may enter, and the answers to what is not there."""

from __future__ import annotations

import json
import socket
import stat
import threading
import time
from pathlib import Path

import httpx
import pytest

from devcluster.rbac import Tokens
from devcluster.server import ApiServer, CannotServe
from devcluster.store import Store
from tests.devcluster.api.conftest import JOBS, MAPS, FakeWorld, client, config_map, rayjob


def test_it_starts_within_half_a_second_and_stops_while_a_watch_is_open(store: Store) -> None:
    server = ApiServer(store, None)
    began = time.monotonic()
    server.start()
    assert time.monotonic() - began < 0.5
    lines: list[str] = []

    def follow() -> None:
        params = {"watch": "1", "resourceVersion": "0"}
        with (
            client(server, server.token) as http,
            http.stream("GET", MAPS, params=params) as answer,
        ):
            lines.append(str(answer.status_code))
            lines.extend(answer.iter_lines())

    follower = threading.Thread(target=follow)
    follower.start()
    while not lines:
        time.sleep(0.01)
    began = time.monotonic()
    server.stop()
    follower.join(5)
    assert time.monotonic() - began < 3
    assert not follower.is_alive()


def test_a_client_that_sleeps_with_its_connection_open_does_not_hold_up_the_stop(
    store: Store,
) -> None:
    server = ApiServer(store, None)
    server.start()
    with client(server, server.token) as http:
        assert http.get("/version/").status_code == 200
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 1


def test_a_taken_port_is_said_in_one_line(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotServe, match=f"Port {port} on 127.0.0.1 can't be used") as caught:
            ApiServer(store, None, port=port).start()
    assert "\n" not in str(caught.value)


def test_it_listens_on_loopback_only(store: Store) -> None:
    with pytest.raises(CannotServe, match="loopback only"):
        ApiServer(store, None, host="0.0.0.0").start()


def test_the_kubeconfig_is_private_and_stays_valid_over_restarts(
    store: Store, tmp_path: Path
) -> None:
    first = ApiServer(store, None, state_dir=tmp_path)
    first.start()
    first.write_kubeconfig(tmp_path / "kubeconfig")
    first.stop()
    again = ApiServer(store, None, port=first.port, state_dir=tmp_path)
    assert json.loads((tmp_path / "kubeconfig").read_text()) == json.loads(again.kubeconfig())
    for name in ("kubeconfig", "tokens.json", "pki/server.key"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name


@pytest.mark.parametrize("token", [None, "wrong", ""])
def test_without_a_token_it_is_401(server: ApiServer, token: str | None) -> None:
    with client(server, token) as http:
        for path in (MAPS, "/api", "/nothing"):
            answer = http.get(path)
            assert answer.status_code == 401
            assert answer.json()["reason"] == "Unauthorized"
        assert http.get("/readyz").text == "ok"


def test_slipways_token_may_launch_and_look_but_not_touch_pods(slipway: httpx.Client) -> None:
    assert slipway.post(JOBS, json=rayjob()).status_code == 201
    assert slipway.get("/api/v1/pods").status_code == 200
    answer = slipway.delete("/api/v1/namespaces/default/pods/a")
    assert answer.status_code == 403
    assert answer.json()["message"] == (
        'pods "a" is forbidden: User "system:serviceaccount:slipway:slipway" cannot delete '
        'resource "pods" in API group "" in the namespace "default"'
    )
    assert slipway.patch(f"{JOBS}/job/status", json={}).status_code == 403


def test_who_may_not_see_everything_learns_nothing_about_paths(
    http: httpx.Client, slipway: httpx.Client
) -> None:
    unknown = http.get("/apis/batch/v1/namespaces/default/cronjobs")
    assert (unknown.status_code, unknown.text) == (404, "404 page not found\n")
    assert unknown.headers["content-type"].startswith("text/plain")
    assert slipway.get("/apis/batch/v1/namespaces/default/cronjobs").status_code == 403


def test_an_access_review_says_what_a_request_would_meet(slipway: httpx.Client) -> None:
    def may(**attributes: str) -> bool:
        review = {"spec": {"resourceAttributes": attributes}}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = slipway.post(path, json=review)
        assert answer.status_code == 201
        return bool(answer.json()["status"]["allowed"])

    assert may(verb="create", group="ray.io", resource="rayjobs", namespace="x")
    assert may(verb="get", resource="pods", subresource="log")
    assert not may(verb="delete", resource="pods")


def test_trouble_can_be_asked_for(server: ApiServer, http: httpx.Client) -> None:
    server.faults.refuse(
        "create", "configmaps", 429, "slow down", reason="TooManyRequests", times=1
    )
    refused = http.post(MAPS, json=config_map("a"))
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert http.post(MAPS, json=config_map("a")).status_code == 201


def test_a_method_that_no_object_has_is_405(http: httpx.Client) -> None:
    assert http.post("/api/v1/pods", json={}).status_code == 405
    assert http.put(MAPS, json={}).status_code == 405


def test_a_body_that_is_too_large_or_no_json_is_refused(http: httpx.Client) -> None:
    large = config_map("a", k="x" * (3 * 1024 * 1024))
    assert http.post(MAPS, json=large).status_code == 413
    headers = {"Content-Type": "application/json"}
    assert http.post(MAPS, content="{", headers=headers).status_code == 400
    headers = {"Content-Type": "application/yaml"}
    yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-yaml}\ndata: {k: v}\n"
    assert http.post(MAPS, content=yaml, headers=headers).status_code == 201


def test_tokens_are_made_anew_for_each_cluster_in_memory() -> None:
    assert Tokens.load(None).by_role != Tokens.load(None).by_role


def test_discovery_comes_group_by_group_and_all_at_once(http: httpx.Client) -> None:
    plain = http.get("/apis/ray.io/v1").json()
    assert {"rayjobs", "rayjobs/status", "rayclusters"} <= {r["name"] for r in plain["resources"]}
    wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    at_once = http.get("/apis", headers={"Accept": f"{wanted},application/json"})
    assert at_once.headers["content-type"] == wanted
    groups = {item["metadata"]["name"] for item in at_once.json()["items"]}
    assert groups == {group["name"] for group in http.get("/apis").json()["groups"]}
    assert http.get("/openapi/v3/apis/ray.io/v1").json()["components"]["schemas"]["RayJobSpec"]


def test_the_world_may_be_absent(store: Store) -> None:
    assert FakeWorld().service_endpoint("a", "b", "c") is None
    server = ApiServer(store, None)
    server.start()
    with client(server, server.token) as http:
        assert http.post(MAPS, json=config_map("a")).status_code == 201
    server.stop()
