"""The cast and the stage: ada runs the platform, lin leads Research, dev is in it, eve is in another team."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from webapp.accounts.models import Membership, Team, User
from webapp.clusters.models import Cluster

FACTS = Path(os.environ.get("SLIPWAY_FACTS", Path(__file__).parents[2] / "shared" / "facts"))


@pytest.fixture(scope="session")
def facts() -> Path:
    """The folder of reference facts; tests that need it skip where it is absent."""
    if not FACTS.is_dir():
        pytest.skip(f"The folder of reference facts is not at {FACTS}.")
    return FACTS


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """No test talks to a broker. What would have been sent is collected, and effects are asked for by hand."""
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr("webapp.dispatch._send", lambda name, pk: sent.append((name, pk)))
    monkeypatch.setattr("webapp.live.hub._send", lambda topic, events: None)
    return sent


@pytest.fixture
def research(db: None) -> Team:
    return Team.objects.create(slug="research", name="Research", namespace="team-research")


@pytest.fixture
def other_team(db: None) -> Team:
    return Team.objects.create(slug="other", name="Other", namespace="team-other")


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada", password="ada-secret-1", is_staff=True)


@pytest.fixture
def lin(research: Team) -> User:
    return _member("lin", research, Membership.Role.LEAD)


@pytest.fixture
def dev(research: Team) -> User:
    return _member("dev", research, Membership.Role.DEVELOPER)


@pytest.fixture
def eve(other_team: Team) -> User:
    return _member("eve", other_team, Membership.Role.LEAD)


@pytest.fixture
def cluster(db: None) -> Cluster:
    return Cluster.objects.create(
        slug="devcluster", title="devcluster", kubeconfig_file="/nonexistent", is_emulated=True
    )


def _member(username: str, team: Team, role: Membership.Role) -> User:
    user = User.objects.create_user(username, password=f"{username}-secret-1")
    Membership.objects.create(user=user, team=team, role=role)
    return user
