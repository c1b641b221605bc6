"""What Slipway relies on in a Kubernetes API server, said with the official client."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kubernetes import client, watch
from kubernetes.client import ApiException

from devcluster.testing import DevCluster
from slipway.catalog import CATALOG
from slipway.manifests import manifest_for
from slipway.naming import Target
from slipway.plan import plan
from tests.contract.conftest import Cluster
from tests.requests import request

GROUP = ("ray.io", "v1")


def rayjob(cluster: Cluster, uid: str, **changes: Any) -> dict[str, Any]:
    planned = plan(request(code=None, **changes), None, CATALOG)
    target = Target(
        "contract",
        cluster.namespace,
        "contract",
        "dev",
        uid,
        1,
        "rayproject/ray:2.60.0-py311",
        "2.60.0",
    )
    return manifest_for(planned, planned.rungs[0], target)


def create(cluster: Cluster, obj: dict[str, Any], **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = cluster.custom.create_namespaced_custom_object(
        *GROUP, cluster.namespace, "rayjobs", obj, **options
    )
    return found


def get(cluster: Cluster, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cluster.custom.get_namespaced_custom_object(
        *GROUP, cluster.namespace, "rayjobs", name
    )
    return found


def refused(call: Any, *arguments: Any, **options: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(ApiException) as caught:
        call(*arguments, **options)
    return caught.value.status, json.loads(caught.value.body)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"contract": "yes"}},
        "data": data,
    }


def test_the_version_is_told(cluster: Cluster) -> None:
    assert client.VersionApi(cluster.api).get_code().git_version.startswith("v1.")


def test_a_rayjob_is_stored_as_it_was_written(cluster: Cluster) -> None:
    obj = rayjob(cluster, "abcdaaa2")
    stored = create(cluster, obj, field_validation="Strict")
    assert stored["spec"] == obj["spec"]
    assert {"uid", "resourceVersion", "creationTimestamp", "generation"} <= stored[
        "metadata"
    ].keys()
    assert get(cluster, obj["metadata"]["name"])["spec"] == obj["spec"]


def test_a_second_create_is_already_exists(cluster: Cluster) -> None:
    obj = rayjob(cluster, "abcdaaa3")
    create(cluster, obj)
    status, body = refused(create, cluster, obj)
    assert (status, body["reason"], body["kind"]) == (409, "AlreadyExists", "Status")


def test_what_is_not_there_is_not_found(cluster: Cluster) -> None:
    status, body = refused(get, cluster, "nothing")
    assert (status, body["reason"]) == (404, "NotFound")
    assert body["message"] == 'rayjobs.ray.io "nothing" not found'


def test_a_wrong_type_is_invalid_and_nothing_is_stored(cluster: Cluster) -> None:
    obj = rayjob(cluster, "abcdaaa4")
    obj["spec"]["backoffLimit"] = "none"
    status, body = refused(create, cluster, obj)
    assert (status, body["reason"]) == (422, "Invalid")
    assert "spec.backoffLimit" in body["message"]
    assert refused(get, cluster, obj["metadata"]["name"])[0] == 404


def test_an_unknown_field_is_refused_by_strict_and_dropped_by_ignore(cluster: Cluster) -> None:
    obj = rayjob(cluster, "abcdaaa5")
    obj["spec"]["shutdownAfterJobFinish"] = True
    status, body = refused(create, cluster, obj, field_validation="Strict")
    assert status in (400, 422)
    assert 'unknown field "spec.shutdownAfterJobFinish"' in body["message"]
    stored = create(cluster, obj, field_validation="Ignore")
    assert "shutdownAfterJobFinish" not in stored["spec"]


def test_a_dry_run_answers_and_stores_nothing(cluster: Cluster) -> None:
    obj = rayjob(cluster, "abcdaaa6")
    assert create(cluster, obj, dry_run="All")["metadata"]["uid"]
    assert refused(get, cluster, obj["metadata"]["name"])[0] == 404


def test_status_is_not_written_with_the_object(cluster: Cluster) -> None:
    obj = rayjob(cluster, "abcdaaa7") | {"status": {"jobStatus": "SUCCEEDED"}}
    create(cluster, obj)
    assert get(cluster, obj["metadata"]["name"]).get("status", {}).get("jobStatus") != "SUCCEEDED"


def test_a_merge_patch_changes_one_field_and_counts_a_generation(cluster: Cluster) -> None:
    obj = rayjob(cluster, "abcdaaa8")
    before = create(cluster, obj)
    name = obj["metadata"]["name"]
    patched = cluster.custom.patch_namespaced_custom_object(
        *GROUP, cluster.namespace, "rayjobs", name, {"spec": {"ttlSecondsAfterFinished": 5}}
    )
    assert patched["spec"]["ttlSecondsAfterFinished"] == 5
    assert patched["metadata"]["generation"] == before["metadata"]["generation"] + 1


def test_a_stale_write_is_a_conflict(cluster: Cluster) -> None:
    cluster.core.create_namespaced_config_map(cluster.namespace, config_map("stale"))
    first = cluster.core.read_namespaced_config_map("stale", cluster.namespace)
    first.data = {"a": "1"}
    cluster.core.replace_namespaced_config_map("stale", cluster.namespace, first)
    status, body = refused(
        cluster.core.replace_namespaced_config_map, "stale", cluster.namespace, first
    )
    assert (status, body["reason"]) == (409, "Conflict")


def test_labels_and_fields_select(cluster: Cluster) -> None:
    for name in ("one", "two"):
        body = config_map(f"select-{name}")
        body["metadata"]["labels"] = {"pick": name}
        cluster.core.create_namespaced_config_map(cluster.namespace, body)

    def names(**options: str) -> list[str]:
        found = cluster.core.list_namespaced_config_map(cluster.namespace, **options).items
        return sorted(
            item.metadata.name for item in found if item.metadata.name.startswith("select-")
        )

    assert names(label_selector="pick=one") == ["select-one"]
    assert names(label_selector="pick!=one") == ["select-two"]
    assert names(label_selector="pick in (one,two)") == ["select-one", "select-two"]
    assert names(field_selector="metadata.name=select-two") == ["select-two"]


def test_a_list_comes_in_pages_of_one_moment(cluster: Cluster) -> None:
    for number in range(5):
        cluster.core.create_namespaced_config_map(cluster.namespace, config_map(f"page-{number}"))
    names, more = [], None
    while True:
        part = cluster.core.list_namespaced_config_map(cluster.namespace, limit=2, _continue=more)
        names += [item.metadata.name for item in part.items]
        more = part.metadata._continue
        if not more:
            break
    assert {f"page-{number}" for number in range(5)} <= set(names)
    assert len(names) == len(set(names))


def test_a_watch_tells_what_changed_since_the_list(cluster: Cluster) -> None:
    began = cluster.core.list_namespaced_config_map(cluster.namespace).metadata.resource_version
    cluster.core.create_namespaced_config_map(cluster.namespace, config_map("watched", a="1"))
    cluster.core.patch_namespaced_config_map("watched", cluster.namespace, {"data": {"a": "2"}})
    cluster.core.delete_namespaced_config_map("watched", cluster.namespace)
    told = []
    for event in watch.Watch().stream(
        cluster.core.list_namespaced_config_map,
        cluster.namespace,
        resource_version=began,
        timeout_seconds=5,
    ):
        if event["object"].metadata.name == "watched":
            told.append(event["type"])
        if told[-1:] == ["DELETED"]:
            break
    assert told == ["ADDED", "MODIFIED", "DELETED"]


def test_server_side_apply_makes_then_changes_what_it_owns(cluster: Cluster) -> None:
    def apply(**data: str) -> Any:
        body = config_map("applied", **data)
        return cluster.core.patch_namespaced_config_map(
            "applied", cluster.namespace, body, field_manager="contract", force=True,
            _content_type="application/apply-patch+yaml",
        )  # fmt: skip

    assert apply(a="1", b="2").data == {"a": "1", "b": "2"}
    changed = apply(a="3")
    assert changed.data == {"a": "3"}
    assert changed.metadata.managed_fields[0].manager == "contract"


def test_what_an_owner_leaves_goes_with_it(cluster: Cluster) -> None:
    obj = rayjob(cluster, "abcdaab2")
    owner = create(cluster, obj)
    body = config_map("owned")
    body["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
        }
    ]
    cluster.core.create_namespaced_config_map(cluster.namespace, body)
    cluster.custom.delete_namespaced_custom_object(
        *GROUP, cluster.namespace, "rayjobs", owner["metadata"]["name"]
    )
    for _ in range(60):
        cluster.settle()
        names = [
            item.metadata.name
            for item in cluster.core.list_namespaced_config_map(cluster.namespace).items
        ]
        if "owned" not in names:
            return
    raise AssertionError("the owned object is still there")


def test_a_deletion_meant_for_another_uid_is_a_conflict(cluster: Cluster) -> None:
    cluster.core.create_namespaced_config_map(cluster.namespace, config_map("precise"))
    options = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid="another"))
    status, body = refused(
        cluster.core.delete_namespaced_config_map, "precise", cluster.namespace, body=options
    )
    assert (status, body["reason"]) == (409, "Conflict")


def test_an_object_in_no_namespace_of_ours_is_not_found(cluster: Cluster) -> None:
    status, body = refused(
        cluster.core.create_namespaced_config_map, "no-such-namespace", config_map("x")
    )
    assert (status, body["reason"]) == (404, "NotFound")


def test_nobody_enters_without_a_token(cluster: Cluster, dev: DevCluster) -> None:
    settings = client.Configuration(host=dev.url)
    settings.ssl_ca_cert = str(dev.ca_file)
    api = client.CoreV1Api(client.ApiClient(settings))
    assert refused(api.list_namespace)[0] in (401, 403)


def test_slipways_own_token_may_what_slipway_does_and_no_more(
    cluster: Cluster, dev: DevCluster
) -> None:
    from kubernetes import config

    ours = client.CoreV1Api(
        config.new_client_from_config(str(cluster.kubeconfig), context="slipway")
    )
    ours.list_pod_for_all_namespaces()
    status, body = refused(ours.delete_namespace, cluster.namespace)
    assert (status, body["reason"]) == (403, "Forbidden")
    assert "cannot delete resource" in body["message"]


def test_kuberay_takes_a_job_through_its_states_and_tells_events(
    cluster: Cluster, dev: DevCluster
) -> None:
    obj = rayjob(cluster, "abcdaab3", topology="2x2")
    # The Secret that holds Ray's token has to be there before the pods.
    cluster.core.create_namespaced_secret(
        cluster.namespace,
        {
            "metadata": {"name": f"{obj['metadata']['name']}-auth"},
            "stringData": {"auth_token": "t"},
        },
    )
    create(cluster, obj)
    dev.advance(10)
    assert get(cluster, obj["metadata"]["name"])["status"]["jobStatus"] == "RUNNING"
    pods = cluster.core.list_namespaced_pod(
        cluster.namespace, label_selector="slipway.dev/workload=abcdaab3"
    ).items
    assert sorted(pod.metadata.labels["ray.io/node-type"] for pod in pods) == ["head", "worker"]
    log = cluster.core.read_namespaced_pod_log(pods[0].metadata.name, cluster.namespace)
    assert isinstance(log, str)
    dev.set_job("SUCCEEDED", name=obj["metadata"]["name"])
    dev.advance(5)
    status = get(cluster, obj["metadata"]["name"])["status"]
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
    events = cluster.core.list_namespaced_event(cluster.namespace).items
    assert {"CreatedRayCluster", "CreatedWorkerPod", "Scheduled"} <= {
        event.reason for event in events
    }


def test_a_spec_that_kuberay_refuses_is_accepted_then_marked(
    cluster: Cluster, dev: DevCluster
) -> None:
    obj = rayjob(cluster, "abcdaab4")
    obj["spec"]["shutdownAfterJobFinishes"] = False
    create(cluster, obj)
    dev.settle()
    status = get(cluster, obj["metadata"]["name"])["status"]
    assert (status["jobDeploymentStatus"], status["reason"]) == (
        "ValidationFailed",
        "ValidationFailed",
    )


def test_hosts_that_do_not_match_the_topology_are_refused_by_the_webhook(
    cluster: Cluster, dev: DevCluster
) -> None:
    obj = rayjob(cluster, "abcdaab5")
    obj["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["numOfHosts"] = 3
    create(cluster, obj)
    dev.advance(5)
    assert get(cluster, obj["metadata"]["name"])["status"]["jobDeploymentStatus"] == "Initializing"
    events = cluster.core.list_namespaced_event(cluster.namespace).items
    failed = [event.message for event in events if event.reason == "FailedToCreateRayCluster"]
    assert any(
        "Number of workers in worker group not equal to specified topology" in text
        for text in failed
    )
