"""The watcher: `python -m workers.watch.main`. Takes the lease of every cluster it can get, and watches those."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.db import DatabaseError, close_old_connections  # noqa: E402
from django.utils import timezone  # noqa: E402

from slipway.naming import INSTANCE_LABEL  # noqa: E402
from webapp.clusters.models import Cluster  # noqa: E402
from workers.connections import kube_for  # noqa: E402
from workers.watch import lease  # noqa: E402
from workers.watch.intake import Intake  # noqa: E402
from workers.watch.logs import LogFollowers  # noqa: E402
from workers.watch.stream import Changed, Handlers, Listed, Stream  # noqa: E402

log = logging.getLogger("workers.watch")


class ClusterWatch:
    """Everything that watches one cluster: four streams and the log followers."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._stop = threading.Event()
        self._troubles: dict[str, str] = {}
        self._lock = threading.Lock()

    def start(self) -> None:
        intake = Intake(self.cluster)
        ours = f"{INSTANCE_LABEL}={settings.INSTANCE}"
        self._stream("RayJob", ours, intake.jobs_listed, intake.job_changed)
        self._stream("RayCluster", ours, intake.clusters_listed, intake.cluster_changed)
        self._stream("Pod", ours, intake.pods_listed, intake.pod_changed)
        # Events carry no labels of ours; they are sorted out by the name of what they are about.
        self._stream("Event", "", intake.events_listed, intake.event_changed)
        self._thread("logs", LogFollowers(self.cluster, self._stop).run)

    def stop(self) -> None:
        self._stop.set()

    def _stream(self, kind: str, selector: str, listed: Listed, changed: Changed) -> None:
        handlers = Handlers(
            listed=listed,
            changed=changed,
            health=lambda trouble: self._health(kind, trouble),
        )
        stream = Stream(lambda: kube_for(self.cluster), kind, selector, handlers, self._stop)
        self._thread(kind, stream.run)

    def _thread(self, name: str, run: Callable[[], None]) -> None:
        threading.Thread(target=run, name=f"{self.cluster.slug}-{name}", daemon=True).start()

    def _health(self, kind: str, trouble: str) -> None:
        """Write down whether the cluster answers; called by all streams."""
        with self._lock:
            self._troubles[kind] = trouble
            worst = next((text for text in self._troubles.values() if text), "")
        row = Cluster.objects.filter(pk=self.cluster.pk)
        if worst:
            row.filter(trouble="").update(trouble_since=timezone.now())
            row.update(trouble=worst[:400])
        else:
            row.update(trouble="", trouble_since=None, seen_at=timezone.now())


class Watcher:
    def __init__(self) -> None:
        self.stop = threading.Event()
        self._holder = lease.holder_name()
        self._watches: dict[int, ClusterWatch] = {}

    def run(self) -> None:
        while not self.stop.is_set():
            try:
                close_old_connections()
                self.turn()
            except DatabaseError:
                log.exception("The database is away; leases are tried again.")
            self.stop.wait(lease.RENEW_S)
        for pk, watch in self._watches.items():
            watch.stop()
            lease.give_back(pk, self._holder)

    def turn(self) -> None:
        """Take or renew every lease that can be had; let go of what was lost or removed."""
        for cluster in Cluster.objects.all():
            if lease.take(cluster.pk, self._holder):
                if cluster.pk not in self._watches:
                    log.info("Watching cluster %s.", cluster.slug)
                    self._watches[cluster.pk] = ClusterWatch(cluster)
                    self._watches[cluster.pk].start()
            elif cluster.pk in self._watches:
                log.warning("Another watcher took cluster %s.", cluster.slug)
                self._watches.pop(cluster.pk).stop()


def main() -> None:
    watcher = Watcher()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: watcher.stop.set())
    watcher.run()


if __name__ == "__main__":
    main()
