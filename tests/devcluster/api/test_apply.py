"""Server-side apply: who owns what, and what happens when two want the same field."""

from __future__ import annotations

from typing import Any

import httpx

from devcluster.store import Store
from tests.devcluster.api.conftest import JOBS, MAPS, apply, config_map, patch, rayjob, stored_job


def managers(obj: dict[str, Any]) -> list[tuple[str, str]]:
    return [(row["manager"], row["operation"]) for row in obj["metadata"]["managedFields"]]


def test_applying_creates_and_applying_the_same_again_changes_nothing(http: httpx.Client) -> None:
    first = apply(http, JOBS, rayjob(entrypoint="a"), "slipway")
    second = apply(http, JOBS, rayjob(entrypoint="a"), "slipway")
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()


def test_a_field_of_another_manager_with_another_value_is_a_conflict(http: httpx.Client) -> None:
    apply(http, JOBS, rayjob(entrypoint="a"), "slipway")
    answer = apply(http, JOBS, rayjob(entrypoint="b"), "kubectl")
    assert (answer.status_code, answer.json()["reason"]) == (409, "Conflict")
    assert answer.json()["message"] == (
        'Apply failed with 1 conflict: conflict with "slipway" using ray.io/v1: .spec.entrypoint'
    )
    (cause,) = answer.json()["details"]["causes"]
    assert cause["reason"] == "FieldManagerConflict"


def test_force_takes_the_field_over(http: httpx.Client) -> None:
    apply(http, JOBS, rayjob(entrypoint="a"), "slipway")
    forced = apply(http, JOBS, rayjob(entrypoint="b"), "kubectl", force="true").json()
    assert forced["spec"]["entrypoint"] == "b"
    assert managers(forced) == [("kubectl", "Apply")]


def test_two_may_own_a_field_while_they_agree(http: httpx.Client) -> None:
    apply(http, MAPS, config_map("m", k="v"), "one")
    apply(http, MAPS, config_map("m", k="v"), "two")
    left = apply(http, MAPS, config_map("m"), "one").json()
    assert left["data"] == {"k": "v"}
    assert "data" not in apply(http, MAPS, config_map("m"), "two").json()


def test_what_a_manager_no_longer_wants_goes_unless_it_is_anothers(http: httpx.Client) -> None:
    apply(http, MAPS, config_map("m", mine="1", kept="2"), "slipway")
    patch(http, f"{MAPS}/m", "merge", {"data": {"theirs": "3"}}, fieldManager="kubectl-edit")
    left = apply(http, MAPS, config_map("m", kept="2"), "slipway").json()
    assert left["data"] == {"kept": "2", "theirs": "3"}


def test_an_ordinary_write_takes_the_fields_it_changes(http: httpx.Client) -> None:
    apply(http, JOBS, rayjob(entrypoint="a"), "slipway")
    patch(http, f"{JOBS}/job", "merge", {"spec": {"entrypoint": "b"}}, fieldManager="edit")
    assert apply(http, JOBS, rayjob(entrypoint="a"), "slipway").status_code == 409


def test_containers_are_merged_by_name_and_ports_by_number(http: httpx.Client) -> None:
    def cluster(*containers: dict[str, Any]) -> dict[str, Any]:
        head = {"template": {"spec": {"containers": list(containers)}}}
        return rayjob(rayClusterSpec={"headGroupSpec": head})

    ports = [{"containerPort": 8265, "name": "dashboard"}]
    apply(http, JOBS, cluster({"name": "head", "image": "ray", "ports": ports}), "slipway")
    more = cluster({"name": "head", "ports": [{"containerPort": 9000}]}, {"name": "sidecar"})
    both = apply(http, JOBS, more, "other").json()
    head, sidecar = both["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"][
        "containers"
    ]
    assert sidecar == {"name": "sidecar"}
    assert head["image"] == "ray"
    assert [port["containerPort"] for port in head["ports"]] == [8265, 9000]


def test_a_finalizer_of_a_controller_survives_an_apply(http: httpx.Client) -> None:
    apply(http, JOBS, rayjob(entrypoint="a"), "slipway")
    body = {"metadata": {"finalizers": ["ray.io/rayjob-finalizer"]}}
    patch(http, f"{JOBS}/job", "merge", body, fieldManager="operator")
    again = apply(http, JOBS, rayjob(entrypoint="b"), "slipway").json()
    assert again["metadata"]["finalizers"] == ["ray.io/rayjob-finalizer"]


def test_a_structure_that_the_schema_does_not_know_is_a_500_without_reason(
    http: httpx.Client,
) -> None:
    for wrong in (rayjob(colour="red"), rayjob(entrypoint=3)):
        answer = apply(http, JOBS, wrong, "slipway")
        assert answer.status_code == 500
        assert "reason" not in answer.json()
        assert answer.json()["message"].startswith(
            "failed to create typed patch object (default/job"
        )


def test_an_apply_names_its_manager_and_its_kind(http: httpx.Client) -> None:
    assert apply(http, JOBS, rayjob(), "").status_code == 422
    without_kind = rayjob()
    del without_kind["kind"]
    assert apply(http, JOBS, without_kind, "slipway").status_code == 400


def test_a_dry_run_of_an_apply_stores_nothing(http: httpx.Client, store: Store) -> None:
    assert apply(http, JOBS, rayjob(), "slipway", dryRun="All").status_code == 201
    assert http.get(f"{JOBS}/job").status_code == 404
    apply(http, JOBS, rayjob(entrypoint="a"), "slipway")
    shown = apply(http, JOBS, rayjob(entrypoint="b"), "slipway", dryRun="All").json()
    assert shown["spec"]["entrypoint"] == "b"
    assert stored_job(store)["spec"]["entrypoint"] == "a"
