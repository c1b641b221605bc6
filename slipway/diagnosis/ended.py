"""How an attempt ended, from what KubeRay and Ray said last."""

from __future__ import annotations

from slipway.lifecycle import Outcome, Snapshot, State
from slipway.observe import SeenJob

_LONGEST = 300


def outcome_of(snapshot: Snapshot) -> Outcome:
    """The outcome of an attempt that is over, or cannot go on."""
    job = snapshot.seen.job
    if snapshot.refused:
        return _failed("refused", f"The cluster refused the RayJob: {_cut(snapshot.refused)}")
    if job is None or job.deployment_status not in ("Complete", "Failed", "ValidationFailed"):
        return _failed(
            "object_gone", "The RayJob was deleted outside Slipway before the job ended."
        )
    if job.deployment_status == "ValidationFailed":
        return _failed("invalid", f"KubeRay refused the RayJob: {_cut(job.message)}")
    if job.deployment_status == "Complete":
        return _complete(job)
    return _failure(job)


def _complete(job: SeenJob) -> Outcome:
    if job.job_status == "SUCCEEDED":
        return Outcome(State.SUCCEEDED, "succeeded", "The job succeeded.")
    if job.job_status == "STOPPED":
        return Outcome(State.STOPPED, "stopped_on_ray", "The job was stopped on Ray itself.")
    return _failed(
        "unknown", f"KubeRay says complete while Ray says {job.job_status or 'nothing'}."
    )


def _failure(job: SeenJob) -> Outcome:
    last = _cut(_last_line(job.message))
    match job.reason:
        case "AppFailed":
            return _failed(
                "app_failed", f"The job's command failed: {last or 'no message was left'}."
            )
        case "PreRunningDeadlineExceeded":
            return _failed(
                "capacity_timeout", "The slices were not whole within the time that this rung has."
            )
        case "DeadlineExceeded":
            return _failed("deadline", "The job reached its longest run time and was ended.")
        case "SubmissionFailed":
            return _failed("submission", f"KubeRay could not hand the job to Ray: {last}")
        case "JobStatusCheckTimeoutExceeded":
            return _failed(
                "head_lost", "Ray's head stopped answering, and KubeRay gave up after five minutes."
            )
    return _failed(
        "unknown", f"KubeRay says failed ({job.reason or 'no reason'}): {last or 'no message'}"
    )


def _failed(code: str, sentence: str) -> Outcome:
    return Outcome(State.FAILED, code, sentence)


def _last_line(text: str) -> str:
    """Ray puts the end of the log into the message; its last line is the exception."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].rstrip(".") if lines else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
