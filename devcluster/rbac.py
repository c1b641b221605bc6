"""Who is asking, and may they.

Two bearer tokens: one for people (admin), one for Slipway (what it needs, no more).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import StoreError
from devcluster.files import write_private
from devcluster.resources import Resource

READ = ("get", "list", "watch")
ADMIN, SLIPWAY = "admin", "slipway"


@dataclass(frozen=True)
class Rule:
    """`resources` as `plural.group` or `plural/subresource`; "*" is everything."""

    resources: tuple[str, ...]
    verbs: tuple[str, ...]

    def allows(self, verb: str, resource: str) -> bool:
        return _has(self.verbs, verb) and _has(self.resources, resource)


def _has(known: Iterable[str], asked: str) -> bool:
    return any(one in ("*", asked) for one in known)


@dataclass(frozen=True)
class User:
    name: str
    groups: tuple[str, ...]
    rules: tuple[Rule, ...]

    def may(self, verb: str, resource: str) -> bool:
        return any(rule.allows(verb, resource) for rule in self.rules)


# KubeRay's rayjob-editor role, and what launching, watching and logs need besides.
SLIPWAY_RULES = (
    Rule(
        ("rayjobs.ray.io", "rayclusters.ray.io", "rayservices.ray.io"),
        (*READ, "create", "patch", "update", "delete"),
    ),
    Rule(("rayjobs/status.ray.io", "rayclusters/status.ray.io"), ("get",)),
    Rule(("pods", "services", "events", "events.events.k8s.io", "nodes", "jobs.batch"), READ),
    Rule(("pods/log",), ("get",)),
    Rule(("services/proxy",), ("get", "create", "update", "patch", "delete")),
    Rule(("secrets", "configmaps"), ("get", "list", "create", "patch", "update", "delete")),
    Rule(("namespaces",), (*READ, "create", "patch")),
    Rule(("computeclasses.cloud.google.com",), (*READ, "create", "patch", "update", "delete")),
    Rule(("customresourcedefinitions.apiextensions.k8s.io",), READ),
    Rule(("selfsubjectaccessreviews.authorization.k8s.io",), ("create",)),
)
USERS = {
    ADMIN: User(
        "devcluster-admin", ("system:masters", "system:authenticated"), (Rule(("*",), ("*",)),)
    ),
    SLIPWAY: User(
        "system:serviceaccount:slipway:slipway",
        ("system:serviceaccounts", "system:authenticated"),
        SLIPWAY_RULES,
    ),
}


def rbac_name(resource: Resource, subresource: str | None) -> str:
    """`pods/log`, `rayjobs/status.ray.io`, `rayjobs.ray.io`."""
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    return f"{plural}.{resource.group}" if resource.group else plural


class Tokens:
    """The two tokens. They outlive restarts, so that a kubeconfig written once stays valid."""

    def __init__(self, by_role: dict[str, str]) -> None:
        self.by_role = by_role
        self._users = {token: USERS[role] for role, token in by_role.items()}

    @classmethod
    def load(cls, state_dir: Path | None) -> Tokens:
        """From `tokens.json` in the state dir, written (mode 0600) when it is not there."""
        path = state_dir / "tokens.json" if state_dir is not None else None
        if path is not None and path.exists():
            return cls(json.loads(path.read_text(encoding="utf-8")))
        fresh = {role: secrets.token_urlsafe(32) for role in USERS}
        if path is not None:
            write_private(path, json.dumps(fresh).encode())
        return cls(fresh)

    def user(self, authorization: str | None) -> User:
        """Who a header `Authorization: Bearer ...` speaks for. 401 when nobody."""
        scheme, _, token = (authorization or "").partition(" ")
        found = self._users.get(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise StoreError(401, "Unauthorized", "Unauthorized")
        return found


def authorize(
    user: User, verb: str, resource: Resource, subresource: str | None, namespace: str, name: str
) -> None:
    """StoreError 403 in the API server's words when `user` may not."""
    if user.may(verb, rbac_name(resource, subresource)):
        return
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
    quoted = f' "{name}"' if name else ""
    qualified = resource.qualified
    message = (
        f'{qualified}{quoted} is forbidden: User "{user.name}" cannot {verb} resource "{plural}" '
        f'in API group "{resource.group}" {where}'
    )
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    raise StoreError(403, "Forbidden", message, {k: v for k, v in details.items() if v})
