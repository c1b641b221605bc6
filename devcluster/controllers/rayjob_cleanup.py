"""What happens to a RayJob's cluster after its end: shutdownAfterJobFinishes with its TTL, or deletion rules."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

from devcluster.clock import Clock
from devcluster.controllers.events import RAYJOB, Recorder
from devcluster.controllers.rayjob_status import parse_time
from devcluster.errors import NotFound
from devcluster.objects import is_deleting
from devcluster.resources import RAYCLUSTERS, RAYJOBS
from devcluster.store import Store

Object = dict[str, Any]

EXTRA_WAIT_S = 2.0  # the operator looks again a little after the TTL
_SEVERITY = ("DeleteNone", "DeleteWorkers", "DeleteCluster", "DeleteSelf")


class Cleanup:
    def __init__(self, store: Store, clock: Clock, events: Recorder) -> None:
        self._store = store
        self._clock = clock
        self._events = events

    def after_end(self, job: Object) -> float | None:
        """Delete what is due; return the seconds until the next thing is."""
        spec, status = job["spec"], job["status"]
        rules = (spec.get("deletionStrategy") or {}).get("deletionRules")
        if spec.get("shutdownAfterJobFinishes"):
            rules = [
                {
                    "policy": "DeleteCluster",
                    "condition": {"ttlSeconds": spec.get("ttlSecondsAfterFinished", 0)},
                }
            ]
        if not rules or "endTime" not in status:
            return None
        ended, now = parse_time(status["endTime"]), self._clock.now()
        due, pauses = [], []
        for rule in rules:
            if not _applies(rule["condition"], status):
                continue
            at = ended + timedelta(seconds=rule["condition"].get("ttlSeconds", 0))
            if at <= now:
                due.append(rule["policy"])
            else:
                pauses.append((at - now).total_seconds() + EXTRA_WAIT_S)
        if due:
            self._carry_out(max(due, key=_SEVERITY.index), job)
        return min(pauses, default=None)

    def _carry_out(self, policy: str, job: Object) -> None:
        metadata = job["metadata"]
        if policy == "DeleteSelf":
            with contextlib.suppress(NotFound):
                self._store.delete(RAYJOBS, metadata["namespace"], metadata["name"])
        elif policy == "DeleteCluster":
            self.delete_cluster(job, job["status"])
        elif policy == "DeleteWorkers":
            self._suspend_workers(job)

    def delete_cluster(self, job: Object, status: Object) -> bool:
        """Ask for the deletion of the job's own cluster. False once it is gone; a selected one is never deleted."""
        namespace, name = job["metadata"]["namespace"], status.get("rayClusterName", "")
        if job["spec"].get("clusterSelector"):
            return False
        try:
            cluster = self._store.get(RAYCLUSTERS, namespace, name)
            if not is_deleting(cluster):
                self._store.delete(RAYCLUSTERS, namespace, name)
                text = f"Deleted cluster {namespace}/{name}"
                self._events.emit(RAYJOB, job, "DeletedRayCluster", text, action="Delete")
        except NotFound:
            return False
        return True

    def _suspend_workers(self, job: Object) -> None:
        namespace, name = job["metadata"]["namespace"], job["status"].get("rayClusterName", "")
        done = False

        def suspend(obj: Object) -> None:
            nonlocal done
            for group in obj["spec"].get("workerGroupSpecs") or []:
                done = done or not group.get("suspend")
                group["suspend"] = True

        with contextlib.suppress(NotFound):
            self._store.mutate(RAYCLUSTERS, namespace, name, suspend)
        if done:
            text = f"Set the `suspend` field to true for all worker groups in cluster {namespace}/{name}"
            self._events.emit(RAYJOB, job, "UpdatedRayCluster", text, action="Update")


def _applies(condition: Object, status: Object) -> bool:
    if wanted := condition.get("jobDeploymentStatus"):
        return bool(status.get("jobDeploymentStatus") == wanted)
    if wanted := condition.get("jobStatus"):
        return bool(status.get("jobStatus") == wanted)
    return True
