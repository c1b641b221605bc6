"""The web's one door to the task queue: sends by name, knows no task.

A message that cannot be sent is not an error of the request: the row is stored, and the workers' sweep finds it.
"""

from __future__ import annotations

import logging

from celery import Celery
from celery.exceptions import OperationalError
from django.conf import settings
from django.db import transaction

log = logging.getLogger(__name__)

producer = Celery("slipway-web", broker=settings.BROKER_URL, set_as_current=False)
producer.conf.update(
    task_ignore_result=True,
    broker_connection_timeout=2,
    broker_transport_options={"socket_timeout": 2, "socket_connect_timeout": 2, "max_retries": 0},
)


def drive_attempt(attempt_id: int) -> None:
    """Ask a worker to bring the attempt forward, once the current transaction is committed."""
    transaction.on_commit(lambda: _send("slipway.drive_attempt", attempt_id))


def _send(name: str, attempt_id: int) -> None:
    try:
        producer.send_task(name, args=[attempt_id], ignore_result=True, retry=False)
    except (OperationalError, OSError) as exc:
        log.warning("The broker is away (%s); the sweep will send %s %d.", exc, name, attempt_id)
