"""Our compact types against KubeRay's and GKE's own CRDs, samples and status examples."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from devcluster.schemas import cel_rules
from devcluster.schemas.check import check
from devcluster.schemas.model import ABSENT, Rule, Type, structs

CRDS = {
    "RayJob": "kuberay/crds/ray.io_rayjobs.yaml",
    "RayCluster": "kuberay/crds/ray.io_rayclusters.yaml",
    "RayService": "kuberay/crds/ray.io_rayservices.yaml",
    "ComputeClass": "gke/computeclasses.cloud.google.com.crd.yaml",
}
SCALARS = {
    "string": "string",
    "time": "string",
    "bool": "boolean",
    "int32": "integer",
    "int64": "integer",
    "number": "number",
}


@cache
def crd_schema(path: Path) -> dict[str, Any]:
    """The OpenAPI schema of version v1. Megabytes of YAML: the C loader, once."""
    crd = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    version = next(v for v in crd["spec"]["versions"] if v["name"] == "v1")
    schema: dict[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema


def differences(type_: Type, theirs: dict[str, Any], path: str) -> list[str]:
    """What we accept and they don't, or know with another type, default, choice or requirement."""
    if type_.form == "any":
        return []
    if type_.form == "scalar":
        wanted = SCALARS.get(type_.name)
        is_mixed = theirs.get("x-kubernetes-int-or-string", False)
        same = is_mixed if wanted is None else theirs.get("type") == wanted
        return [] if same else [f"{path}: {type_.name} against {theirs.get('type')}"]
    if type_.form == "list":
        return differences(type_.item, theirs.get("items", {}), f"{path}[]")
    if type_.form == "map":
        return differences(type_.item, theirs.get("additionalProperties", {}), f"{path}{{}}")
    found = []
    properties, required = theirs.get("properties", {}), theirs.get("required", [])
    for name, field in structs()[type_.name].items():
        at = f"{path}.{name}"
        if name not in properties:
            found.append(f"{at}: not theirs")
            continue
        their_field = properties[name]
        if (name in required) != field.required:
            found.append(f"{at}: required here {field.required}, there {name in required}")
        default = None if field.default is ABSENT else field.default
        if their_field.get("default") != default:
            found.append(f"{at}: default {default!r} against {their_field.get('default')!r}")
        is_open = field.type.form == "any"
        if not is_open and set(their_field.get("enum", ())) != set(field.choices):
            found.append(f"{at}: choices {field.choices} against {their_field.get('enum')}")
        if tuple(their_field.get("x-kubernetes-list-map-keys", ())) != field.keys:
            found.append(f"{at}: list keys {field.keys}")
        found += differences(field.type, their_field, at)
    return found


@pytest.mark.parametrize("kind", CRDS)
def test_what_a_spec_may_hold_is_what_the_crd_lets_it_hold(facts: Path, kind: str) -> None:
    theirs = crd_schema(facts / CRDS[kind])["properties"]["spec"]
    ours = structs()[kind]["spec"].type
    assert differences(ours, theirs, "spec") == []


@pytest.mark.parametrize("kind", ["RayJob", "RayCluster"])
def test_every_spec_field_of_the_crd_is_known_here(facts: Path, kind: str) -> None:
    """Down to the pod template, where rare fields are left out; there only a subset is promised."""
    theirs = crd_schema(facts / CRDS[kind])["properties"]["spec"]["properties"]
    assert set(theirs) <= set(structs()[f"{kind}Spec"])
    if kind == "RayCluster":
        head = theirs["headGroupSpec"]["properties"]
        group = theirs["workerGroupSpecs"]["items"]["properties"]
        assert set(head) == set(structs()["HeadGroup"])
        assert set(group) == set(structs()["WorkerGroup"])


def test_every_tpu_sample_is_accepted_without_an_unknown_field(facts: Path) -> None:
    samples = sorted((facts / "kuberay" / "tpu-samples").glob("*.yaml"))
    assert samples
    for file in samples:
        for obj in yaml.safe_load_all(file.read_text()):
            if obj and obj["apiVersion"] == "ray.io/v1":
                found = check(obj["kind"], obj, None, custom=True)
                assert (file.name, found.causes, found.unknown) == (file.name, [], [])


def test_every_status_example_is_a_valid_status(facts: Path) -> None:
    kinds = {"rayjob": "RayJob", "raycluster": "RayCluster"}
    checked = 0
    for file in sorted((facts / "kuberay" / "status-examples").glob("*.json")):
        kind = kinds.get(file.name.split(".")[0])
        if kind is not None:
            example = json.loads(file.read_text())
            status = example.get("status", example)
            found = check(kind, {"status": status}, None, custom=True)
            assert (file.name, found.causes, found.unknown) == (file.name, [], [])
            checked += 1
    assert checked > 20


def test_a_wrong_type_is_named_with_its_path() -> None:
    (cause,) = check("RayJob", {"spec": {"entrypoint": 3}}, None, custom=True).causes
    assert cause.field == "spec.entrypoint"
    assert "must be of type string" in cause.message


def test_a_number_outside_its_range_is_refused() -> None:
    job = {"spec": {"activeDeadlineSeconds": 2**31, "preRunningDeadlineSeconds": 0}}
    causes = check("RayJob", job, None, custom=True).causes
    assert {c.field for c in causes} == {
        "spec.activeDeadlineSeconds",
        "spec.preRunningDeadlineSeconds",
    }


def test_a_rule_between_fields_is_judged() -> None:
    strategy = {"onSuccess": {"policy": "DeleteSelf"}}
    (cause,) = check("RayJob", {"spec": {"deletionStrategy": strategy}}, None, custom=True).causes
    assert "requires either BOTH onSuccess and onFailure" in cause.message


def test_a_transition_rule_is_judged_on_updates_only() -> None:
    other = {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}
    before = {"spec": {"managedBy": "ray.io/kuberay-operator"}}
    assert check("RayJob", other, None, custom=True).causes == []
    (cause,) = check("RayJob", other, before, custom=True).causes
    assert "immutable" in cause.message


@pytest.mark.parametrize("rule", ["self.unheardOf(3)", "this is ( not CEL", "size(self)"])
def test_a_rule_that_cannot_be_judged_is_reported_and_not_passed(
    monkeypatch: pytest.MonkeyPatch, rule: str
) -> None:
    monkeypatch.setattr(cel_rules, "rules", lambda _struct: (Rule("", rule, "never"),))
    found = cel_rules.evaluate("RayJobSpec", {"entrypoint": "true"}, None, "spec")
    assert found.causes == []
    assert found.not_evaluated == [f"spec: rule not evaluated: {rule}"]


def test_two_containers_of_one_name_are_duplicates_to_a_custom_resource() -> None:
    template = {"spec": {"containers": [{"name": "a"}, {"name": "a"}]}}
    cluster = {"spec": {"headGroupSpec": {"template": template}}}
    (cause,) = check("RayCluster", cluster, None, custom=True).causes
    assert cause.field.endswith("containers[1]")
    assert cause.reason == "FieldValueDuplicate"
