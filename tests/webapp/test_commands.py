"""What an administrator does on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from webapp.accounts.models import Membership, Team, User
from webapp.classes.models import ComputeClass
from webapp.clusters.models import Cluster


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    file = tmp_path / "kubeconfig"
    file.write_text(
        json.dumps(
            {"contexts": [{"name": "gke"}], "users": [{"name": "u", "user": {"token": "hush"}}]}
        )
    )
    return file


def test_a_cluster_is_stored_with_its_credentials_encrypted(db: None, kubeconfig: Path) -> None:
    run(
        "add_cluster",
        "prod",
        "--title",
        "Production",
        "--kubeconfig",
        str(kubeconfig),
        "--context",
        "gke",
    )
    row = Cluster.objects.get()
    assert "hush" not in row.kubeconfig_encrypted
    assert "hush" in row.kubeconfig()
    run("add_cluster", "prod", "--title", "Renamed", "--kubeconfig", str(kubeconfig))
    assert Cluster.objects.get().title == "Renamed"


@pytest.mark.parametrize("text", ["", "not: [yaml", "[]", "contexts: 3"])
def test_what_is_no_kubeconfig_is_refused(db: None, tmp_path: Path, text: str) -> None:
    file = tmp_path / "k"
    file.write_text(text)
    with pytest.raises(CommandError, match="not a kubeconfig"):
        run("add_cluster", "prod", "--title", "P", "--kubeconfig", str(file))
    assert Cluster.objects.count() == 0


def test_a_context_that_is_not_there_is_refused_with_those_that_are(
    db: None, kubeconfig: Path
) -> None:
    with pytest.raises(CommandError, match="It has: gke"):
        run(
            "add_cluster",
            "prod",
            "--title",
            "P",
            "--kubeconfig",
            str(kubeconfig),
            "--context",
            "no",
        )


def test_a_team_is_made_and_added_to(dev: User, lin: User) -> None:
    run("add_team", "vision", "--name", "Vision", "--lead", "lin")
    run("add_team", "vision", "--developer", "dev")
    team = Team.objects.get(slug="vision")
    assert (team.name, team.namespace) == ("Vision", "team-vision")
    assert dict(team.memberships.values_list("user__username", "role")) == {
        "lin": "lead",
        "dev": "developer",
    }


def test_a_team_with_a_stranger_is_not_made_by_half(db: None) -> None:
    with pytest.raises(CommandError, match="no user 'nobody'"):
        run("add_team", "vision", "--lead", "nobody")
    assert not Team.objects.exists()


def test_seeding_twice_changes_nothing(db: None) -> None:
    first = json.loads(run("seed", "--json", "--kubeconfig", "/nowhere"))
    assert {row["username"] for row in first} == {"ada", "lin", "dev"}
    assert User.objects.get(username="dev").check_password(first[2]["password"])
    assert json.loads(run("seed", "--json", "--kubeconfig", "/nowhere")) == []
    assert (User.objects.count(), Membership.objects.count(), ComputeClass.objects.count()) == (
        3,
        2,
        2,
    )
