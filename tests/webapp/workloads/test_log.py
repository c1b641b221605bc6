"""The driver log: bytes once, in order, read in pieces that end where a line does."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from tests.factories import a_workload
from webapp.accounts.models import Team, User
from webapp.clusters.models import Cluster
from webapp.workloads import actions, queries
from webapp.workloads.models import Attempt, LogChunk


@pytest.fixture
def attempt(dev: User, research: Team, cluster: Cluster) -> Attempt:
    return a_workload(by=dev, team=research).attempts.get()


def stored(attempt: Attempt) -> bytes:
    return b"".join(bytes(piece) for piece in queries.log_bytes(attempt))


def test_bytes_that_come_again_are_stored_once(attempt: Attempt) -> None:
    assert actions.append_log(attempt.pk, 0, b"one\ntwo\n") == 8
    assert actions.append_log(attempt.pk, 4, b"two\nthree\n") == 14
    assert actions.append_log(attempt.pk, 0, b"one\n") == 14
    assert stored(attempt) == b"one\ntwo\nthree\n"


def test_a_second_run_of_the_job_follows_the_first_with_a_line_between(attempt: Attempt) -> None:
    assert actions.begin_log(attempt.pk, "1000") == 0
    actions.append_log(attempt.pk, 0, b"first run\n")
    assert actions.begin_log(attempt.pk, "1000") == 0
    base = actions.begin_log(attempt.pk, "2000")
    assert actions.begin_log(attempt.pk, "2000") == base
    actions.append_log(attempt.pk, base, b"second run\n")
    first, told, second = stored(attempt).partition(b"[slipway] Ray's head was replaced")
    assert first == b"first run\n\n"
    assert told
    assert second.endswith(b"second run\n")


def test_a_gap_is_not_stored(attempt: Attempt) -> None:
    actions.append_log(attempt.pk, 0, b"one\n")
    assert actions.append_log(attempt.pk, 10, b"late\n") == 4
    assert stored(attempt) == b"one\n"


def test_half_a_line_waits_for_its_other_half_until_the_log_is_over(attempt: Attempt) -> None:
    actions.append_log(attempt.pk, 0, "whole\nhalf of ü".encode()[:-1])
    part = queries.log_part(attempt, 0)
    assert (part.text, part.next, part.end) == ("whole\n", 6, False)
    assert queries.log_part(attempt, 6).text == ""
    attempt.archived_at = timezone.now()
    last = queries.log_part(attempt, 6)
    assert last.text == "half of \ufffd"
    assert last.end


def test_a_long_log_comes_in_pieces_that_make_the_whole(attempt: Attempt) -> None:
    lines = b"".join(b"line %d of a long log\n" % number for number in range(40_000))
    actions.append_log(attempt.pk, 0, lines)
    attempt.archived_at = timezone.now()
    text, after, pieces = "", 0, 0
    while True:
        part = queries.log_part(attempt, after)
        text, after, pieces = text + part.text, part.next, pieces + 1
        if part.end:
            break
    assert text.encode() == lines
    assert pieces > 2
    assert LogChunk.objects.filter(attempt=attempt).count() < 20


class InAnyOrder(TestCase):
    @given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=12))
    @settings(max_examples=25, deadline=None)
    def test_pieces_in_any_order_never_store_anything_else_than_a_beginning(
        self, pieces: list[tuple[int, int]]
    ) -> None:
        whole = bytes(range(40))
        research = Team.objects.create(slug="research", name="R", namespace="team-research")
        dev = User.objects.create_user("dev")
        Cluster.objects.create(slug="c", title="c", kubeconfig_file="/nonexistent")
        attempt = a_workload(by=dev, team=research).attempts.get()
        for offset, size in pieces:
            actions.append_log(attempt.pk, offset, whole[offset : offset + size])
        assert whole.startswith(stored(attempt))


def test_hostile_text_reaches_the_page_escaped_and_the_download_as_it_is(
    attempt: Attempt, dev: User, client: Client
) -> None:
    hostile = b"</script><img src=x onerror=alert(1)>\x1b[31mred\x1b[0m\x00\xff\n"
    actions.append_log(attempt.pk, 0, hostile)
    client.force_login(dev)
    page = client.get(attempt.workload.get_absolute_url()).content
    assert b"<img src=x" not in page
    assert b"&lt;/script&gt;&lt;img" in page
    download = client.get(reverse("workloads:log_download", args=[attempt.workload.uid]))
    assert b"".join(download.streaming_content) == hostile
    assert download["Content-Type"].startswith("text/plain")
    assert download["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize("after", ["-1", "x", "9" * 30, "1.5", ""])
def test_an_offset_that_is_none_is_refused(
    attempt: Attempt, dev: User, client: Client, after: str
) -> None:
    client.force_login(dev)
    address = reverse("workloads:log", args=[attempt.workload.uid])
    assert client.get(f"{address}?after={after}").status_code == 400


@pytest.mark.parametrize("number", ["0", "99", "x", "9" * 30])
def test_an_attempt_that_is_none_is_not_found(
    attempt: Attempt, dev: User, client: Client, number: str
) -> None:
    client.force_login(dev)
    assert client.get(f"{attempt.workload.get_absolute_url()}?attempt={number}").status_code == 404
