"""devcluster's machine table was written apart from ours, so that one's mistake is not the other's. They agree."""

from __future__ import annotations

from devcluster.capacity import MACHINES
from slipway.catalog import CATALOG


def test_every_machine_that_we_offer_is_the_same_machine_there() -> None:
    theirs = {machine.name: machine for machine in MACHINES}
    for generation in CATALOG.generations.values():
        for ours in generation.machines:
            other = theirs[ours.name]
            assert (other.accelerator, other.chips, other.vcpus, other.memory_gib) == (
                ours.accelerator_label,
                ours.chips,
                ours.vcpus,
                ours.memory_gib,
            ), ours.name
            assert other.cores_per_chip == generation.cores_per_chip
