"""What a request may ask, and the rungs it becomes."""

from __future__ import annotations

import pytest
from hypothesis import given

from slipway.catalog import CATALOG
from slipway.compute_class import ClassRule, ComputeClassSpec, validate_class
from slipway.errors import FieldErrors
from slipway.plan import MAX_HOSTS, plan
from slipway.request import Provisioning, WorkloadRequest
from tests.requests import request
from tests.slipway.conftest import requests


def rule(provisioning: str, topology: str = "4x4", **more: object) -> ClassRule:
    values = {
        "generation": "v6e", "machine_type": None, "zones": (), "reservation": None, "max_run_seconds": None,
    } | more  # fmt: skip
    return ClassRule(provisioning=Provisioning(provisioning), topology=topology, **values)  # type: ignore[arg-type]


def errors_of(**changes: object) -> dict[str, tuple[str, ...]]:
    with pytest.raises(FieldErrors) as caught:
        plan(request(**changes), None, CATALOG)
    return caught.value.errors


@given(requests())
def test_hosts_and_chips_follow_from_the_shape(asked: WorkloadRequest) -> None:
    rung = plan(asked, None, CATALOG).rungs[0]
    assert rung.hosts == rung.shape.hosts * asked.slices
    assert rung.chips == rung.hosts * rung.shape.chips_per_host


@given(requests())
def test_a_request_comes_back_from_its_mapping(asked: WorkloadRequest) -> None:
    assert WorkloadRequest.from_mapping(asked.to_mapping()) == asked


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"topology": "3x5"}, "topology", "4x4"),
        ({"generation": "v5p", "topology": "4x4"}, "topology", "2x2x4"),
        ({"slices": 0}, "slices", "1 to 256"),
        ({"slices": 10**9}, "slices", "1,000,000,000"),
        ({"slices": -(10**40)}, "slices", "1 to 256"),
        ({"topology": "16x16", "slices": 200}, "slices", f"{MAX_HOSTS}"),
        ({"name": "n" * 300}, "name", "300"),
        ({"name": "  "}, "name", "name"),
        ({"name": "a\nb"}, "name", "line break"),
        ({"entrypoint": ""}, "entrypoint", "python main.py"),
        ({"entrypoint": "a\x00"}, "entrypoint", "control"),
        ({"entrypoint": "a" * 5000}, "entrypoint", "4096"),
        ({"provisioning": None}, "provisioning", "spot"),
        ({"provisioning": Provisioning.RESERVATION}, "reservation", "Name"),
        ({"reservation": "r"}, "reservation", "Empty"),
        ({"generation": "v4", "topology": "2x2x2", "provisioning": Provisioning.FLEX_START}, "provisioning", "flex"),
        ({"pip": ("--index-url http://evil",)}, "pip", "requirement"),
        ({"pip": ("a\nb",)}, "pip", "requirement"),
        ({"env": (("TPU_NAME", "x"),)}, "env", "prefix"),
        ({"env": (("slipway_x", "x"),)}, "env", "prefix"),
        ({"env": (("A B", "x"),)}, "env", "name"),
        ({"env": (("A", "x"), ("A", "y"))}, "env", "twice"),
        ({"env": (("A", "x" * 40_000),)}, "env", "32 KiB"),
        ({"max_run_seconds": 5}, "max_run_seconds", "60"),
        ({"retries": 11}, "retries", "10"),
        ({"generation": None}, "generation", "compute class"),
        ({"topology": None}, "topology", "16x16"),
        ({"kind": "service"}, "kind", "job"),
        ({"compute_class": "nope"}, "compute_class", "nope"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_at_its_field(
    changes: dict[str, object], field: str, says: str
) -> None:
    found = errors_of(**changes)
    assert field in found
    assert says in " ".join(found[field])


def test_everything_that_is_wrong_is_said_at_once() -> None:
    assert set(errors_of(name="", slices=0, topology="3x5", retries=-1)) == {
        "name",
        "slices",
        "topology",
        "retries",
    }


def test_rules_of_one_shape_are_one_rung_wherever_they_stand() -> None:
    spec = ComputeClassSpec("c", (rule("spot"), rule("spot", "4x8"), rule("on-demand")))
    rungs = plan(request(compute_class="c"), spec, CATALOG).rungs
    assert [(str(rung.shape.topology), rung.provisionings) for rung in rungs] == [
        ("4x4", (Provisioning.SPOT, Provisioning.ON_DEMAND)),
        ("4x8", (Provisioning.SPOT,)),
    ]
    assert rungs[0].wait_s < rungs[1].wait_s


def test_a_2x4_on_two_hosts_is_warned_about() -> None:
    warned = plan(request(topology="2x4", machine_type="ct6e-standard-4t"), None, CATALOG)
    assert any("chips_per_vm=4" in warning for warning in warned.warnings)
    assert not any(
        "chips_per_vm" in w for w in plan(request(topology="2x4"), None, CATALOG).warnings
    )


def test_spot_without_retries_and_secrets_in_variables_are_warned_about() -> None:
    warned = plan(
        request(provisioning=Provisioning.SPOT, env=(("HF_TOKEN", "x"),)), None, CATALOG
    ).warnings
    assert any("Spot" in warning for warning in warned)
    assert any("HF_TOKEN" in warning for warning in warned)


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ((), "rules"),
        ((rule("spot", "3x5"),), "rules.0.topology"),
        ((rule("spot"), rule("spot")), "rules.1.provisioning"),
        ((rule("reservation"),), "rules.0.reservation"),
        ((rule("reservation", reservation="r", zones=("us-east5-b",)),), "rules.0.zones"),
        ((rule("spot", reservation="r"),), "rules.0.reservation"),
        ((rule("spot", zones=("nowhere",)),), "rules.0.zones"),
        ((rule("flex-start", max_run_seconds=5),), "rules.0.max_run_seconds"),
        ((rule("spot", max_run_seconds=5000),), "rules.0.max_run_seconds"),
        ((rule("flex-start", "2x2x2", generation="v4"),), "rules.0.provisioning"),
    ],
)
def test_a_class_is_refused_at_the_field_of_its_rule(
    rules: tuple[ClassRule, ...], field: str
) -> None:
    with pytest.raises(FieldErrors) as caught:
        validate_class(ComputeClassSpec("c", rules), CATALOG)
    assert field in caught.value.errors


@pytest.mark.parametrize("name", ["", "A", "1a", "a" * 41, "a_b", "a-", "../x"])
def test_a_class_needs_a_name_that_gke_takes(name: str) -> None:
    with pytest.raises(FieldErrors) as caught:
        validate_class(ComputeClassSpec(name, (rule("spot"),)), CATALOG)
    assert "name" in caught.value.errors
