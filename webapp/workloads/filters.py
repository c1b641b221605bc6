"""Filter and order of the workload list, from the query string. What makes no sense there is ignored."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.http import QueryDict

from slipway.lifecycle import TERMINAL, State
from webapp.accounts.models import Team, User
from webapp.workloads.models import Workload
from webapp.workloads.models.workload import WorkloadQuerySet

ORDERS = {
    "newest": ("-created_at", "-pk"),
    "oldest": ("created_at", "pk"),
    "name": ("name", "-pk"),
    "changed": ("-changed_at", "-pk"),
    "chips": ("-chips", "-pk"),
}
GROUPS = {"live": "All that is live", "over": "All that is over"}


@dataclass(frozen=True)
class Choice:
    value: str
    label: str
    is_chosen: bool


class WorkloadFilter:
    def __init__(self, query: QueryDict, *, user: User | AnonymousUser) -> None:
        assert isinstance(user, User)
        self._user = user
        self.state = query.get("state", "")
        self.team = query.get("team", "")
        self.owner = query.get("owner", "")[:150]
        self.text = query.get("text", "")[:100].replace("\x00", "")
        self.order = query.get("order", "newest")

    def rows(self) -> WorkloadQuerySet:
        rows = Workload.objects.visible_to(self._user).for_list()
        if self.state in [state.value for state in State]:
            rows = rows.filter(state=self.state)
        elif self.state in GROUPS:
            ends = [state.value for state in TERMINAL]
            rows = (
                rows.filter(state__in=ends)
                if self.state == "over"
                else rows.exclude(state__in=ends)
            )
        if self.team:
            rows = rows.filter(team__slug=self.team)
        if self.owner:
            rows = rows.filter(owner__username=self.owner.replace("\x00", ""))
        if self.text:
            rows = rows.filter(
                Q(name__icontains=self.text) | Q(uid=self.text) | Q(shape__icontains=self.text)
            )
        return rows.order_by(*ORDERS.get(self.order, ORDERS["newest"]))

    def teams(self) -> list[Team]:
        return list(Team.objects.all() if self._user.is_platform_admin else self._user.teams.all())

    def owners(self) -> list[str]:
        visible = Workload.objects.visible_to(self._user).order_by()
        return sorted(visible.values_list("owner__username", flat=True).distinct()[:200])

    def state_choices(self) -> list[Choice]:
        every = [
            ("", "Any state"),
            *GROUPS.items(),
            *((state.value, state.value.capitalize()) for state in State),
        ]
        return [Choice(value, label, value == self.state) for value, label in every]

    @property
    def is_narrow(self) -> bool:
        return bool(self.state or self.team or self.owner or self.text)

    def query(self, **changes: str) -> str:
        """The query string of this filter with `changes`, for links."""
        parts = {
            "state": self.state, "team": self.team, "owner": self.owner, "text": self.text, "order": self.order,
        } | changes  # fmt: skip
        return "?" + urlencode({key: value for key, value in parts.items() if value})

    def order_links(self) -> dict[str, str]:
        return {order: self.query(order=order) for order in ORDERS}
