"""What admins do with compute classes, each in one transaction with its audit row."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, transaction

from slipway.catalog import CATALOG
from slipway.compute_class import ComputeClassSpec, validate_class
from slipway.errors import FieldErrors
from webapp.accounts.models import Team, User
from webapp.audit import models as audit
from webapp.classes.models import ComputeClass, ComputeClassRevision


def save(
    *,
    by: User,
    spec: ComputeClassSpec,
    description: str,
    teams: Iterable[Team] | None,
    compute_class: ComputeClass | None = None,
) -> ComputeClass:
    """Create a class, or write its next revision. `teams` None opens it to all.

    Raises FieldErrors (`name`, `rules.N.field`) and changes nothing then.
    """
    validate_class(spec, CATALOG)
    try:
        with transaction.atomic():
            row = _write(by, spec, description, compute_class)
            row.open_to_all = teams is None
            row.save()
            row.teams.set([] if teams is None else list(teams))
            what = "class.create" if compute_class is None else "class.edit"
            audit.write(by=by.username, what=what, about=row.name, revision=row.revision)
    except IntegrityError as exc:
        message = f"A class named {spec.name} exists, or was just changed by somebody else. Reload and try again."
        raise FieldErrors({"name": (message,)}) from exc
    return row


def delete(*, by: User, compute_class: ComputeClass) -> None:
    """Remove a class from the forms. Workloads that used it keep their copy of its rules."""
    with transaction.atomic():
        audit.write(
            by=by.username, what="class.delete", about=compute_class.name, spec=compute_class.spec
        )
        compute_class.delete()


def _write(
    by: User, spec: ComputeClassSpec, description: str, compute_class: ComputeClass | None
) -> ComputeClass:
    mapping = spec.to_mapping()
    if compute_class is None:
        row = ComputeClass.objects.create(name=spec.name, description=description, spec=mapping)
    else:
        row = ComputeClass.objects.select_for_update().get(pk=compute_class.pk)
        if spec.name != row.name:
            message = (
                "A class keeps its name, since workloads and the cluster know it by it. "
                f"Make a new class instead of renaming {row.name}."
            )
            raise FieldErrors({"name": (message,)})
        row.description = description
        if row.spec != mapping:
            row.spec, row.revision = mapping, row.revision + 1
    ComputeClassRevision.objects.get_or_create(
        compute_class=row, number=row.revision, defaults={"spec": mapping, "by": by}
    )
    return row
