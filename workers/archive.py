"""Bring the driver log home before the cluster is torn down."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from slipway.observe import SeenJob
from webapp.workloads import actions
from webapp.workloads.actions.logs import stored_size
from webapp.workloads.models import Attempt
from workers.connections import ray_for
from workers.gateways.errors import GatewayError

# A slice costs money while we wait for its log, so an unreachable head gets this long and no longer.
PATIENCE = timedelta(seconds=45)
# Somebody waits for a stop.
PATIENCE_WHEN_STOPPED = timedelta(seconds=4)


def archive(attempt: Attempt) -> bool:
    """Fetch what is missing of the log. True when that is done, or given up with a reason."""
    job = attempt.snapshot().seen.job
    if job is None or not job.cluster_name or not job.job_status:
        actions.archived(attempt.pk, note_text="The job never started on Ray, so there is no log.")
        return True
    try:
        size = fetch(attempt, job)
    except GatewayError as exc:
        return _give_up(attempt, exc)
    actions.archived(attempt.pk, note_text=f"Driver log kept: {size:,} bytes.")
    return True


def fetch(attempt: Attempt, job: SeenJob) -> int:
    """Read Ray's log from its beginning and store what is new; returns the bytes that are stored."""
    ray = ray_for(attempt, job.cluster_name)
    driver = ray.driver(attempt.object_name)
    at = actions.begin_log(attempt.pk, driver.run)
    for piece in ray.read_log(driver):
        actions.append_log(attempt.pk, at, piece)
        at += len(piece)
    return stored_size(attempt.pk)


def _give_up(attempt: Attempt, exc: GatewayError) -> bool:
    stopped = attempt.workload.stop_requested_at is not None
    patience = PATIENCE_WHEN_STOPPED if stopped else PATIENCE
    since = attempt.state_since
    if exc.retry and timezone.now() - since < patience:
        actions.troubled(attempt.pk, message=f"The log is not home yet: {exc.message}")
        return False
    kept = stored_size(attempt.pk)
    actions.archived(
        attempt.pk,
        note_text=f"Ray's head no longer gives the log ({exc.message}). {kept:,} bytes were kept while it ran.",
    )
    return True
