"""Requests and targets as plain values; hypothesis strategies over all of the catalog."""

from __future__ import annotations

from hypothesis import strategies as st

from slipway.catalog import CATALOG
from slipway.naming import Target
from slipway.request import Provisioning, WorkloadRequest
from tests.requests import request

TARGET = Target(
    instance="tests",
    namespace="team-research",
    team="research",
    owner="dev",
    workload_uid="abcd2345",
    attempt=1,
    ray_image="rayproject/ray:2.60.0-py311",
    ray_version="2.60.0",
)


ALL_SHAPES = [shape for name in CATALOG.generations for shape in CATALOG.shapes(name)]


@st.composite
def requests(draw: st.DrawFn) -> WorkloadRequest:
    """Any request that is possible."""
    shape = draw(st.sampled_from([shape for shape in ALL_SHAPES if shape.hosts <= 1000]))
    ways = [
        p for p in Provisioning if p is not Provisioning.FLEX_START or shape.generation.flex_start
    ]
    provisioning = draw(st.sampled_from(ways))
    text = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=63)
    return request(
        name=draw(text),
        generation=shape.generation.name,
        topology=str(shape.topology),
        machine_type=shape.machine.name,
        provisioning=provisioning,
        reservation="res-1" if provisioning is Provisioning.RESERVATION else None,
        slices=draw(st.integers(1, 4)),
        env=tuple(
            draw(
                st.dictionaries(
                    st.from_regex(r"[A-Z]{3,8}_X", fullmatch=True),
                    st.text("abé\"'\n{}$", max_size=20),
                    max_size=3,
                )
            ).items()
        ),
        max_run_seconds=draw(st.integers(60, 30 * 86_400)),
        retries=draw(st.integers(0, 10)),
    )
