"""`manage.py seed`: people, a team, a cluster and compute classes to begin with. Running it again changes nothing."""

from __future__ import annotations

import json
import secrets
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import transaction

from slipway.compute_class import ClassRule, ComputeClassSpec
from slipway.request import Provisioning
from webapp.accounts.models import Membership, Team, User
from webapp.classes import actions as classes
from webapp.classes.models import ComputeClass
from webapp.clusters.models import Cluster

PEOPLE = (
    ("ada", "Ada (platform admin)", None),
    ("lin", "Lin (lead of Research)", Membership.Role.LEAD),
    ("dev", "Dev (developer in Research)", Membership.Role.DEVELOPER),
)


class Command(BaseCommand):
    help = (
        "Make a platform admin, a team with a lead and a developer, the devcluster entry and two compute classes. "
        "Prints the passwords of people it makes, once; what exists stays as it is."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--kubeconfig", required=True, help="devcluster's kubeconfig file")
        parser.add_argument("--json", action="store_true", help="print the sign-ins as JSON")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        team, _ = Team.objects.get_or_create(
            slug="research", defaults={"name": "Research", "namespace": "team-research"}
        )
        made = [_person(username, role, team) for username, _, role in PEOPLE]
        Cluster.objects.update_or_create(
            slug="devcluster",
            defaults={
                "title": "devcluster (emulated)",
                "kubeconfig_file": options["kubeconfig"],
                # Its rights are what Slipway needs and no more.
                "kubeconfig_context": "slipway",
                "is_emulated": True,
            },
        )
        self._classes(User.objects.get(username="ada"))
        sign_ins = [
            {"username": username, "password": password, "who": who}
            for (username, who, _), password in zip(PEOPLE, made, strict=True)
            if password
        ]
        if options["json"]:
            self.stdout.write(json.dumps(sign_ins))
            return
        for row in sign_ins:
            self.stdout.write(f"{row['username']:<6}{row['password']:<18}{row['who']}")

    def _classes(self, admin: User) -> None:
        for spec, description in _seed_classes():
            if not ComputeClass.objects.filter(name=spec.name).exists():
                classes.save(by=admin, spec=spec, description=description, teams=None)


def _person(username: str, role: Membership.Role | None, team: Team) -> str:
    """Returns the new password, or "" for a person who exists."""
    user, is_new = User.objects.get_or_create(
        username=username, defaults={"is_staff": role is None, "is_superuser": role is None}
    )
    password = secrets.token_urlsafe(9) if is_new else ""
    if is_new:
        user.set_password(password)
        user.save()
    if role is not None:
        Membership.objects.get_or_create(user=user, team=team, defaults={"role": role})
    return password


def _seed_classes() -> list[tuple[ComputeClassSpec, str]]:
    def rule(provisioning: Provisioning, topology: str) -> ClassRule:
        return ClassRule(
            provisioning=provisioning,
            generation="v6e",
            topology=topology,
            machine_type=None,
            zones=(),
            reservation=None,
            max_run_seconds=None,
        )

    return [
        (
            ComputeClassSpec(
                "v6e-16-thrifty",
                (rule(Provisioning.SPOT, "4x4"), rule(Provisioning.ON_DEMAND, "4x4")),
            ),
            "Sixteen v6e chips: spot first, then on-demand.",
        ),
        (
            ComputeClassSpec(
                "v6e-4", (rule(Provisioning.SPOT, "2x2"), rule(Provisioning.ON_DEMAND, "2x2"))
            ),
            "Four v6e chips on one host, for trying things.",
        ),
    ]
