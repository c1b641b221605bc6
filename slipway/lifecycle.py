"""The states of an attempt: where it stands after what was seen, and what is to be done next.

`TRANSITIONS` is the whole table, and the diagram in docs/reference/states.md is made from it. A coarse state drives;
the reason for it is `slipway.diagnosis`'s to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

from slipway.observe import SeenCluster, SeenJob, SeenPod


class State(StrEnum):
    QUEUED = "queued"
    CREATING = "creating"
    WAITING = "waiting"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    FINISHING = "finishing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.STOPPED})


class Signal(StrEnum):
    CLAIMED = "a driver begins to create"
    APPLIED = "the RayJob exists"
    WHOLE = "every host of every slice is ready"
    BROKEN = "a host is missing"
    JOB_RUNS = "Ray runs the job on whole slices"
    JOB_OVER = "the job ended, or cannot"
    STOP = "somebody asks to stop"
    CLOSED_SUCCEEDED = "nothing is left, the job succeeded"
    CLOSED_FAILED = "nothing is left, the job failed"
    CLOSED_STOPPED = "nothing is left, it was stopped"


@dataclass(frozen=True)
class Transition:
    source: State
    signal: Signal
    target: State


def _table() -> tuple[Transition, ...]:
    up = (State.WAITING, State.STARTING, State.RUNNING)
    before_the_end = (State.QUEUED, State.CREATING, *up)
    return (
        Transition(State.QUEUED, Signal.CLAIMED, State.CREATING),
        Transition(State.QUEUED, Signal.APPLIED, State.WAITING),
        Transition(State.CREATING, Signal.APPLIED, State.WAITING),
        Transition(State.WAITING, Signal.WHOLE, State.STARTING),
        Transition(State.WAITING, Signal.JOB_RUNS, State.RUNNING),
        Transition(State.STARTING, Signal.JOB_RUNS, State.RUNNING),
        Transition(State.STARTING, Signal.BROKEN, State.WAITING),
        Transition(State.RUNNING, Signal.BROKEN, State.WAITING),
        *(Transition(state, Signal.JOB_OVER, State.FINISHING) for state in before_the_end),
        *(Transition(state, Signal.STOP, State.STOPPING) for state in before_the_end),
        Transition(State.STOPPING, Signal.CLOSED_STOPPED, State.STOPPED),
        Transition(State.FINISHING, Signal.CLOSED_SUCCEEDED, State.SUCCEEDED),
        Transition(State.FINISHING, Signal.CLOSED_FAILED, State.FAILED),
        Transition(State.FINISHING, Signal.CLOSED_STOPPED, State.STOPPED),
    )


TRANSITIONS = _table()
_TARGETS = {(row.source, row.signal): row.target for row in TRANSITIONS}


def move(state: State, signal: Signal) -> State:
    """Where `signal` leads from `state`; a signal that means nothing there changes nothing."""
    return _TARGETS.get((state, signal), state)


class Step(StrEnum):
    """What a driver does next. Each is safe to do twice."""

    APPLY = "apply"
    ARCHIVE = "archive"
    REMOVE = "remove"
    NOTHING = "nothing"


class Next(StrEnum):
    """What follows an attempt that is over."""

    DONE = "done"
    RETRY = "retry"
    NEXT_RUNG = "next rung"


@dataclass(frozen=True)
class Outcome:
    """How an attempt ended. `code` is for programs, `sentence` for people."""

    state: State
    code: str
    sentence: str

    @classmethod
    def stopped(cls) -> Self:
        return cls(State.STOPPED, "stopped", "Stopped as asked; nothing is left in the cluster.")

    def to_mapping(self) -> dict[str, str]:
        return {"state": self.state.value, "code": self.code, "sentence": self.sentence}

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Self:
        return cls(State(stored["state"]), stored["code"], stored["sentence"])


@dataclass(frozen=True)
class Seen:
    """The latest of everything that watchers saw of an attempt."""

    job: SeenJob | None = None
    job_gone: bool = False
    cluster: SeenCluster | None = None
    pods: tuple[SeenPod, ...] = ()

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Self:
        """`{job, job_gone, cluster, pods: {name: pod}}`, each key optional."""
        job, cluster = stored.get("job"), stored.get("cluster")
        return cls(
            job=SeenJob.from_mapping(job) if job else None,
            job_gone=bool(stored.get("job_gone")),
            cluster=SeenCluster.from_mapping(cluster) if cluster else None,
            pods=tuple(SeenPod.from_mapping(pod) for pod in stored.get("pods", {}).values()),
        )


@dataclass(frozen=True)
class Snapshot:
    """All that decides about an attempt. `refused` is the API server's no, `applied` that the RayJob was created."""

    state: State
    state_since: datetime
    number: int
    slices: int
    hosts_per_slice: int
    stop_requested: bool = False
    applied: bool = False
    archived: bool = False
    refused: str = ""
    outcome: Outcome | None = None
    seen: Seen = Seen()

    @property
    def head_is_up(self) -> bool:
        return any(pod.is_head and pod.is_up for pod in self.seen.pods)

    def hosts_up(self, slice_index: int) -> frozenset[int]:
        """Host indices of one slice that are ready."""
        return frozenset(
            pod.host_index
            for pod in self.seen.pods
            if pod.slice_index == slice_index and pod.host_index is not None and pod.is_up
        )

    def missing_hosts(self) -> tuple[tuple[int, int], ...]:
        """(slice, host) of every host that is not ready, in order."""
        return tuple(
            (index, host)
            for index in range(self.slices)
            for host in range(self.hosts_per_slice)
            if host not in self.hosts_up(index)
        )

    @property
    def is_whole(self) -> bool:
        return self.head_is_up and not self.missing_hosts()


