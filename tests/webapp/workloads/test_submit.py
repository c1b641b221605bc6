"""The form over HTTP: what is stored, and what is refused with nothing stored."""

from __future__ import annotations

import io
import json
import re
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from slipway.compute_class import ClassRule, ComputeClassSpec
from slipway.request import Provisioning
from webapp.accounts.models import Team, User
from webapp.audit.models import AuditEntry
from webapp.classes import actions as classes
from webapp.clusters.models import Cluster
from webapp.workloads.models import Attempt, CodeBundle, TimelineEntry, Workload

FIELDS = {
    "uid": "abcd2345",
    "name": "train",
    "generation": "v6e",
    "topology": "4x4",
    "provisioning": "on-demand",
    "slices": "1",
    "entrypoint": "python main.py",
    "script": "print('hello')",
    "max_run_seconds": "600",
    "retries": "0",
}


@pytest.fixture
def browser(dev: User, cluster: Cluster) -> Client:
    client = Client()
    client.force_login(dev)
    return client


def submit(browser: Client, **changes: object):
    return browser.post(reverse("workloads:submit", args=["research"]), {**FIELDS, **changes})


def test_a_submit_stores_intent_audit_and_timeline_and_asks_for_a_driver(
    browser: Client, no_broker: list[tuple[str, int]], django_capture_on_commit_callbacks
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        response = submit(browser)
    workload = Workload.objects.get()
    assert response["Location"] == workload.get_absolute_url()
    attempt = workload.attempts.get()
    assert (attempt.object_name, attempt.state) == ("train-abcd2345-1", "queued")
    assert AuditEntry.objects.get().what == "workload.submit"
    assert TimelineEntry.objects.get().reason == "Queued"
    assert no_broker == [("slipway.drive_attempt", attempt.pk)]


def test_a_double_click_is_one_workload(browser: Client) -> None:
    assert submit(browser)["Location"] == submit(browser)["Location"]
    assert Workload.objects.count() == Attempt.objects.count() == 1


def test_a_draft_of_somebody_else_cannot_be_taken_over(browser: Client, lin: User) -> None:
    other = Client()
    other.force_login(lin)
    submit(other)
    response = submit(browser)
    assert response.status_code == 422
    assert "already submitted" in response.content.decode()


def test_the_preview_is_what_is_stored(browser: Client) -> None:
    shown = (
        browser.post(reverse("workloads:plan", args=["research"]), FIELDS)
        .context["preview"]
        .manifest
    )
    submit(browser)
    assert Attempt.objects.get().manifest == shown


def test_the_plan_brings_the_topologies_of_the_chosen_generation(browser: Client) -> None:
    address = reverse("workloads:plan", args=["research"])
    page = browser.post(address, {**FIELDS, "generation": "v5p", "topology": ""}).content.decode()
    assert 'id="topologies" hx-swap-oob="true"' in page
    assert '<option value="2x2x4">' in page
    assert '<option value="16x16">' not in page


def test_the_plan_changes_nothing(browser: Client) -> None:
    browser.post(reverse("workloads:plan", args=["research"]), FIELDS)
    assert Workload.objects.count() == CodeBundle.objects.count() == 0


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"topology": "3x5"}, "topology", "4x4"),
        ({"generation": "v5p", "topology": "4x4"}, "topology", "2x2x4"),
        ({"slices": "0"}, "slices", "1 to 256"),
        ({"slices": "1000000000"}, "slices", "1 to 256"),
        ({"slices": "9" * 400}, "slices", ""),
        ({"slices": "one"}, "slices", "whole number"),
        ({"name": "n" * 300}, "name", "63"),
        ({"name": "a\x07b"}, "name", ""),
        ({"machine_type": "ct6e-standard-8t"}, "machine_type", "ct6e-standard-4t"),
        ({"env": "no equals"}, "env", "NAME=value"),
        ({"env": "RAY_ADDRESS=x"}, "env", "prefix"),
        ({"pip": "-r /etc/passwd"}, "pip", "requirement"),
        ({"compute_class": "not-mine"}, "compute_class", "not-mine"),
        ({"script": "x" * 600_000}, "script", "KiB"),
        ({"uid": "../../../x"}, "uid", "valid id"),
        ({"retries": "-1"}, "retries", "10"),
        ({"max_run_seconds": "99999999999"}, "max_run_seconds", "30 days"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_nothing_is_stored(
    browser: Client, changes: dict[str, object], field: str, says: str
) -> None:
    response = submit(browser, **changes)
    assert response.status_code == 422
    assert field in response.context["form"].errors
    assert says in " ".join(response.context["form"].errors[field])
    assert Workload.objects.count() == CodeBundle.objects.count() == AuditEntry.objects.count() == 0


def test_a_50_mb_upload_is_refused_at_its_field(browser: Client) -> None:
    upload = SimpleUploadedFile("code.zip", b"\0" * 50 * 1024 * 1024)
    response = submit(browser, script="", upload=upload)
    assert response.status_code == 422
    assert "51,200 KiB" in response.context["form"].errors["upload"][0]


def test_a_script_and_a_zip_at_once_are_refused(browser: Client) -> None:
    response = submit(browser, upload=SimpleUploadedFile("code.zip", b"PK"))
    assert "not both" in response.context["form"].errors["upload"][0]


def test_a_zip_is_stored_repacked(browser: Client) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("main.py", "print(1)")
        archive.writestr("pkg/__init__.py", "")
    submit(browser, script="", upload=SimpleUploadedFile("code.zip", out.getvalue()))
    assert CodeBundle.objects.get().files == ["main.py", "pkg/__init__.py"]


@pytest.mark.parametrize(
    "name",
    ["Größe ✓ 训练", "<script>alert(1)</script>", "'; DROP TABLE x; --", "{{ 7*7 }}", "\u202eevil"],
)
def test_any_name_is_shown_as_it_is_or_refused(browser: Client, name: str) -> None:
    response = submit(browser, name=name)
    if response.status_code == 422:
        assert "name" in response.context["form"].errors
        return
    page = browser.get(response["Location"]).content.decode()
    assert "<script>alert" not in page
    assert Workload.objects.get().name == name
    assert re.fullmatch(r"[a-z][-a-z0-9]*", Attempt.objects.get().object_name)
    assert json.loads(json.dumps(Attempt.objects.get().manifest)) == Attempt.objects.get().manifest


def test_a_class_of_another_team_cannot_be_used(
    browser: Client, ada: User, other_team: Team
) -> None:
    rule = ClassRule(Provisioning.SPOT, "v6e", "4x4", None, (), None, None)
    classes.save(
        by=ada, spec=ComputeClassSpec("theirs", (rule,)), description="", teams=[other_team]
    )
    response = submit(browser, compute_class="theirs")
    assert "compute_class" in response.context["form"].errors


def test_a_clone_carries_everything_over(browser: Client) -> None:
    submit(browser, env="STEPS=5", pip="optax==0.2.5", retries="2")
    workload = Workload.objects.get()
    form = browser.get(reverse("workloads:clone", args=[workload.uid])).context["form"]
    values = {name: form[name].value() for name in FIELDS}
    assert values.pop("uid") != FIELDS["uid"]
    assert values == {
        **{k: v for k, v in FIELDS.items() if k != "uid"},
        "slices": 1,
        "max_run_seconds": 600,
        "retries": 2,
    }
    assert (form["env"].value(), form["pip"].value()) == ("STEPS=5", "optax==0.2.5")


def test_a_workload_that_is_deleted_leaves_every_page(browser: Client) -> None:
    location = submit(browser)["Location"]
    browser.post(reverse("workloads:delete", args=["abcd2345"]))
    assert browser.get(location).status_code == 404
    assert Workload.objects.get().stop_requested_by == "dev"
    assert [entry.what for entry in AuditEntry.objects.order_by("pk")] == [
        "workload.submit", "workload.stop", "workload.delete",
    ]  # fmt: skip


def test_a_post_without_its_token_is_refused(dev: User, cluster: Cluster) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(dev)
    assert submit(client).status_code == 403
    assert Workload.objects.count() == 0


def test_pages_allow_no_inline_script(browser: Client) -> None:
    policy = browser.get(reverse("workloads:list"))["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-inline" not in policy
