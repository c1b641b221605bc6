"""Exit status 0 while every cluster is watched: `python -m workers.watch.healthy`."""

from __future__ import annotations

import os
import sys

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from django.utils import timezone  # noqa: E402

from webapp.clusters.models import Cluster  # noqa: E402


def is_healthy() -> bool:
    """Whether every cluster has a watcher that renewed its lease in time, here or elsewhere."""
    lapsed = Cluster.objects.exclude(watcher_until__gt=timezone.now())
    return not lapsed.exists()


if __name__ == "__main__":
    sys.exit(0 if is_healthy() else 1)
