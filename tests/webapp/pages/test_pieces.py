"""A piece that a live update fetches is the piece that stands in the page, so that nothing jumps."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import a_workload
from webapp.accounts.models import Team, User
from webapp.clusters.models import Cluster
from webapp.workloads import actions
from webapp.workloads.models import Attempt, Workload

Get = Callable[[str], str]


@pytest.fixture
def workload(dev: User, research: Team, cluster: Cluster) -> Workload:
    return a_workload(by=dev, team=research)


def without_tokens(page: str) -> str:
    """The page without what Django makes anew for each answer."""
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page)


@pytest.mark.parametrize("piece", ["status", "slices", "timeline"])
def test_a_piece_is_the_same_in_the_page_and_by_itself(
    get: Get, workload: Workload, piece: str
) -> None:
    page = without_tokens(get(workload.get_absolute_url()))
    alone = without_tokens(get(reverse(f"workloads:{piece}", args=[workload.uid])))
    assert f'id="workload-{piece}"' in alone
    assert alone.strip() in page


def test_the_rows_are_the_same_in_the_list_and_by_themselves(
    browser: Client, get: Get, workload: Workload
) -> None:
    address = reverse("workloads:list")
    rows = browser.get(address, headers={"HX-Request": "true", "HX-Target": "workload-rows"})
    assert workload.name in rows.content.decode()
    assert rows.content.decode().strip() in get(address)


@pytest.mark.parametrize("piece", ["status", "timeline", "slices"])
def test_what_can_be_opened_scrolled_or_focused_has_an_id_to_be_found_again(
    get: Get, workload: Workload, piece: str
) -> None:
    alone = get(reverse(f"workloads:{piece}", args=[workload.uid]))
    kept = re.findall(r"<(?:details|summary|button|a)\b[^>]*>|<[^>]*tabindex=\"0\"[^>]*>", alone)
    assert kept
    assert [tag for tag in kept if " id=" not in tag] == []


def test_a_log_is_text_in_the_page(get: Get, workload: Workload) -> None:
    attempt: Attempt = workload.attempts.get()
    actions.append_log(attempt.pk, 0, b"</script></pre><img src=x>\n")
    page = get(workload.get_absolute_url())
    assert "<img" not in page
    assert "&lt;/script&gt;&lt;/pre&gt;&lt;img src=x&gt;" in page
