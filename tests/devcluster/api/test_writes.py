"""POST, PUT and PATCH: what is refused, in whose words, and what is kept."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest

from devcluster.api.patches import json_patch, merge, strategic
from devcluster.errors import BadRequest, StoreError
from devcluster.schemas.model import Type
from devcluster.store import Store
from tests.devcluster.api.conftest import JOBS, MAPS, config_map, patch, rayjob, stored_job

PODS = "/api/v1/namespaces/default/pods"


def pod(**changes: Any) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "default"}
    spec = {"containers": [{"name": "c", "image": "busybox"}]} | changes
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_a_wrong_type_is_422_for_a_custom_resource_and_400_for_a_built_in_one(
    http: httpx.Client,
) -> None:
    custom = http.post(JOBS, json=rayjob(entrypoint=3))
    assert custom.status_code == 422
    assert custom.json()["details"]["causes"][0]["field"] == "spec.entrypoint"
    assert custom.json()["message"].startswith('RayJob.ray.io "job" is invalid: spec.entrypoint: ')
    assert http.post(PODS, json=pod(nodeName=3)).status_code == 400


@pytest.mark.parametrize(
    ("validation", "status", "warned"), [("Strict", 400, 0), ("Warn", 201, 1), ("Ignore", 201, 0)]
)
def test_an_unknown_field_is_refused_warned_about_or_dropped(
    http: httpx.Client, store: Store, validation: str, status: int, warned: int
) -> None:
    answer = http.post(JOBS, json=rayjob(colour="red"), params={"fieldValidation": validation})
    assert answer.status_code == status
    if status == 201:
        assert "colour" not in stored_job(store)["spec"]
        warnings = answer.headers.get_list("warning")
        assert warnings == ['299 - "unknown field \\"spec.colour\\""'] * warned
    else:
        assert 'strict decoding error: unknown field "spec.colour"' in answer.json()["message"]


def test_defaults_are_stored(http: httpx.Client, store: Store) -> None:
    http.post(JOBS, json=rayjob())
    expected = {"backoffLimit": 0, "submissionMode": "K8sJobMode", "ttlSecondsAfterFinished": 0}
    assert stored_job(store)["spec"] == expected


def test_a_replacement_must_name_the_version_it_replaces(http: httpx.Client) -> None:
    made = http.post(JOBS, json=rayjob(entrypoint="a")).json()
    assert http.put(f"{JOBS}/job", json=rayjob(entrypoint="b")).status_code == 422
    made["spec"]["entrypoint"] = "b"
    assert http.put(f"{JOBS}/job", json=made).json()["metadata"]["generation"] == 2
    stale = http.put(f"{JOBS}/job", json=made)
    assert (stale.status_code, stale.json()["reason"]) == (409, "Conflict")


def test_status_has_a_door_of_its_own(http: httpx.Client, store: Store) -> None:
    made = http.post(JOBS, json=rayjob() | {"status": {"jobStatus": "RUNNING"}}).json()
    assert "status" not in made
    body = {"status": {"jobStatus": "PENDING"}, "spec": {"entrypoint": "ignored"}}
    patch(http, f"{JOBS}/job/status", "merge", body)
    assert stored_job(store)["status"]["jobStatus"] == "PENDING"
    assert "entrypoint" not in stored_job(store)["spec"]
    assert stored_job(store)["metadata"]["generation"] == 1


def test_a_dry_run_answers_as_if_and_changes_nothing(http: httpx.Client, store: Store) -> None:
    params = {"dryRun": "All"}
    assert http.post(JOBS, json=rayjob(), params=params).status_code == 201
    assert http.get(f"{JOBS}/job").status_code == 404
    http.post(JOBS, json=rayjob())
    before = store.revision
    answer = patch(http, f"{JOBS}/job", "merge", {"spec": {"suspend": True}}, dryRun="All")
    assert answer.json()["spec"]["suspend"] is True
    assert http.delete(f"{JOBS}/job", params=params).status_code == 200
    assert store.revision == before


def test_names_and_labels_are_checked(http: httpx.Client) -> None:
    assert http.post(MAPS, json=config_map("Not_A_Name")).status_code == 422
    assert http.post(MAPS, json=config_map("a" * 254)).status_code == 422
    assert http.post(MAPS, json=config_map("a", {"team": "with space"})).status_code == 422
    assert http.post(JOBS, json=rayjob("a" * 64)).status_code == 201


def test_path_and_body_must_agree(http: httpx.Client) -> None:
    other = config_map("a")
    other["metadata"]["namespace"] = "elsewhere"
    assert http.post(MAPS, json=other).status_code == 400
    assert http.post(MAPS, json=rayjob()).status_code == 400
    without_kind = rayjob()
    del without_kind["kind"]
    assert http.post(JOBS, json=without_kind).status_code == 400


def test_a_secret_is_base64_and_small(http: httpx.Client) -> None:
    path = "/api/v1/namespaces/default/secrets"
    secret = {"metadata": {"name": "s"}, "stringData": {"k": "v"}}
    made = http.post(path, json=secret).json()
    assert made["type"] == "Opaque"
    assert made["data"] == {"k": base64.b64encode(b"v").decode()}
    assert http.post(path, json={"metadata": {"name": "t"}, "data": {"k": "!"}}).status_code == 400
    large = config_map("large", k="x" * (1024 * 1024 + 1))
    assert http.post(MAPS, json=large).status_code == 422


def test_a_strategic_patch_is_not_for_custom_resources(http: httpx.Client) -> None:
    http.post(JOBS, json=rayjob())
    answer = patch(http, f"{JOBS}/job", "strategic-merge", {"spec": {"suspend": True}})
    assert (answer.status_code, answer.json()["reason"]) == (415, "UnsupportedMediaType")


def test_deleting_a_collection_takes_what_the_selector_takes(http: httpx.Client) -> None:
    for name, team in (("a", "x"), ("b", "x"), ("c", "y")):
        http.post(MAPS, json=config_map(name, {"team": team}))
    http.request("DELETE", MAPS, params={"labelSelector": "team=x"})
    assert [o["metadata"]["name"] for o in http.get(MAPS).json()["items"]] == ["c"]


def test_an_event_is_one_thing_under_two_names(http: httpx.Client) -> None:
    event = {
        "metadata": {"name": "e", "namespace": "default"},
        "regarding": {"kind": "RayJob", "name": "job"},
        "note": "Created it",
        "reason": "Created",
        "eventTime": "2026-12-01T00:00:00.000000Z",
        "reportingController": "rayjob-controller",
    }
    newer, older = "/apis/events.k8s.io/v1", "/api/v1"
    made = http.post(f"{newer}/namespaces/default/events", json=event).json()
    assert made["note"] == "Created it"
    selector = {"fieldSelector": "involvedObject.name=job"}
    (seen,) = http.get(f"{older}/namespaces/default/events", params=selector).json()["items"]
    assert seen["message"] == "Created it"
    assert seen["reportingComponent"] == "rayjob-controller"
    assert seen["lastTimestamp"] is None


DOCUMENT = {"a": {"b": [1, 2]}, "c": "x"}


@pytest.mark.parametrize(
    ("operations", "expected"),
    [
        ([{"op": "add", "path": "/a/b/-", "value": 3}], {"a": {"b": [1, 2, 3]}, "c": "x"}),
        ([{"op": "add", "path": "/a/b/0", "value": 0}], {"a": {"b": [0, 1, 2]}, "c": "x"}),
        ([{"op": "remove", "path": "/c"}], {"a": {"b": [1, 2]}}),
        ([{"op": "replace", "path": "/c", "value": None}], {"a": {"b": [1, 2]}, "c": None}),
        ([{"op": "move", "from": "/c", "path": "/a~1b"}], {"a": {"b": [1, 2]}, "a/b": "x"}),
        ([{"op": "copy", "from": "/c", "path": "/d"}], DOCUMENT | {"d": "x"}),
        ([{"op": "test", "path": "/c", "value": "x"}], DOCUMENT),
    ],
)
def test_json_patch(operations: list[dict[str, Any]], expected: dict[str, Any]) -> None:
    before = {"a": {"b": [1, 2]}, "c": "x"}
    assert json_patch(before, operations) == expected
    assert before == DOCUMENT


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nothing"},
        {"op": "test", "path": "/c", "value": "y"},
        {"op": "add", "path": "/a/b/9", "value": 1},
    ],
)
def test_a_json_patch_that_does_not_fit_is_422(operation: dict[str, Any]) -> None:
    with pytest.raises(StoreError) as caught:
        json_patch(DOCUMENT, [operation])
    assert caught.value.status_code == 422
    with pytest.raises(BadRequest):
        json_patch(DOCUMENT, {"not": "a list"})


def test_merge_patch_takes_away_with_null() -> None:
    assert merge({"a": {"b": 1, "c": 2}}, {"a": {"b": None}, "d": [1]}) == {"a": {"c": 2}, "d": [1]}


def test_a_strategic_patch_merges_lists_by_their_key() -> None:
    current = {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]}
    changes = [{"name": "a", "image": "2"}, {"name": "b", "$patch": "delete"}, {"name": "c"}]
    patched = strategic(current, {"containers": changes}, Type("struct", "PodSpec"))
    assert patched == {"containers": [{"name": "a", "image": "2"}, {"name": "c"}]}
