"""The class editor without JavaScript: rules move by buttons, mistakes stand at their rule, revisions are kept."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from webapp.accounts.models import Team, User
from webapp.audit.models import AuditEntry
from webapp.classes.models import ComputeClass, ComputeClassRevision

SPOT = {"provisioning": "spot", "generation": "v6e", "topology": "4x4"}
DEMAND = {"provisioning": "on-demand", "generation": "v6e", "topology": "4x4"}


def posted(*rules: dict[str, str], **more: str) -> dict[str, str]:
    data = {
        "name": "thrifty",
        "open_to_all": "on",
        "rules-TOTAL_FORMS": str(len(rules)),
        "rules-INITIAL_FORMS": "0",
    }
    for index, rule in enumerate(rules):
        data |= {f"rules-{index}-{name}": value for name, value in rule.items()}
    return data | more


@pytest.fixture
def admin(ada: User) -> Client:
    client = Client()
    client.force_login(ada)
    return client


def order(response) -> list[str]:
    return [form["provisioning"].value() for form in response.context["rules"].forms]


def test_a_class_is_made_then_edited_as_revisions(admin: Client) -> None:
    assert admin.post(reverse("classes:new"), posted(SPOT, DEMAND)).status_code == 302
    row = ComputeClass.objects.get()
    assert [rule["provisioning"] for rule in row.spec["rules"]] == ["spot", "on-demand"]
    edit = reverse("classes:edit", args=["thrifty"])
    assert order(admin.get(edit)) == ["spot", "on-demand"]
    admin.post(edit, posted(DEMAND))
    admin.post(edit, posted(DEMAND))
    assert list(ComputeClassRevision.objects.values_list("number", flat=True)) == [2, 1]
    assert [entry.what for entry in AuditEntry.objects.order_by("pk")] == [
        "class.create",
        "class.edit",
        "class.edit",
    ]


@pytest.mark.parametrize(
    ("move", "becomes"),
    [
        ("down-0", ["on-demand", "spot"]),
        ("up-1", ["on-demand", "spot"]),
        ("up-0", ["spot", "on-demand"]),
        ("remove-0", ["on-demand"]),
        ("up-99", ["spot", "on-demand"]),
        ("sideways-1", ["spot", "on-demand"]),
        ("up--1", ["spot", "on-demand"]),
    ],
)
def test_buttons_move_rules_and_store_nothing(admin: Client, move: str, becomes: list[str]) -> None:
    response = admin.post(reverse("classes:new"), posted(SPOT, DEMAND, move=move))
    assert order(response) == becomes
    assert response.context["form"]["name"].value() == "thrifty"
    assert not ComputeClass.objects.exists()


def test_a_rule_is_added_up_to_the_most_there_may_be(admin: Client) -> None:
    assert len(order(admin.post(reverse("classes:new"), posted(SPOT, move="add")))) == 2
    assert len(order(admin.post(reverse("classes:new"), posted(*[SPOT] * 20, move="add")))) == 20


@pytest.mark.parametrize(
    ("rule", "field", "says"),
    [
        (SPOT | {"topology": "3x5"}, "topology", "4x4"),
        (SPOT | {"reservation": "r"}, "reservation", "Only reservation rules"),
        (SPOT | {"zones": "mars"}, "zones", "us-east5-b"),
        (SPOT | {"provisioning": "flex-start", "max_run_seconds": "5"}, "max_run_seconds", "600"),
        (SPOT | {"provisioning": "lottery"}, "provisioning", "lottery"),
    ],
)
def test_a_mistake_stands_at_its_rule_and_nothing_is_stored(
    admin: Client, rule: dict[str, str], field: str, says: str
) -> None:
    response = admin.post(reverse("classes:new"), posted(DEMAND, rule))
    assert response.status_code == 422
    assert says in " ".join(response.context["rules"].forms[1].errors[field])
    assert not ComputeClass.objects.exists()


@pytest.mark.parametrize("total", ["-1", "x", "", "100000"])
def test_a_form_that_was_tampered_with_is_refused(admin: Client, total: str) -> None:
    response = admin.post(reverse("classes:new"), posted(SPOT) | {"rules-TOTAL_FORMS": total})
    assert response.status_code == 422
    assert not ComputeClass.objects.exists()


def test_a_name_that_is_taken_or_changed_is_refused(admin: Client) -> None:
    admin.post(reverse("classes:new"), posted(SPOT))
    assert (
        "exists"
        in admin.post(reverse("classes:new"), posted(SPOT)).context["form"].errors["name"][0]
    )
    changed = admin.post(reverse("classes:edit", args=["thrifty"]), posted(SPOT, name="other"))
    assert "keeps its name" in changed.context["form"].errors["name"][0]


def test_a_class_for_some_teams_is_hidden_from_the_others(
    admin: Client, dev: User, eve: User, research: Team
) -> None:
    data = posted(SPOT, teams=str(research.pk))
    data.pop("open_to_all")
    admin.post(reverse("classes:new"), data)
    for user, sees in ((dev, True), (eve, False)):
        client = Client()
        client.force_login(user)
        assert ("thrifty" in client.get(reverse("classes:list")).content.decode()) is sees