@dataclass(frozen=True)
class Change:
    state: State
    outcome: Outcome | None


def fold(snapshot: Snapshot) -> Change:
    """Where the attempt stands. Never leaves an end state, and reaches one by `close` only.

    The order in which things were seen does not matter: only the latest of each counts.
    """
    state, outcome = snapshot.state, snapshot.outcome
    if state in TERMINAL:
        return Change(state, outcome)
    for signal in _signals(snapshot):
        if signal is Signal.JOB_OVER and outcome is None and move(state, signal) is State.FINISHING:
            outcome = _outcome(snapshot)
        state = move(state, signal)
    return Change(state, outcome)


def close(snapshot: Snapshot) -> Change:
    """The end, once nothing of the attempt is left in the cluster."""
    outcome = snapshot.outcome or Outcome.stopped()
    signal = {
        State.SUCCEEDED: Signal.CLOSED_SUCCEEDED,
        State.FAILED: Signal.CLOSED_FAILED,
        State.STOPPED: Signal.CLOSED_STOPPED,
    }[outcome.state]
    return Change(move(snapshot.state, signal), outcome)


def next_step(snapshot: Snapshot) -> Step:
    """What a driver is to do. Removal repeats until nothing is left: a create may have been in flight."""
    if snapshot.state in (State.QUEUED, State.CREATING):
        return Step.NOTHING if snapshot.applied else Step.APPLY
    if snapshot.state in (State.STOPPING, State.FINISHING):
        return Step.REMOVE if snapshot.archived else Step.ARCHIVE
    return Step.NOTHING


def after(
    outcome: Outcome, *, retries_used: int, retries: int, rungs_left: int, stop_requested: bool
) -> Next:
    """A rung without capacity leads to the next and costs no retry; a failure repeats its rung while retries last."""
    if outcome.state is not State.FAILED or stop_requested or outcome.code in _FINAL_CODES:
        return Next.DONE
    if outcome.code == "capacity_timeout" and rungs_left > 0:
        return Next.NEXT_RUNG
    return Next.RETRY if retries_used < retries else Next.DONE


# Trying again would fail in the same way, or was not asked for.
_FINAL_CODES = frozenset({"refused", "invalid", "deadline", "object_gone"})


def _signals(snapshot: Snapshot) -> list[Signal]:
    signals = []
    job = snapshot.seen.job
    if snapshot.applied:
        signals.append(Signal.APPLIED)
    if snapshot.is_whole:
        is_running = job is not None and job.job_status == "RUNNING"
        signals += [Signal.WHOLE, Signal.JOB_RUNS] if is_running else [Signal.WHOLE]
    else:
        signals.append(Signal.BROKEN)
    if _is_over(snapshot):
        signals.append(Signal.JOB_OVER)
    if snapshot.stop_requested:
        signals.append(Signal.STOP)
    return signals


def _is_over(snapshot: Snapshot) -> bool:
    job = snapshot.seen.job
    ended = job is not None and (
        job.deployment_status in ("Complete", "Failed", "ValidationFailed") or job.deleting
    )
    return bool(snapshot.refused) or ended or (snapshot.applied and snapshot.seen.job_gone)


def _outcome(snapshot: Snapshot) -> Outcome:
    # Here, not on top: diagnosis explains states and so imports this module.
    from slipway.diagnosis.ended import outcome_of

    return outcome_of(snapshot)
