"""Who watches which cluster: one watcher each, however many processes there are."""

from __future__ import annotations

import os
import socket
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from webapp.clusters.models import Cluster

# A dead watcher is replaced after this long.
LEASE = timedelta(seconds=10)
RENEW_S = 3.0


def holder_name() -> str:
    return f"{socket.gethostname()[:60]}:{os.getpid()}"


def take(cluster_id: int, holder: str) -> bool:
    """Take or lengthen the lease. False while another watcher holds it."""
    now = timezone.now()
    free = Q(watcher="") | Q(watcher=holder) | Q(watcher_until=None) | Q(watcher_until__lt=now)
    taken = Cluster.objects.filter(free, pk=cluster_id).update(
        watcher=holder, watcher_until=now + LEASE
    )
    return taken == 1


def give_back(cluster_id: int, holder: str) -> None:
    Cluster.objects.filter(pk=cluster_id, watcher=holder).update(watcher="", watcher_until=None)
