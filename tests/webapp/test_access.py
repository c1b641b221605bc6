"""Every URL there is, as everybody there is. A new URL fails here until its row says who may see it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from slipway.compute_class import ClassRule, ComputeClassSpec
from slipway.request import Provisioning
from tests.factories import a_workload
from webapp.accounts.models import Team, User
from webapp.classes import actions as classes
from webapp.clusters.models import Cluster


@dataclass(frozen=True)
class Row:
    """What each person gets. `0` means "not asked": the URL answers them with something else, tested elsewhere."""

    signed_out: int
    eve: int
    dev: int
    ada: int
    method: str = "get"


PUBLIC = Row(200, 200, 200, 200)
MINE = Row(302, 404, 200, 200)
MY_POST = Row(302, 404, 302, 302, "post")
ADMIN = Row(302, 403, 403, 200)

EXPECTED: dict[str, Row] = {
    "healthz": PUBLIC,
    "readyz": PUBLIC,
    "accounts:sign_in": Row(200, 302, 302, 302),
    "accounts:sign_out": Row(302, 302, 302, 302, "post"),
    "ui:styleguide": Row(302, 200, 200, 200),
    "live:stream": Row(302, 404, 200, 200),
    "workloads:list": Row(302, 200, 200, 200),
    "workloads:new": MINE,
    "workloads:plan": Row(302, 404, 200, 200, "post"),
    "workloads:submit": Row(302, 404, 422, 422, "post"),
    "workloads:detail": MINE,
    "workloads:status": MINE,
    "workloads:status_json": MINE,
    "workloads:slices": MINE,
    "workloads:timeline": MINE,
    "workloads:manifest": MINE,
    "workloads:log": MINE,
    "workloads:log_download": MINE,
    "workloads:code_download": MINE,
    "workloads:clone": MINE,
    "workloads:stop": MY_POST,
    "workloads:delete": MY_POST,
    "classes:list": Row(302, 200, 200, 200),
    "classes:new": ADMIN,
    "classes:edit": ADMIN,
    "classes:delete": Row(302, 403, 403, 302, "post"),
}
# Two of our URLs act on what is theirs alone.
ARGUMENTS = {"team": "research", "team_slug": "research", "slug": "research"}


def every_url() -> list[tuple[str, str, list[str]]]:
    found: list[tuple[str, str, list[str]]] = []

    def walk(resolver: URLResolver, namespace: str) -> None:
        for entry in resolver.url_patterns:
            if isinstance(entry, URLResolver):
                inner = f"{namespace}{entry.namespace}:" if entry.namespace else namespace
                walk(entry, inner)
            else:
                assert isinstance(entry, URLPattern)
                name = f"{namespace}{entry.name}"
                found.append((name, str(entry.pattern), list(entry.pattern.converters)))

    walk(get_resolver(), "")
    return found


NAMES = sorted({name for name, _, _ in every_url()})


def test_every_url_has_a_name_and_a_row() -> None:
    assert sorted(EXPECTED) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("who", ["signed_out", "eve", "dev", "ada"])
def test_who_may_see_what(
    name: str, who: str, research: Team, cluster: Cluster, dev: User, eve: User, ada: User
) -> None:
    workload = a_workload(by=dev, team=research)
    rule = ClassRule(Provisioning.SPOT, "v6e", "4x4", None, (), None, None)
    made = classes.save(
        by=ada, spec=ComputeClassSpec("thrifty", (rule,)), description="", teams=None
    )
    arguments: list[str] = []
    for parameter in next(converters for found, _, converters in every_url() if found == name):
        arguments.append(
            {"uid": workload.uid, "name": made.name, "pk": str(made.pk)}.get(parameter)
            or ARGUMENTS[parameter]
        )
    url = reverse(name, args=arguments)
    if name == "live:stream":
        url += f"?topic=workload:{workload.uid}"
    row = EXPECTED[name]
    client = Client()
    if who != "signed_out":
        client.force_login({"eve": eve, "dev": dev, "ada": ada}[who])
    response = client.get(url) if row.method == "get" else client.post(url)
    wanted: int = getattr(row, who)
    assert response.status_code == wanted
    if who == "signed_out" and wanted == 302:
        assert response["Location"].startswith(reverse("accounts:sign_in"))


def test_a_stranger_gets_the_same_404_for_a_workload_that_exists_and_one_that_does_not(
    research: Team, cluster: Cluster, dev: User, eve: User
) -> None:
    workload = a_workload(by=dev, team=research)
    client = Client()
    client.force_login(eve)
    real = client.get(reverse("workloads:detail", args=[workload.uid]))
    made_up = client.get(reverse("workloads:detail", args=["aaaaaaaa"]))
    assert real.status_code == made_up.status_code == 404
    # Tokens of forms differ on every page.
    token = re.compile(rb"[A-Za-z0-9]{64}")
    pages = [token.sub(b"", page.content) for page in (real, made_up)]
    assert pages[0].replace(workload.uid.encode(), b"") == pages[1].replace(b"aaaaaaaa", b"")


def test_nobody_listens_signed_out_on_the_async_road_either(db: None) -> None:
    response = async_to_sync(AsyncClient().get)("/live/?topic=workload:aaaaaaaa")
    assert response.status_code == 302


def test_a_colleague_sees_but_does_not_stop_what_is_not_theirs(
    research: Team, cluster: Cluster, dev: User, lin: User
) -> None:
    workload = a_workload(by=lin, team=research)
    client = Client()
    client.force_login(dev)
    assert client.get(workload.get_absolute_url()).status_code == 200
    assert client.post(reverse("workloads:stop", args=[workload.uid])).status_code == 403
    assert client.post(reverse("workloads:delete", args=[workload.uid])).status_code == 403
    workload.refresh_from_db()
    assert workload.stop_requested_at is None


def test_a_lead_may_stop_what_a_developer_started(
    research: Team, cluster: Cluster, dev: User, lin: User
) -> None:
    workload = a_workload(by=dev, team=research)
    client = Client()
    client.force_login(lin)
    assert client.post(reverse("workloads:stop", args=[workload.uid])).status_code == 302
    workload.refresh_from_db()
    assert workload.stop_requested_by == "lin"


def test_the_list_shows_a_stranger_nothing(
    research: Team, cluster: Cluster, dev: User, eve: User
) -> None:
    workload = a_workload(by=dev, team=research, name="secret-plan")
    client = Client()
    client.force_login(eve)
    for query in ("", "?text=secret", "?team=research", "?state=queued"):
        content = client.get(reverse("workloads:list") + query).content.decode()
        assert workload.uid not in content
        assert workload.get_absolute_url() not in content
