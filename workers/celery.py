"""The Celery app: `celery -A workers.celery worker`, `celery -A workers.celery beat`.

Delivery is at least once: tasks are short and may run twice. What takes long is a state in the database,
never a wait in a task.
"""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from celery import Celery  # noqa: E402  # models are needed by tasks, so Django comes first
from django.conf import settings  # noqa: E402

from workers.schedule import SCHEDULE  # noqa: E402

app = Celery("slipway", broker=settings.BROKER_URL)
app.conf.update(
    imports=["workers.tasks"],
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        # Without these, what a killed worker held comes back only after some hundred seconds.
        "visibility_timeout": 60,
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
    },
    timezone="UTC",
    beat_schedule=SCHEDULE,
)
