"""The new-job form: what was typed stays, and each error leads to its field."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.test import Client
from django.urls import reverse

from tests.webapp.workloads.test_submit import FIELDS

Get = Callable[[str], str]
SCRIPT = "print('</textarea>')\n"


def refused(browser: Client, **changes: str) -> str:
    response = browser.post(
        reverse("workloads:submit", args=["research"]), {**FIELDS, "script": SCRIPT, **changes}
    )
    assert response.status_code == 422
    return response.content.decode()


def tag(page: str, name: str) -> str:
    found = re.search(rf'<(?:input|select|textarea)[^>]*name="{name}"[^>]*>', page)
    assert found
    return found.group()


def test_a_refused_form_keeps_what_was_typed(browser: Client) -> None:
    page = refused(browser, topology="3x5", machine_type="ct6e-standard-8t", env="A=1")
    assert 'value="3x5"' in tag(page, "topology")
    assert "print(&#x27;&lt;/textarea&gt;&#x27;)" in page
    assert '<option value="ct6e-standard-8t" selected>' in page
    assert ">\nA=1</textarea>" in page


def test_an_error_is_at_its_field_and_linked_from_the_top(browser: Client) -> None:
    page = refused(browser, topology="3x5")
    summary = page[page.index('role="alert"') : page.index("What to run")]
    assert '<a href="#id_topology">Topology</a>: 3x5 is not a v6e topology' in summary
    assert 'id="id_topology"' in tag(page, "topology")
    assert 'aria-invalid="true"' in tag(page, "topology")
    assert 'aria-describedby="topology-notes"' in tag(page, "topology")
    notes = page[page.index('id="topology-notes"') :]
    assert "3x5 is not a v6e topology" in notes[: notes.index("</div>")]


def test_an_error_of_the_machine_type_is_marked_like_any_other(browser: Client) -> None:
    page = refused(browser, machine_type="ct5p-hightpu-4t")
    assert 'aria-invalid="true"' in tag(page, "machine_type")


def test_a_machine_type_says_its_chips_under_its_generation(get: Get) -> None:
    page = get(reverse("workloads:new", args=["research"]))
    group = page[page.index('<optgroup label="TPU v6e (Trillium)">') :]
    group = group[: group.index("</optgroup>")]
    assert re.findall(r">(ct\S+): (\d+) chip", group) == [
        ("ct6e-standard-1t", "1"),
        ("ct6e-standard-4t", "4"),
        ("ct6e-standard-8t", "8"),
    ]


def test_a_new_plan_says_itself_in_a_sentence(browser: Client) -> None:
    plan = browser.post(reverse("workloads:plan", args=["research"]), FIELDS).content.decode()
    assert 'data-announce="Plan: 1 × v6e 4x4, 4 hosts, 16 chips"' in plan
