from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipway.errors import FieldErrors
from slipway.request_file import parse_request_file

WHOLE = {
    "version": 1, "name": "n", "team": "t", "kind": "job", "shape": {"generation": "v6e", "topology": "4x4"},
    "provisioning": "spot", "slices": 2, "entrypoint": "python main.py", "script": "print()",
    "runtime_env": {"pip": ["a==1"], "env_vars": {"A": "1"}}, "max_run_seconds": 100, "retries": 1,
}  # fmt: skip


def test_a_whole_file_is_read() -> None:
    read = parse_request_file(WHOLE)
    assert read.script == "print()"
    assert (read.request.slices, read.request.pip, read.request.env) == (
        2,
        ("a==1",),
        (("A", "1"),),
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"version": 2}, "version"),
        ({"version": True}, "version"),
        ({"slices": "2"}, "slices"),
        ({"slices": 1.5}, "slices"),
        ({"surprise": 1}, "surprise"),
        ({"shape": {"generation": "v6e", "topology": "2x4", "hosts": 3}}, "shape.hosts"),
        ({"shape": []}, "shape"),
        ({"compute_class": "c"}, "shape"),
        ({"runtime_env": {"pip": "a"}}, "runtime_env.pip"),
        ({"runtime_env": {"env_vars": {"A": 1}}}, "runtime_env.env_vars"),
        ({"provisioning": "lottery"}, "provisioning"),
        ({"name": ["n"]}, "name"),
    ],
)
def test_what_is_wrong_is_named_by_its_key(change: dict[str, object], field: str) -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_request_file({**WHOLE, **change})
    assert field in caught.value.errors


def test_hosts_are_explained_rather_than_unknown() -> None:
    with pytest.raises(FieldErrors) as caught:
        parse_request_file({**WHOLE, "shape": {"generation": "v6e", "topology": "2x4", "hosts": 3}})
    assert "follow from topology" in caught.value.errors["shape.hosts"][0]


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda i: st.lists(i) | st.dictionaries(st.text(max_size=8), i),
        max_leaves=8,
    )
)
def test_anything_else_is_refused_and_never_breaks(content: object) -> None:
    with pytest.raises(FieldErrors):
        parse_request_file(content)
