"""The objects we write: valid for the CRD, whole, and giving their slice back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings

from slipway.catalog import CATALOG
from slipway.compute_class import ClassRule, ComputeClassSpec
from slipway.manifests import companions_for, compute_class_manifest, manifest_for
from slipway.naming import MAX_OBJECT_NAME
from slipway.plan import plan
from slipway.request import Provisioning, WorkloadRequest
from tests.requests import request
from tests.slipway.conftest import TARGET, requests


def manifest(asked: WorkloadRequest) -> dict[str, Any]:
    planned = plan(asked, None, CATALOG)
    return manifest_for(planned, planned.rungs[0], TARGET)


def group_of(obj: dict[str, Any]) -> dict[str, Any]:
    return obj["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]


@pytest.fixture(scope="module")
def schema(facts: Path) -> dict[str, Any]:
    crd = yaml.load(
        (facts / "kuberay" / "crds" / "ray.io_rayjobs.yaml").read_text(), yaml.CSafeLoader
    )
    version = next(v for v in crd["spec"]["versions"] if v["name"] == "v1")
    return version["schema"]["openAPIV3Schema"]


def closed(schema: Any) -> Any:
    """The same schema, refusing unknown fields as the API server's strict validation does."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        made.pop("type", None)
    return made


def missing_defaults(schema: dict[str, Any], value: Any, path: str = "") -> list[str]:
    """Fields that the API server would fill in."""
    found: list[str] = []
    if isinstance(value, dict):
        for name, part in schema.get("properties", {}).items():
            if name in value:
                found += missing_defaults(part, value[name], f"{path}.{name}")
            elif "default" in part:
                found.append(f"{path}.{name}")
    elif isinstance(value, list):
        for item in value:
            found += missing_defaults(schema.get("items", {}), item, path + "[]")
    return found


def test_the_rayjob_is_valid_for_the_crd_and_leaves_no_default_to_fill(
    schema: dict[str, Any],
) -> None:
    schema["properties"]["metadata"] = {"type": "object"}
    strict = jsonschema.Draft202012Validator(closed(schema))
    for name in CATALOG.generations:
        for shape in CATALOG.shapes(name)[:6]:
            for provisioning in Provisioning:
                if provisioning is Provisioning.FLEX_START and not shape.generation.flex_start:
                    continue
                obj = manifest(
                    request(
                        generation=name,
                        topology=str(shape.topology),
                        machine_type=shape.machine.name,
                        provisioning=provisioning,
                        reservation="r" if provisioning is Provisioning.RESERVATION else None,
                    )
                )
                assert [error.message for error in strict.iter_errors(obj)] == []
                assert missing_defaults(schema["properties"]["spec"], obj["spec"]) == []


@given(requests())
@settings(max_examples=60)
def test_the_group_is_the_slice(asked: WorkloadRequest) -> None:
    group = group_of(manifest(asked))
    shape = plan(asked, None, CATALOG).rungs[0].shape
    pod = group["template"]["spec"]
    resources = pod["containers"][0]["resources"]
    assert group["replicas"] == group["minReplicas"] == group["maxReplicas"] == asked.slices
    assert group["numOfHosts"] == shape.hosts
    assert (
        resources["requests"]["google.com/tpu"]
        == resources["limits"]["google.com/tpu"]
        == str(shape.chips_per_host)
    )
    assert pod["nodeSelector"]["cloud.google.com/gke-tpu-topology"] == asked.topology
    assert (
        pod["nodeSelector"]["cloud.google.com/gke-tpu-accelerator"]
        == shape.machine.accelerator_label
    )
    assert pod["restartPolicy"] == "Never"


@given(requests())
@settings(max_examples=60)
def test_names_and_runtime_environment_survive_any_text(asked: WorkloadRequest) -> None:
    obj = manifest(asked)
    name = obj["metadata"]["name"]
    assert len(name) <= MAX_OBJECT_NAME
    assert obj == json.loads(json.dumps(obj))
    runtime = json.loads(obj["spec"]["runtimeEnvYAML"])
    assert dict(asked.env).items() <= runtime["env_vars"].items()
    assert yaml.load(obj["spec"]["runtimeEnvYAML"], yaml.CSafeLoader) == runtime


def test_the_slice_comes_back_even_when_slipway_is_dead() -> None:
    spec = manifest(request(max_run_seconds=1000))["spec"]
    assert spec["shutdownAfterJobFinishes"] is True
    assert spec["backoffLimit"] == 0
    assert spec["preRunningDeadlineSeconds"] == 3600
    assert spec["activeDeadlineSeconds"] == 4600


def test_what_gke_sets_is_left_to_gke() -> None:
    text = json.dumps(manifest(request()))
    assert "TPU_TOPOLOGY" not in text
    assert "TPU_ACCELERATOR_TYPE" not in text


def test_head_ports_are_declared_in_full_and_named_as_kuberay_names_them() -> None:
    head = manifest(request())["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"][
        "containers"
    ][0]
    assert {port["name"]: port["containerPort"] for port in head["ports"]} == {
        "gcs-server": 6379, "dashboard": 8265, "client": 10001, "metrics": 8080, "serve": 8000,
    }  # fmt: skip


def test_a_spot_pod_selects_and_tolerates_spot() -> None:
    pod = group_of(manifest(request(provisioning=Provisioning.SPOT)))["template"]["spec"]
    assert pod["nodeSelector"]["cloud.google.com/gke-spot"] == "true"
    assert any(t["key"] == "cloud.google.com/gke-spot" for t in pod["tolerations"])


def test_the_token_is_in_the_secret_and_nowhere_else() -> None:
    planned = plan(request(), None, CATALOG)
    companions = companions_for(planned, TARGET, token="hush-hush", code_zip=b"PK")
    assert [obj["kind"] for obj in companions] == ["Secret", "ConfigMap"]
    job = manifest_for(planned, planned.rungs[0], TARGET)
    assert "hush" not in json.dumps([job, companions[1]])
    assert job["spec"]["rayClusterSpec"]["authOptions"] == {
        "mode": "token",
        "secretName": companions[0]["metadata"]["name"],
    }


def test_a_compute_class_keeps_the_order_of_its_rules(facts: Path) -> None:
    def rule(provisioning: Provisioning, **more: Any) -> ClassRule:
        values = {"zones": (), "reservation": None, "max_run_seconds": None} | more
        return ClassRule(provisioning, "v6e", "4x4", None, **values)

    spec = ComputeClassSpec(
        "c",
        (
            rule(Provisioning.SPOT, zones=("us-east5-b",)),
            rule(Provisioning.FLEX_START, max_run_seconds=3600),
            rule(Provisioning.ON_DEMAND),
            rule(Provisioning.RESERVATION, reservation="r"),
        ),
    )
    obj = compute_class_manifest(spec, CATALOG)
    crd = yaml.load(
        (facts / "gke" / "computeclasses.cloud.google.com.crd.yaml").read_text(), yaml.CSafeLoader
    )
    crd_schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    crd_schema["properties"]["metadata"] = {"type": "object"}
    errors = [
        error.message
        for error in jsonschema.Draft202012Validator(closed(crd_schema)).iter_errors(obj)
    ]
    assert errors == []
    assert [sorted(p.keys() - {"tpu", "location"}) for p in obj["spec"]["priorities"]] == [
        ["spot"], ["flexStart", "maxRunDurationSeconds"], ["spot"], ["reservations"],
    ]  # fmt: skip
    assert all(priority["tpu"]["count"] == 4 for priority in obj["spec"]["priorities"])
