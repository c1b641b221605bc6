"""A spec comes from anybody: whatever JSON it is, the answer is findings."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from slipway.catalog import CATALOG
from slipway.class_rules import check
from slipway.class_rules.structure import tables
from tests.slipway.class_rules.examples import EXAMPLES

FIELDS = sorted({field for fields in tables().values() for field in fields})
WORDS = sorted(
    {
        "Specific",
        "SEV",
        "TDX",
        "tpu-v6e-slice",
        "tpu7x",
        "2x4",
        "4x4",
        "3s",
        "-1h",
        "rdma",
        "custom_containerd",
    }
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(WORDS)
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), inner, max_size=6)
    ),
    max_leaves=25,
)


@given(
    spec=st.dictionaries(st.sampled_from(sorted(tables()["Spec"])), anything, max_size=8),
    old=st.none()
    | st.dictionaries(st.sampled_from(sorted(tables()["Spec"])), anything, max_size=4),
    name=st.text(max_size=70),
)
@settings(max_examples=300, deadline=None)
def test_any_mapping_is_answered(spec: dict[str, Any], old: Any, name: str) -> None:
    check(spec, name=name, old=old, catalog=CATALOG)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return other
    key, *rest = path
    changed = value.copy()
    changed[key] = replaced(value[key], tuple(rest), other)
    return changed


SMALL = [
    example.failing
    for rule, example in sorted(EXAMPLES.items())
    if rule not in ("wrong-length", "many-rules")
]


@given(data=st.data(), spec=st.sampled_from(SMALL), other=anything)
@settings(max_examples=300, deadline=None)
def test_a_real_class_with_anything_in_some_place_is_answered(
    data: Any, spec: Any, other: Any
) -> None:
    path = data.draw(st.sampled_from([place for place in places(spec) if place]))
    check(replaced(spec, path, other), name="c", old=spec, catalog=CATALOG)
