"""Follow the driver log of every running attempt of one cluster, while it is written."""

from __future__ import annotations

import logging
import threading

from django.db import close_old_connections, connection

from slipway.lifecycle import State
from webapp.clusters.models import Cluster
from webapp.workloads import actions
from webapp.workloads.models import Attempt
from workers.connections import ray_for
from workers.gateways.errors import GatewayError

log = logging.getLogger(__name__)

LOOK_S = 1.0
RETRY_S = 2.0


class LogFollowers:
    """One thread per running attempt."""

    def __init__(self, cluster: Cluster, stop: threading.Event) -> None:
        self._cluster = cluster
        self._stop = stop
        self._threads: dict[int, threading.Thread] = {}

    def run(self) -> None:
        while not self._stop.wait(LOOK_S):
            close_old_connections()
            self.turn()

    def turn(self) -> None:
        """Start a follower for each attempt that has a job and none follows."""
        self._threads = {pk: thread for pk, thread in self._threads.items() if thread.is_alive()}
        for attempt in following(self._cluster):
            if attempt.pk not in self._threads:
                thread = threading.Thread(
                    target=self._follow, args=[attempt.pk], name=f"log-{attempt.pk}", daemon=True
                )
                self._threads[attempt.pk] = thread
                thread.start()

    def _follow(self, attempt_id: int) -> None:
        try:
            while not self._stop.is_set():
                attempt = Attempt.objects.select_related("workload__cluster").get(pk=attempt_id)
                if not _is_followed(attempt):
                    return
                try:
                    follow_once(attempt)
                except GatewayError as exc:
                    log.info("Log of attempt %d: %s", attempt_id, exc)
                self._stop.wait(RETRY_S)
        except Exception:
            log.exception("Following the log of attempt %d failed; it starts again.", attempt_id)
        finally:
            connection.close()


def following(cluster: Cluster) -> list[Attempt]:
    rows = Attempt.objects.open().filter(workload__cluster=cluster, archived_at=None)
    return [
        attempt for attempt in rows.select_related("workload__cluster") if _is_followed(attempt)
    ]


def follow_once(attempt: Attempt) -> None:
    """Read the log from its start to where the line ends, storing what is new. Raises GatewayError.

    Ray sends what was added twice a second at most, so a chatty log does not become a row per line.
    """
    job = attempt.snapshot().seen.job
    if job is None:
        return
    ray = ray_for(attempt, job.cluster_name)
    driver = ray.driver(attempt.object_name)
    at = actions.begin_log(attempt.pk, driver.run)
    for piece in ray.follow_log(driver):
        actions.append_log(attempt.pk, at, piece)
        at += len(piece)


def _is_followed(attempt: Attempt) -> bool:
    job = attempt.snapshot().seen.job
    return (
        attempt.ended_at is None
        and attempt.archived_at is None
        and attempt.state not in (State.QUEUED.value, State.CREATING.value)
        and job is not None
        and bool(job.cluster_name)
        and job.job_status in ("RUNNING", "SUCCEEDED", "FAILED")
    )
