from __future__ import annotations

import os
import re

from hypothesis import given
from hypothesis import strategies as st

from slipway.naming import is_workload_uid, new_workload_uid, object_name, slug

DNS_1035 = re.compile(r"^[a-z]([-a-z0-9]*[a-z0-9])?$")


@given(st.text(max_size=400), st.binary(min_size=8, max_size=8), st.integers(1, 999))
def test_any_text_gives_a_valid_name_that_tells_workload_and_attempt(
    name: str, random: bytes, attempt: int
) -> None:
    uid = new_workload_uid(lambda count: random[:count])
    made = object_name(name, uid, attempt)
    assert DNS_1035.match(made)
    assert len(made) <= 35
    assert made.endswith(f"-{uid}-{attempt}")


def test_new_ids_are_ids() -> None:
    made = {new_workload_uid(os.urandom) for _ in range(2000)}
    assert len(made) == 2000
    assert all(is_workload_uid(uid) for uid in made)


def test_what_cannot_stand_in_a_name_is_left_out() -> None:
    assert slug("Größe & Maß, v2!") == "groe-ma-v2"
    assert slug("训练") == "job"
    assert slug("42 answers") == "answers"
    assert slug("x" * 300) == "x" * 20
