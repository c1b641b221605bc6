"""Nothing that a stranger or a clumsy script sends makes a page fail."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from tests.factories import a_workload
from webapp.accounts.models import Team, User
from webapp.clusters.models import Cluster
from webapp.workloads.models import Workload

NASTY = [
    "", "'", "' OR 1=1 --", "<script>alert(1)</script>", "\x00", "%00", "\udcff", "日本語", "🦄" * 200, "x" * 10_000,
    "-1", "0", "999999999999999999999999", "1e9", "NaN", "../../etc/passwd", "{{7*7}}", "\u202e", "\r\nSet-Cookie: a=b", "[]",
]  # fmt: skip


@pytest.fixture
def browser(dev: User, research: Team, cluster: Cluster) -> Client:
    a_workload(by=dev, team=research)
    client = Client(raise_request_exception=True)
    client.force_login(dev)
    return client


def quoted(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


@pytest.mark.parametrize("value", NASTY)
def test_the_list_takes_any_query(browser: Client, value: str) -> None:
    for name in ("state", "team", "owner", "text", "order", "page"):
        response = browser.get("/", {name: quoted(value)})
        assert response.status_code == 200
        assert b"<script>alert" not in response.content


@pytest.mark.parametrize("value", NASTY)
def test_a_workload_takes_any_query(browser: Client, value: str) -> None:
    uid = Workload.objects.get().uid
    for name in (
        "detail",
        "status",
        "status_json",
        "slices",
        "timeline",
        "manifest",
        "log",
        "log_download",
    ):
        address = reverse(f"workloads:{name}", args=[uid])
        assert browser.get(address, {"attempt": quoted(value)}).status_code in (200, 404)
    assert browser.get(
        reverse("workloads:log", args=[uid]), {"after": quoted(value)}
    ).status_code in (200, 400)
    assert browser.get("/live/", {"topic": quoted(value)}).status_code == 404
    assert browser.get("/live/", {"topic": f"workload:{quoted(value)}"}).status_code == 404


@pytest.mark.parametrize("value", NASTY)
def test_any_field_takes_any_text(browser: Client, value: str) -> None:
    fields = (
        "uid", "name", "compute_class", "generation", "topology", "machine_type", "provisioning", "reservation",
        "slices", "entrypoint", "script", "pip", "env", "max_run_seconds", "retries",
    )  # fmt: skip
    plain = {
        "uid": "abcd2345", "name": "n", "generation": "v6e", "topology": "4x4", "provisioning": "spot", "slices": "1",
        "entrypoint": "x", "max_run_seconds": "600", "retries": "0",
    }  # fmt: skip
    for field in fields:
        response = browser.post(
            reverse("workloads:plan", args=["research"]), {**plain, field: quoted(value)}
        )
        assert response.status_code == 200, field
        assert b"<script>alert" not in response.content


def test_posts_with_nothing_or_twice_of_everything_are_answered(browser: Client) -> None:
    submit = reverse("workloads:submit", args=["research"])
    assert browser.post(submit).status_code == 422
    assert browser.post(submit, {"slices": ["1", "2"], "name": ["a", "b"]}).status_code == 422
    assert browser.post(
        submit, b"--x\r\nbroken", content_type="multipart/form-data; boundary=x"
    ).status_code in (400, 422)
    assert browser.post(submit, b"[[[[", content_type="application/json").status_code == 422
    assert browser.post(submit, {f"f{n}": "" for n in range(2000)}).status_code == 400


@pytest.mark.parametrize("method", ["get", "put", "delete", "patch", "options", "head"])
def test_acts_are_posts_only(browser: Client, method: str) -> None:
    uid = Workload.objects.get().uid
    for name in ("stop", "delete"):
        assert getattr(browser, method)(reverse(f"workloads:{name}", args=[uid])).status_code == 405
    assert Workload.objects.get().stop_requested_at is None


def test_ten_wrong_passwords_lock_the_sign_in(dev: User) -> None:
    client = Client()
    for _ in range(10):
        client.post(reverse("accounts:sign_in"), {"username": "dev", "password": "wrong"})
    answer = client.post(
        reverse("accounts:sign_in"), {"username": "dev", "password": "dev-secret-1"}
    )
    assert answer.status_code in (403, 429)
    assert "_auth_user_id" not in client.session


@pytest.mark.parametrize(
    "next_page", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"]
)
def test_sign_in_leads_nowhere_else(dev: User, next_page: str) -> None:
    answer = Client().post(
        reverse("accounts:sign_in"),
        {"username": "dev", "password": "dev-secret-1", "next": next_page},
    )
    assert answer["Location"] == "/"
