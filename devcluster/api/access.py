"""`kubectl auth can-i`: the same answer that a request would get."""

from __future__ import annotations

from typing import Any

from devcluster.errors import BadRequest
from devcluster.objects import Object
from devcluster.rbac import User


def review(user: User, body: Any) -> Object:
    """A SelfSubjectAccessReview with its status. Nothing is stored."""
    if not isinstance(body, dict) or not isinstance(body.get("spec"), dict):
        raise BadRequest("a SelfSubjectAccessReview must have a spec")
    attributes = body["spec"].get("resourceAttributes")
    if attributes is None:
        is_allowed = user.may("*", "*")
    else:
        is_allowed = user.may(attributes.get("verb", ""), _qualified(attributes))
    return {
        **body,
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": body.get("metadata") or {"creationTimestamp": None},
        "status": {"allowed": is_allowed, "reason": "" if is_allowed else "no rule allows it"},
    }


def _qualified(attributes: dict[str, str]) -> str:
    plural = attributes.get("resource", "")
    if attributes.get("subresource"):
        plural = f"{plural}/{attributes['subresource']}"
    return f"{plural}.{attributes['group']}" if attributes.get("group") else plural
