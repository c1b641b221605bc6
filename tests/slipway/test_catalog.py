"""Our catalog against the reference table, row by row."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from slipway.catalog import CATALOG, load
from slipway.errors import CatalogError, FieldErrors
from slipway.topology import Topology, resolve_shape

# The reference names this generation as GKE does, we as Ray does. tpu7 is not accepted by Ray and not offered.
OUR_NAME = {"tpu7x": "v7x"}
NOT_OFFERED = {"tpu7"}


@pytest.fixture(scope="module")
def rows(facts: Path) -> list[dict[str, str]]:
    with (facts / "gke" / "tpu_topologies.csv").open() as lines:
        found = [row for row in csv.DictReader(lines) if row["generation"] not in NOT_OFFERED]
    assert len(found) > 1000
    return found


def test_every_attested_row_is_a_shape_with_the_same_numbers(rows: list[dict[str, str]]) -> None:
    for row in rows:
        if row["confidence"] == "low":
            continue
        generation = OUR_NAME.get(row["generation"], row["generation"])
        shape = resolve_shape(CATALOG, generation, row["topology"], row["machine_type"])
        assert (shape.chips, shape.hosts) == (int(row["chips"]), int(row["hosts"])), row
        assert shape.is_multi_host == (row["mode"] == "multi-host"), row
        assert shape.pod_type == row["pod_type"], row


def test_what_only_one_doubtful_source_knows_is_refused(rows: list[dict[str, str]]) -> None:
    doubtful = [row for row in rows if row["confidence"] == "low"]
    assert doubtful
    for row in doubtful:
        with pytest.raises(FieldErrors):
            resolve_shape(CATALOG, row["generation"], row["topology"], row["machine_type"])


def test_we_offer_nothing_beyond_the_reference(rows: list[dict[str, str]]) -> None:
    known = {
        (OUR_NAME.get(r["generation"], r["generation"]), r["topology"], r["machine_type"])
        for r in rows
    }
    ours = {
        (name, str(shape.topology), shape.machine.name)
        for name in CATALOG.generations
        for shape in CATALOG.shapes(name)
    }
    assert ours <= known


def test_every_shape_draws_each_chip_once_with_whole_hosts() -> None:
    for name in CATALOG.generations:
        for shape in CATALOG.shapes(name)[:40]:
            chips = shape.chip_positions()
            assert len({(c.x, c.y, c.z) for c in chips}) == len(chips) == shape.chips
            assert {c.worker_id for c in chips} == set(range(shape.hosts))
            assert {c.chip for c in chips} == set(range(shape.chips_per_host))
            sizes = shape.topology.dims
            assert all(c.x < sizes[0] and c.y < sizes[1] and c.z < (*sizes, 1)[2] for c in chips)


@pytest.mark.parametrize("generation", ["v5e", "v6e"])
def test_a_2x4_is_one_host_of_eight_or_two_of_four(generation: str) -> None:
    eight, four = {
        "v5e": ("ct5lp-hightpu-8t", "ct5lp-hightpu-4t"),
        "v6e": ("ct6e-standard-8t", "ct6e-standard-4t"),
    }[generation]
    assert resolve_shape(CATALOG, generation, "2x4", eight).hosts == 1
    assert resolve_shape(CATALOG, generation, "2x4", four).hosts == 2
    assert resolve_shape(CATALOG, generation, "2x4", None).hosts == 1


@pytest.mark.parametrize(
    ("generation", "topology", "machine", "field", "offers"),
    [
        ("v6e", "3x5", None, "topology", "4x4"),
        ("v5p", "4x4", None, "topology", "2x2x4"),
        ("v6e", "2x2x2", None, "topology", "2 dimensions"),
        ("v6e", "2x4", "ct6e-standard-1t", "machine_type", "2 hosts"),
        ("v6e", "4x4", "ct5lp-hightpu-4t", "machine_type", "ct6e-standard-4t"),
        ("v9", "4x4", None, "generation", "v6e"),
        ("v6e", "x" * 5000, None, "topology", "4x4"),
        ("v6e", "４x４", None, "topology", "Possible"),
        ("v6e", "0x4", None, "topology", "Possible"),
        ("v6e", "9999x9999", None, "topology", "16x16"),
        ("v6e", "4X4", None, "topology", "Possible"),
    ],
)
def test_an_impossible_shape_is_refused_at_its_field_with_what_is_possible(
    generation: str, topology: str, machine: str | None, field: str, offers: str
) -> None:
    with pytest.raises(FieldErrors) as caught:
        resolve_shape(CATALOG, generation, topology, machine)
    assert list(caught.value.errors) == [field]
    message = caught.value.errors[field][0]
    assert offers in message or "Possible" in message
    assert len(message) < 400


def test_a_catalog_that_contradicts_itself_is_not_loaded(tmp_path: Path) -> None:
    source = Path(load.__code__.co_filename).parent / "data"
    for file in source.iterdir():
        (tmp_path / file.name).write_text(file.read_text())
    machines = tmp_path / "machines.csv"
    machines.write_text(
        machines.read_text().replace("ct6e-standard-4t,v6e,4", "ct6e-standard-4t,v6e,3")
    )
    with pytest.raises(CatalogError):
        load(tmp_path)


@pytest.mark.parametrize("text", ["", "4", "4x", "x4", "4x4x4x4", "-4x4", "4 x 4", "4x4\n"])
def test_what_is_no_topology_does_not_parse(text: str) -> None:
    with pytest.raises(ValueError, match="is not a topology"):
        Topology.parse(text)
