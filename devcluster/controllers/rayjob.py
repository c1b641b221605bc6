"""KubeRay's RayJob controller.

One function per jobDeploymentStatus; each changes a copy of the status, which is written when it says something new.
HTTPMode is played in full. K8sJobMode and SidecarMode submit over HTTP too: no submitter Job or container is made.
"""

from __future__ import annotations

import base64
import contextlib
import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from devcluster.clock import Clock
from devcluster.controllers import cluster_pods, names, validation, webhook
from devcluster.controllers import rayjob_status as job_status
from devcluster.controllers.base import Controller, Key
from devcluster.controllers.events import RAYJOB, Recorder
from devcluster.controllers.ray_api import FindEndpoint, RayApi, RayJobInfo, RayUnreachable
from devcluster.controllers.rayjob_cleanup import Cleanup
from devcluster.controllers.rayjob_request import submission
from devcluster.errors import AlreadyExists, NotFound, StoreError
from devcluster.objects import is_deleting, json_copy, timestamp
from devcluster.resources import RAYCLUSTERS, RAYJOBS, SECRETS, SERVICES, Resource
from devcluster.store import Store

Object = dict[str, Any]
_log = logging.getLogger(__name__)

REQUEUE_S = 3.0
STATUS_CHECK_TIMEOUT_S = 300


class NoToken(Exception):
    """The Secret with Ray's token is missing: the operator can't even make a client."""


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
        self._find_endpoint = find_endpoint
        self._requeue_s = requeue_s
        self._cleanup = Cleanup(store, clock, events)

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
        cluster = self._cluster_or_create(job, status)
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
        cluster = self._cluster_or_create(job, status)
        if cluster is None:
            return self._requeue_s
        if cluster.get("status"):
            status["rayClusterStatus"] = json_copy(cluster["status"])
        self._ensure_head_service(job, cluster)
        try:
            api = self._api(cluster)
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
                self._api(cluster).stop(status["jobId"])
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

    def _cluster_or_create(self, job: Object, status: Object) -> Object | None:
        namespace, name = job["metadata"]["namespace"], status["rayClusterName"]
        try:
            return self._store.get(RAYCLUSTERS, namespace, name)
        except NotFound:
            pass
        where = f"{namespace}/{name}"
        if job["spec"].get("clusterSelector"):
            text = (
                f"RayCluster {where} set in the clusterSelector is not found. "
                "It must be created manually"
            )
            self._warn(job, "RayClusterNotFound", text)
            return None
        cluster = _cluster_of(job, name)
        why = webhook.refusal(cluster)
        if why is None:
            try:
                created = self._store.create(RAYCLUSTERS, cluster)
            except StoreError as exc:
                why = exc.message
            else:
                text = f"Created RayCluster {where}"
                self._events.emit(RAYJOB, job, "CreatedRayCluster", text, action="Create")
                return created
        self._warn(job, "FailedToCreateRayCluster", f"Failed to create RayCluster {where}: {why}")
        return None

    def _ensure_head_service(self, job: Object, cluster: Object) -> None:
        service = cluster_pods.job_head_service(job, cluster)
        metadata = service["metadata"]
        where = f"{metadata['namespace']}/{metadata['name']}"
        try:
            self._store.create(SERVICES, service)
        except AlreadyExists:

            def repoint(obj: Object) -> None:
                obj["spec"]["selector"] = service["spec"]["selector"]

            with contextlib.suppress(NotFound):
                self._store.mutate(SERVICES, metadata["namespace"], metadata["name"], repoint)
        except StoreError as exc:
            text = f"Failed to create the service {where}, {exc.message}"
            self._warn(job, "FailedToCreateService", text)
        else:
            text = f"Created the service {where}"
            self._events.emit(RAYJOB, job, "CreatedService", text, action="Create")

    def _api(self, cluster: Object) -> RayApi:
        namespace = cluster["metadata"]["namespace"]
        token = None
        if cluster_pods.uses_token(cluster):
            name = cluster_pods.auth_secret_name(cluster)
            try:
                secret = self._store.get(SECRETS, namespace, name)
                token = base64.b64decode(secret["data"]["auth_token"]).decode()
            except (NotFound, KeyError, ValueError) as exc:
                raise NoToken(f"secret {namespace}/{name} has no auth_token") from exc
        service = names.head_service(cluster["metadata"]["name"])
        return RayApi(self._find_endpoint, namespace=namespace, service=service, token=token)

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

    def _warn(self, job: Object, reason: str, text: str) -> None:
        self._events.emit(RAYJOB, job, reason, text, type_="Warning", action="Create")


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


def _cluster_of(job: Object, name: str) -> Object:
    metadata, spec = job["metadata"], job["spec"]
    return {
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {
                **(metadata.get("labels") or {}),
                names.ORIGIN_NAME: metadata["name"],
                names.ORIGIN_KIND: "RayJob",
                names.SUBMISSION_MODE: spec.get("submissionMode", "K8sJobMode"),
            },
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [cluster_pods.owner_reference(job)],
        },
        "spec": json_copy(spec["rayClusterSpec"]),
    }
