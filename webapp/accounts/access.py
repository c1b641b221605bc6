"""Who may do what: the one check.

A view gets its object through `get_or_404`, so that no view can forget to ask. Whoever may not see an object gets the
same 404 as for one that does not exist; whoever sees it but may not do the act gets a 403.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404

from webapp.accounts.models import Membership, User
from webapp.accounts.subject import Subject

Action = Literal["view", "submit", "stop", "delete", "manage"]


class Guarded(Protocol):
    def access_subject(self) -> Subject: ...


@dataclass(frozen=True)
class _Who:
    user_id: int
    is_platform_admin: bool
    roles: Mapping[int, str]

    def in_team(self, subject: Subject) -> bool:
        return not subject.team_ids.isdisjoint(self.roles)

    def leads(self, subject: Subject) -> bool:
        return any(self.roles.get(team) == Membership.Role.LEAD for team in subject.team_ids)


def _view(who: _Who, subject: Subject) -> bool:
    return subject.everyone_may_view or who.is_platform_admin or who.in_team(subject)


def _submit(who: _Who, subject: Subject) -> bool:
    return who.is_platform_admin or who.in_team(subject)


def _end(who: _Who, subject: Subject) -> bool:
    return (
        who.is_platform_admin
        or who.leads(subject)
        or (who.in_team(subject) and subject.owner_id == who.user_id)
    )


def _manage(who: _Who, subject: Subject) -> bool:
    return who.is_platform_admin


POLICY: Mapping[Action, Callable[[_Who, Subject], bool]] = {
    "view": _view,
    "submit": _submit,
    "stop": _end,
    "delete": _end,
    "manage": _manage,
}

M = TypeVar("M", bound=Model)


def can(user: User | AnonymousUser, action: Action, thing: Guarded) -> bool:
    """Whether `user` may do `action` on `thing`. Nobody who is signed out or inactive may do anything."""
    if not isinstance(user, User) or not user.is_active:
        return False
    who = _Who(user.pk, user.is_platform_admin, _roles(user))
    return POLICY[action](who, thing.access_subject())


def get_or_404(
    user: User | AnonymousUser, action: Action, queryset: QuerySet[M], **lookup: object
) -> M:
    """The object that `lookup` finds, if `user` may do `action` on it.

    Raises Http404 when it does not exist or the user may not see it, PermissionDenied when they see it but may not act.
    """
    try:
        thing = queryset.get(**lookup)
    except (ObjectDoesNotExist, ValueError) as exc:
        raise Http404 from exc
    guarded: Guarded = thing  # type: ignore[assignment]  # every model that views reach has access_subject
    if not can(user, "view", guarded):
        raise Http404
    if not can(user, action, guarded):
        raise PermissionDenied
    return thing


def require(user: User | AnonymousUser, action: Action, thing: Guarded) -> None:
    """For acts without a stored object, such as making a compute class: PermissionDenied unless allowed."""
    if not can(user, action, thing):
        raise PermissionDenied


class Platform:
    """The installation itself as an object of the check."""

    def access_subject(self) -> Subject:
        return Subject(team_ids=frozenset())


PLATFORM = Platform()


def _roles(user: User) -> Mapping[int, str]:
    """The user's role by team id, read once per request (the user object lives as long as the request)."""
    roles: dict[int, str] | None = getattr(user, "_slipway_roles", None)
    if roles is None:
        roles = dict(user.memberships.values_list("team_id", "role"))
        user._slipway_roles = roles  # type: ignore[attr-defined]
    return roles
