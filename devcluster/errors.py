"""What the store and the API refuse, each with the status code, reason and details of a Kubernetes
`Status`.

StoreError
├── NotFound         404
├── AlreadyExists    409
├── Conflict         409   a stale resourceVersion or uid; read again, then retry
├── ApplyConflict    409   server-side apply: another manager owns the field
├── Invalid          422
├── Expired          410   list again
├── Forbidden        403
└── BadRequest       400
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from devcluster.resources import Resource


class StoreError(Exception):
    """A refusal. `as_status()` is the body that goes over the wire."""

    def __init__(
        self, status_code: int, reason: str, message: str, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.reason = reason
        self.message = message
        self.details: dict[str, Any] = details or {}
        self.metadata: dict[str, Any] = {}

    def as_status(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.status_code,
        }
        if not self.reason:
            del body["reason"]
        if not self.details:
            del body["details"]
        return body


def _details(resource: Resource, name: str, kind: str | None = None) -> dict[str, Any]:
    details = {"name": name, "group": resource.group, "kind": kind or resource.plural}
    return {key: value for key, value in details.items() if value}


class NotFound(StoreError):
    def __init__(self, resource: Resource, name: str) -> None:
        super().__init__(
            404,
            "NotFound",
            f'{resource.qualified} "{name}" not found',
            _details(resource, name),
        )


class AlreadyExists(StoreError):
    def __init__(self, resource: Resource, name: str) -> None:
        super().__init__(
            409,
            "AlreadyExists",
            f'{resource.qualified} "{name}" already exists',
            _details(resource, name),
        )


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class Conflict(StoreError):
    def __init__(self, resource: Resource, name: str, why: str = STALE) -> None:
        super().__init__(
            409,
            "Conflict",
            f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}',
            _details(resource, name),
        )


@dataclass(frozen=True)
class Cause:
    """One field at fault.

    `reason` is FieldValueInvalid, FieldValueRequired, FieldValueForbidden ...
    """

    field: str
    message: str
    reason: str = "FieldValueInvalid"

    def as_dict(self) -> dict[str, str]:
        return {"reason": self.reason, "message": self.message, "field": self.field}


class ApplyConflict(StoreError):
    """Server-side apply: `causes` name each field and the manager that owns it."""

    def __init__(self, causes: Sequence[Cause], managers: Sequence[str]) -> None:
        fields = "".join(f"\n- {cause.field}" for cause in causes)
        if len(causes) == 1:
            what = f"conflict with {managers[0]}: {causes[0].field}"
        else:
            who = ", ".join(dict.fromkeys(managers))
            what = f"conflicts with {who}:{fields}"
        noun = "conflict" if len(causes) == 1 else "conflicts"
        super().__init__(
            409,
            "Conflict",
            f"Apply failed with {len(causes)} {noun}: {what}",
            {"causes": [cause.as_dict() for cause in causes]},
        )


class Invalid(StoreError):
    def __init__(self, resource: Resource, name: str, causes: Iterable[Cause]) -> None:
        found = list(causes)
        texts = [f"{cause.field}: {cause.message}" for cause in found]
        text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
        super().__init__(
            422,
            "Invalid",
            f'{resource.qualified_kind} "{name}" is invalid: {text}',
            _details(resource, name, resource.kind)
            | {"causes": [cause.as_dict() for cause in found]},
        )
        self.causes = found


class Expired(StoreError):
    """The resourceVersion or the continue token is older than the history kept here."""

    def __init__(self, message: str, *, details: dict[str, Any] | None = None) -> None:
        super().__init__(410, "Expired", message, details)


class Forbidden(StoreError):
    def __init__(self, resource: Resource, name: str, why: str) -> None:
        quoted = f' "{name}"' if name else ""
        super().__init__(
            403,
            "Forbidden",
            f"{resource.qualified}{quoted} is forbidden: {why}",
            _details(resource, name),
        )


class BadRequest(StoreError):
    def __init__(self, message: str) -> None:
        super().__init__(400, "BadRequest", message)
