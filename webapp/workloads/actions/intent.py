"""What people want: submit, stop, delete."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from slipway.errors import FieldErrors
from slipway.naming import object_name
from slipway.request import WorkloadRequest
from webapp import dispatch
from webapp.accounts.models import Team, User
from webapp.audit import models as audit
from webapp.classes.models import ComputeClass
from webapp.clusters.models import Cluster
from webapp.live import hub
from webapp.workloads.actions.fold import refold
from webapp.workloads.actions.timeline import note
from webapp.workloads.code import Bundle
from webapp.workloads.models import Attempt, CodeBundle, Workload
from webapp.workloads.preview import Preview, preview


def submit(
    *, by: User, team: Team, request: WorkloadRequest, bundle: Bundle | None, uid: str
) -> Workload:
    """Store the request and its first attempt; a worker launches it after commit.

    `uid` is the draft's: submitting the same draft twice gives the same workload, so a double click is harmless.
    Raises FieldErrors and stores nothing then.
    """
    cluster = default_cluster()
    chosen = usable_class(team, request)
    spec = chosen.as_spec() if chosen else None
    shown = preview(
        request=request, team=team, owner=by.username, cluster=cluster, class_spec=spec, uid=uid
    )
    try:
        with transaction.atomic():
            workload = Workload.objects.create(
                uid=uid,
                team=team,
                owner=by,
                cluster=cluster,
                name=request.name,
                request=request.to_mapping(),
                class_spec=spec.to_mapping() if spec else None,
                class_revision=chosen.revision if chosen else None,
                code=_store(bundle),
                shape=str(shown.plan.rungs[0].shape),
                hosts=shown.plan.rungs[0].hosts,
                chips=shown.plan.rungs[0].chips,
            )
            add_attempt(workload, shown, number=1, rung=0)
            audit.write(
                by=by.username,
                what="workload.submit",
                about=workload.uid,
                team=team.slug,
                name=request.name,
            )
    except IntegrityError as exc:
        existing = Workload.objects.filter(uid=uid, team=team, owner=by, name=request.name).first()
        if existing is None:
            message = "This draft was already submitted with other content. Open the form again."
            raise FieldErrors({"name": (message,)}) from exc
        return existing
    return workload


def add_attempt(workload: Workload, shown: Preview, *, number: int, rung: int) -> Attempt:
    """The row that names a RayJob before it exists."""
    planned = shown.plan.rungs[rung]
    attempt = Attempt.objects.create(
        workload=workload,
        number=number,
        rung=rung,
        object_name=object_name(workload.name, workload.uid, number),
        namespace=workload.team.namespace,
        manifest=shown.manifest,
        slices=planned.slices,
        hosts_per_slice=planned.shape.hosts,
    )
    note(attempt, "submitted", "Queued", f"Attempt {number} on {planned.shape} waits for a worker.")
    dispatch.drive_attempt(attempt.pk)
    hub.publish(hub.team_topic(workload.team.slug), "list")
    hub.publish(hub.workload_topic(workload.uid), "status", "slices", "timeline")
    return attempt


def stop(*, by: User, workload: Workload) -> None:
    """Ask that the workload ends. Nothing happens when it is already over or stopping."""
    with transaction.atomic():
        row = Workload.objects.select_for_update().get(pk=workload.pk)
        if row.is_over or row.stop_requested_at is not None:
            return
        row.stop_requested_at = timezone.now()
        row.stop_requested_by = by.username
        row.save(update_fields=["stop_requested_at", "stop_requested_by"])
        audit.write(by=by.username, what="workload.stop", about=row.uid, team=row.team.slug)
        attempt = row.attempts.open().select_for_update().first()
        if attempt is not None:
            note(attempt, "stop", "StopRequested", f"{by.username} asked to stop this workload.")
            refold(attempt)


def delete(*, by: User, workload: Workload) -> None:
    """Take the workload off every page, stopping it first if it still runs. The audit trail keeps it."""
    stop(by=by, workload=workload)
    with transaction.atomic():
        deleted = Workload.objects.filter(pk=workload.pk, deleted_at=None).update(
            deleted_at=timezone.now()
        )
        if deleted:
            audit.write(
                by=by.username, what="workload.delete", about=workload.uid, team=workload.team.slug
            )
            hub.publish(hub.team_topic(workload.team.slug), "list")


def default_cluster() -> Cluster:
    """The cluster that new workloads go to: the first one registered. Raises FieldErrors when there is none."""
    cluster = Cluster.objects.order_by("pk").first()
    if cluster is None:
        message = "No cluster is registered. A platform admin adds one with `manage.py seed` or in the settings."
        raise FieldErrors({"compute_class": (message,)})
    return cluster


def usable_class(team: Team, request: WorkloadRequest) -> ComputeClass | None:
    """The class that `request` names, if `team` may use it. Raises FieldErrors on `compute_class`."""
    if request.compute_class is None:
        return None
    usable = ComputeClass.objects.usable_by(team)
    chosen = usable.filter(name=request.compute_class).first()
    if chosen is None:
        names = ", ".join(usable.values_list("name", flat=True)) or "none"
        message = (
            f"Team {team.name} has no compute class {request.compute_class!r}. It may use: {names}."
        )
        raise FieldErrors({"compute_class": (message,)})
    return chosen


def _store(bundle: Bundle | None) -> CodeBundle | None:
    if bundle is None:
        return None
    stored, _ = CodeBundle.objects.get_or_create(
        sha256=bundle.sha256, defaults={"data": bundle.data, "files": list(bundle.files)}
    )
    return stored
