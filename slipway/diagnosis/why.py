"""One sentence for every state."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from slipway.diagnosis.reason import Reason
from slipway.diagnosis.waiting import waiting
from slipway.lifecycle import Outcome, Snapshot, State


def why(snapshot: Snapshot, now: datetime, trouble: str = "") -> Reason:
    """Why the attempt is where it is. `trouble` is what stopped its driver last, "" when nothing did."""
    state, since = snapshot.state, snapshot.state_since
    match state:
        case State.QUEUED | State.CREATING:
            return _before(snapshot, now, trouble)
        case State.WAITING:
            return waiting(snapshot)
        case State.STARTING:
            return _starting(snapshot)
        case State.RUNNING:
            return Reason("running", f"Running on {_hosts(snapshot)}.", since)
        case State.STOPPING:
            return _ending("stopping", "Stopping as asked", snapshot, trouble)
        case State.FINISHING:
            outcome = snapshot.outcome or Outcome.stopped()
            return _ending(outcome.code, outcome.sentence.rstrip("."), snapshot, trouble)
        case State.SUCCEEDED | State.FAILED | State.STOPPED:
            outcome = snapshot.outcome or Outcome.stopped()
            return Reason(outcome.code, outcome.sentence, since, _last_words(snapshot))
        case _:
            assert_never(state)


# A worker takes new attempts within a second or so; the sweep finds forgotten ones within five.
_WORKER_IS_LATE_S = 15


def _before(snapshot: Snapshot, now: datetime, trouble: str) -> Reason:
    since = snapshot.state_since
    if trouble:
        sentence = f"The cluster does not take the RayJob yet: {trouble}"
        return Reason(
            "cluster_away", sentence, since, (trouble,), "Slipway tries again every few seconds."
        )
    if snapshot.state is State.CREATING:
        return Reason("creating", "Creating the RayJob.", since, (), "Hosts are asked for next.")
    waited = int((now - since).total_seconds())
    if waited > _WORKER_IS_LATE_S:
        sentence = f"No worker has taken this for {waited} s. Are the workers running?"
        return Reason("no_worker", sentence, since, (), "It starts as soon as a worker is there.")
    return Reason(
        "queued", "Waiting for a worker to take it.", since, (), "This takes a second or two."
    )


def _starting(snapshot: Snapshot) -> Reason:
    job = snapshot.seen.job
    hosts = _hosts(snapshot)
    if job is not None and job.job_status == "PENDING":
        return Reason(
            "ray_pending", f"{hosts} ready; Ray prepares the job.", snapshot.state_since, (job.message,),
            "It runs when its environment is there.",
        )  # fmt: skip
    return Reason(
        "submitting",
        f"{hosts} ready; the job goes to Ray.",
        snapshot.state_since,
        (),
        "It runs next.",
    )


def _ending(code: str, head: str, snapshot: Snapshot, trouble: str) -> Reason:
    what = "removing the cluster" if snapshot.archived else "bringing the log home"
    left = len(snapshot.seen.pods)
    tail = f" ({left} pod{'s' if left != 1 else ''} left)" if snapshot.archived and left else ""
    evidence = (trouble,) if trouble else ()
    return Reason(
        code,
        f"{head}; {what}{tail}.",
        snapshot.state_since,
        evidence,
        "Nothing is left in the cluster then.",
    )


def _hosts(snapshot: Snapshot) -> str:
    count = snapshot.slices * snapshot.hosts_per_slice
    hosts = f"{count} host{'s' if count > 1 else ''}"
    return (
        f"{hosts} of {snapshot.slices} slices" if snapshot.slices > 1 else f"{hosts} of one slice"
    )


def _last_words(snapshot: Snapshot) -> tuple[str, ...]:
    job = snapshot.seen.job
    return (job.message,) if job is not None and job.message else ()
