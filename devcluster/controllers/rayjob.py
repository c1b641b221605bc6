"""KubeRay's RayJob controller.

One function per jobDeploymentStatus; each changes a copy of the status, which is written when it says something new.
HTTPMode is played in full. K8sJobMode and SidecarMode submit over HTTP too: no submitter Job or container is made.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from devcluster.clock import Clock
from devcluster.controllers import cluster_pods, names, validation
from devcluster.controllers import rayjob_status as job_status
from devcluster.controllers.base import Controller, Key
from devcluster.controllers.events import RAYJOB, Recorder
from devcluster.controllers.ray_api import FindEndpoint, RayJobInfo, RayUnreachable
from devcluster.controllers.rayjob_cleanup import Cleanup
from devcluster.controllers.rayjob_cluster import JobClusters, NoToken
from devcluster.controllers.rayjob_request import submission
from devcluster.errors import NotFound
from devcluster.objects import is_deleting, json_copy, timestamp
from devcluster.resources import RAYCLUSTERS, RAYJOBS, Resource
from devcluster.store import Store

Object = dict[str, Any]
_log = logging.getLogger(__name__)

REQUEUE_S = 3.0
STATUS_CHECK_TIMEOUT_S = 300


class RayJobController(Controller):
    name = "rayjob"

    def __init__(
        self,
        store: Store,
        clock: Clock,
        events: Recorder,
        find_endpoint: FindEndpoint,
        *,
        requeue_s: float = REQUEUE_S,
    ) -> None:
        self._store = store
        self._clock = clock
        self._events = events
        self._requeue_s = requeue_s
        self._cleanup = Cleanup(store, clock, events)
        self._clusters = JobClusters(store, events, find_endpoint)

    def concerns(self, resource: Resource, obj: Object) -> Iterable[Key]:
        metadata = obj["metadata"]
        if resource is RAYJOBS:
            yield metadata["namespace"], metadata["name"]
        elif resource is RAYCLUSTERS:
            for owner in metadata.get("ownerReferences") or []:
                if owner.get("kind") == "RayJob":
                    yield metadata["namespace"], owner["name"]

    def reconcile(self, key: Key) -> float | None:
        try:
            job = self._store.get(RAYJOBS, *key)
        except NotFound:
            return None
        if job["spec"].get("managedBy") not in (None, "ray.io/kuberay-operator"):
            return None
        if is_deleting(job):
            return self._end(job)
        if self._refuse_invalid(job):
            return None
        status = job_status.blank(job.get("status") or {})
        deployment = status.get("jobDeploymentStatus", "")
        steps = {
            "": self._start,
            "Initializing": self._initialize,
            "Waiting": self._wait_for_id,
            "Running": self._run,
            "Suspending": self._take_down,
            "Retrying": self._take_down,
            "Suspended": self._resume,
        }
        if deployment in job_status.DEPLOYMENT_END:
            return self._cleanup.after_end(job)
        if deployment not in steps:
            return self._requeue_s  # ValidationFailed for ever, as the operator does
        again_s = steps[deployment](job, status)
        self._apply_backoff(job, status)
        self._persist(job, status)
        return again_s

    # One step per deployment status

    def _start(self, job: Object, status: Object) -> float:
        metadata = job["metadata"]

        def add_finalizer(obj: Object) -> None:
            finalizers = obj["metadata"].setdefault("finalizers", [])
            if names.RAYJOB_FINALIZER not in finalizers:
                finalizers.append(names.RAYJOB_FINALIZER)

        with contextlib.suppress(NotFound):
            self._store.mutate(RAYJOBS, metadata["namespace"], metadata["name"], add_finalizer)
        status.update(job_status.begin({**job, "status": status}, self._clock.now()))
        return 0.0

    def _initialize(self, job: Object, status: Object) -> float:
        if job["spec"].get("suspend"):
            status["jobDeploymentStatus"] = "Suspending"
            return 0.0
        if self._is_overdue(job, status, "activeDeadlineSeconds", "DeadlineExceeded"):
            return 0.0
        if self._is_overdue(job, status, "preRunningDeadlineSeconds", "PreRunningDeadlineExceeded"):
            return 0.0
        cluster = self._clusters.get_or_create(job, status["rayClusterName"])
        if cluster is not None:
            if cluster.get("status"):
                status["rayClusterStatus"] = json_copy(cluster["status"])
            port = cluster_pods.head_ports(cluster).get("dashboard")
            if (cluster.get("status") or {}).get("state") == "ready" and port:
                status["dashboardURL"] = f"{cluster_pods.fqdn(cluster)}:{port}"
                is_manual = job["spec"].get("submissionMode") == "InteractiveMode"
                status["jobDeploymentStatus"] = "Waiting" if is_manual else "Running"
                return 0.0
        return self._until_deadline(
            job, status, "activeDeadlineSeconds", "preRunningDeadlineSeconds"
        )

    def _wait_for_id(self, job: Object, status: Object) -> float:
        if self._is_overdue(job, status, "preRunningDeadlineSeconds", "PreRunningDeadlineExceeded"):
            return 0.0
        if job["spec"].get("jobId"):
            status["jobId"] = job["spec"]["jobId"]
            status["jobDeploymentStatus"] = "Running"
        return self._until_deadline(job, status, "preRunningDeadlineSeconds")

    def _run(self, job: Object, status: Object) -> float:
        if job["spec"].get("suspend"):
            status["jobDeploymentStatus"] = "Suspending"
            return 0.0
        if self._is_overdue(job, status, "activeDeadlineSeconds", "DeadlineExceeded"):
            return 0.0
        cluster = self._clusters.get_or_create(job, status["rayClusterName"])
        if cluster is None:
            return self._requeue_s
        if cluster.get("status"):
            status["rayClusterStatus"] = json_copy(cluster["status"])
        self._clusters.ensure_head_service(job, cluster)
        try:
            api = self._clusters.api(cluster)
            info = api.job(status["jobId"])
            if info is None and job["spec"].get("submissionMode") != "InteractiveMode":
                # Also after the head was lost: the new head knows no job, and the operator submits again.
                api.submit(submission(job, status["jobId"]))
        except (RayUnreachable, NoToken) as exc:
            self._note_failing_check(job, status, exc)
            return self._until_deadline(job, status, "activeDeadlineSeconds")
        status.pop("jobStatusCheckFailureStartTime", None)
        if info is not None:
            _take_over(status, info)
        return self._until_deadline(job, status, "activeDeadlineSeconds")

    def _take_down(self, job: Object, status: Object) -> float:
        if self._cleanup.delete_cluster(job, status):
            return self._requeue_s
        is_retry = status["jobDeploymentStatus"] == "Retrying"
        job_status.forget_attempt(status)
        status["jobDeploymentStatus"] = "" if is_retry else "Suspended"
        return 0.0

    def _resume(self, job: Object, status: Object) -> float | None:
        if job["spec"].get("suspend"):
            return None
        status["jobDeploymentStatus"] = ""
        return 0.0

    # What the steps share

    def _end(self, job: Object) -> float | None:
        """Deletion: stop the Ray job if it may still run, then let the object go, stopped or not."""
        metadata, status = job["metadata"], job.get("status") or {}
        if names.RAYJOB_FINALIZER not in (metadata.get("finalizers") or []):
            return None
        if status.get("jobStatus", "") not in job_status.JOB_END and status.get("jobId"):
            try:
                cluster = self._store.get(
                    RAYCLUSTERS, metadata["namespace"], status.get("rayClusterName", "")
                )
                self._clusters.api(cluster).stop(status["jobId"])
            except NoToken:
                return self._requeue_s
            except (NotFound, RayUnreachable) as exc:
                _log.info("%s: not stopped before deletion: %s", metadata["name"], exc)

        def drop_finalizer(obj: Object) -> None:
            obj["metadata"]["finalizers"].remove(names.RAYJOB_FINALIZER)

        with contextlib.suppress(NotFound, ValueError):
            self._store.mutate(RAYJOBS, metadata["namespace"], metadata["name"], drop_finalizer)
        return None

    def _refuse_invalid(self, job: Object) -> bool:
        for part, check in (
            ("metadata", validation.rayjob_metadata),
            ("spec", validation.rayjob_spec),
        ):
            if why := check(job):
                message = f"The RayJob {part} is invalid: {why}"
                metadata = job["metadata"]
                self._events.emit(
                    RAYJOB,
                    job,
                    f"InvalidRayJob{part.capitalize()}",
                    f"{metadata['namespace']}/{metadata['name']}: {message}",
                    type_="Warning",
                    action="Validate",
                )
                status = job_status.blank(job.get("status") or {})
                status |= {
                    "jobDeploymentStatus": "ValidationFailed",
                    "reason": "ValidationFailed",
                    "message": message,
                }
                self._persist(job, status)
                return True
        return False

    def _note_failing_check(self, job: Object, status: Object, exc: Exception) -> None:
        _log.info("%s: %s", job["metadata"]["name"], exc)
        now = self._clock.now()
        since = status.setdefault("jobStatusCheckFailureStartTime", timestamp(now))
        if now >= job_status.parse_time(since) + timedelta(seconds=STATUS_CHECK_TIMEOUT_S):
            shown = job_status.parse_time(since).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
            status["jobDeploymentStatus"] = "Failed"
            status["reason"] = "JobStatusCheckTimeoutExceeded"
            status["message"] = (
                f"Job status checks have been failing since {shown}; "
                f"exceeded timeout of {STATUS_CHECK_TIMEOUT_S}s"
            )

    def _is_overdue(self, job: Object, status: Object, field: str, reason: str) -> bool:
        message = job_status.overdue(job, status, field, self._clock.now())
        if message is None:
            return False
        status |= {"jobDeploymentStatus": "Failed", "reason": reason, "message": message}
        return True

    def _until_deadline(self, job: Object, status: Object, *fields: str) -> float:
        now = self._clock.now()
        left = [job_status.seconds_left(job, status, field, now) for field in fields]
        return min([self._requeue_s, *(s for s in left if s is not None)])

    def _apply_backoff(self, job: Object, status: Object) -> None:
        """Count a finished attempt, and turn Failed into Retrying while tries are left."""
        deployment = status.get("jobDeploymentStatus")
        if deployment == "Complete" and status.get("jobStatus") == "SUCCEEDED":
            status["succeeded"] += 1
        elif deployment == "Failed":
            status["failed"] += 1
            tries = job["spec"].get("backoffLimit", 0) + 1
            if status["failed"] < tries and status.get("reason") not in job_status.NEVER_RETRIED:
                status["jobDeploymentStatus"] = "Retrying"

    def _persist(self, job: Object, status: Object) -> None:
        if not job_status.is_worth_writing(job.get("status") or {}, status):
            return
        if status.get("jobDeploymentStatus") in job_status.DEPLOYMENT_END:
            status.setdefault("endTime", timestamp(self._clock.now()))
        metadata = job["metadata"]

        def replace(obj: Object) -> None:
            if obj["metadata"]["uid"] == metadata["uid"]:
                obj["status"] = status

        with contextlib.suppress(NotFound):
            self._store.mutate(
                RAYJOBS, metadata["namespace"], metadata["name"], replace, subresource="status"
            )


def _take_over(status: Object, info: RayJobInfo) -> None:
    """Ray's own words about the job become the RayJob's; a terminal one ends it. In place."""
    status["jobStatus"], status["message"] = info.status, info.message
    seen: Object = {}
    if info.start_ms:
        seen["startTime"] = job_status.from_ms(info.start_ms)
    if info.end_ms:
        seen["endTime"] = job_status.from_ms(info.end_ms)
    status["rayJobInfo"] = seen
    if info.status == "FAILED":
        status["jobDeploymentStatus"], status["reason"] = "Failed", "AppFailed"
    elif info.status in job_status.JOB_END:
        status["jobDeploymentStatus"] = "Complete"
