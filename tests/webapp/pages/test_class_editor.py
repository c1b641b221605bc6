"""The class editor's page: order by plain buttons, errors that lead to their rule."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests.webapp.classes.test_editor import DEMAND, SPOT, posted
from webapp.accounts.models import User
from webapp.classes.models import ComputeClass


@pytest.fixture
def admin(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def post(admin: Client, data: dict[str, str]) -> str:
    return admin.post(reverse("classes:new"), data).content.decode()


def orders(page: str) -> list[str]:
    selects = re.findall(r'<select name="rules-\d+-provisioning".*?</select>', page, re.S)
    return re.findall(r'<option value="([\w-]+)" selected>', "".join(selects))


def test_a_rule_moves_by_its_buttons_and_nothing_is_saved(admin: Client) -> None:
    page = post(admin, posted(SPOT, DEMAND, move="down-0"))
    assert orders(page) == ["on-demand", "spot"]
    assert orders(post(admin, posted(DEMAND, SPOT, move="up-1"))) == ["spot", "on-demand"]
    assert not ComputeClass.objects.exists()


def test_the_ends_of_the_order_have_nowhere_to_go(admin: Client) -> None:
    page = post(admin, posted(SPOT, DEMAND, move="down-0"))
    assert re.findall(r'value="([\w-]+)" disabled', page) == ["up-0", "down-1"]


def test_a_wrong_rule_is_linked_from_the_top_and_keeps_its_values(admin: Client) -> None:
    wrong = {**SPOT, "topology": "3x5", "machine_type": "ct6e-standard-4t"}
    page = post(admin, posted(DEMAND, wrong))
    assert '<a href="#id_rules-1-topology">Rule 2, topology</a>: ' in page
    assert 'value="3x5"' in page
    assert '<option value="ct6e-standard-4t" selected>' in page
