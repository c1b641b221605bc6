"""Every task: an id in, one call, nothing out."""

from __future__ import annotations

from celery import shared_task

from workers import drive, reconcile


@shared_task(name="slipway.drive_attempt")
def drive_attempt(attempt_id: int) -> None:
    drive.drive(attempt_id)


@shared_task(name="slipway.sweep")
def sweep() -> None:
    for attempt_id in drive.due():
        drive_attempt.delay(attempt_id)


@shared_task(name="slipway.reconcile")
def reconcile_clusters() -> None:
    reconcile.reconcile()
