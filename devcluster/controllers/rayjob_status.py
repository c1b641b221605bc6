"""A RayJob's status: its first form, and the two rules for when it is worth writing. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from devcluster.controllers.names import suffix
from devcluster.objects import json_copy, timestamp

Object = dict[str, Any]

DEPLOYMENT_END = ("Complete", "Failed")
JOB_END = ("STOPPED", "SUCCEEDED", "FAILED")
NO_CLUSTER: Object = {
    "desiredCPU": "0",
    "desiredMemory": "0",
    "desiredGPU": "0",
    "desiredTPU": "0",
    "head": {},
}
# A failed attempt with these reasons is not tried again, however large backoffLimit is.
NEVER_RETRIED = ("DeadlineExceeded", "JobStatusCheckTimeoutExceeded")


def blank(status: Object) -> Object:
    """The status with the fields that the operator's Go struct always prints."""
    copy: Object = json_copy(status)
    copy.setdefault("succeeded", 0)
    copy.setdefault("failed", 0)
    copy.setdefault("rayJobInfo", {})
    copy.setdefault("rayClusterStatus", json_copy(NO_CLUSTER))
    return copy


def begin(job: Object, now: datetime) -> Object:
    """New -> Initializing: the ids of this attempt and its start."""
    spec, name = job["spec"], job["metadata"]["name"]
    status = blank(job.get("status") or {})
    if not status.get("jobId") and spec.get("submissionMode") != "InteractiveMode":
        status["jobId"] = spec.get("jobId") or f"{name}-{suffix()}"
    if not status.get("rayClusterName"):
        chosen = (spec.get("clusterSelector") or {}).get("ray.io/cluster")
        status["rayClusterName"] = chosen or f"{name}-{suffix()}"
    status["startTime"] = timestamp(now)
    status["jobDeploymentStatus"] = "Initializing"
    return status


def forget_attempt(status: Object) -> None:
    """What Suspended and a retry clear; counters and startTime survive. In place."""
    for field in (
        "rayClusterName",
        "dashboardURL",
        "jobId",
        "message",
        "reason",
        "jobStatusCheckFailureStartTime",
        "jobStatus",
    ):
        status.pop(field, None)
    status["rayJobInfo"] = {}
    status["rayClusterStatus"] = json_copy(NO_CLUSTER)


def is_worth_writing(before: Object, after: Object) -> bool:
    """The operator persists nothing for a new message alone."""

    def shown(status: Object) -> Object:
        cluster = dict(status.get("rayClusterStatus") or {})
        cluster.pop("lastUpdateTime", None)
        return {
            "job": status.get("jobStatus"),
            "deployment": status.get("jobDeploymentStatus"),
            "failing": status.get("jobStatusCheckFailureStartTime"),
            "cluster": cluster,
        }

    return shown(before) != shown(after)


def parse_time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def overdue(job: Object, status: Object, field: str, now: datetime) -> str | None:
    """The operator's message when `activeDeadlineSeconds` or `preRunningDeadlineSeconds` has passed."""
    limit = job["spec"].get(field)
    if limit is None or not status.get("startTime"):
        return None
    start = parse_time(status["startTime"])
    if now < start + timedelta(seconds=limit):
        return None
    shown = start.strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
    title = field[0].upper() + field[1:]
    return f"The RayJob has passed the {field}. StartTime: {shown}. {title}: {limit}"


def seconds_left(job: Object, status: Object, field: str, now: datetime) -> float | None:
    limit = job["spec"].get(field)
    if limit is None or not status.get("startTime"):
        return None
    end = parse_time(status["startTime"]) + timedelta(seconds=limit)
    return max(0.0, (end - now).total_seconds())


def from_ms(milliseconds: int) -> str:
    return timestamp(datetime.fromtimestamp(milliseconds / 1000, UTC))
