"""`manage.py add_team`: make a team, or add people to one."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from webapp.accounts.models import Membership, Team, User


class Command(BaseCommand):
    help = "Make a team with a namespace of its own, and add people who have accounts. Again adds to it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--name", default="", help="for people; the slug when left out")
        parser.add_argument("--namespace", default="", help="team-<slug> when left out")
        parser.add_argument("--lead", action="append", default=[], metavar="USER")
        parser.add_argument("--developer", action="append", default=[], metavar="USER")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["slug"]
        team = Team.objects.filter(slug=slug).first()
        if team is None:
            team = Team(
                slug=slug,
                name=options["name"] or slug,
                namespace=options["namespace"] or f"team-{slug}",
            )
            try:
                team.full_clean()
            except ValidationError as exc:
                raise CommandError("; ".join(exc.messages)) from exc
            team.save()
        wanted = {
            Membership.Role.LEAD: options["lead"],
            Membership.Role.DEVELOPER: options["developer"],
        }
        for role, usernames in wanted.items():
            for username in usernames:
                Membership.objects.update_or_create(
                    user=_person(username), team=team, defaults={"role": role}
                )
        people = (
            ", ".join(str(row) for row in team.memberships.select_related("user", "team"))
            or "nobody yet"
        )
        self.stdout.write(f"Team {team.slug} in namespace {team.namespace}: {people}.")


def _person(username: str) -> User:
    try:
        return User.objects.get(username=username)
    except User.DoesNotExist as exc:
        raise CommandError(
            f"There is no user {username!r}. Make one: manage.py createsuperuser"
        ) from exc
