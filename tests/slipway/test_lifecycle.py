"""The states of an attempt, under every order of what can be seen."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slipway.diagnosis import why
from slipway.diagram import page
from slipway.lifecycle import (
    TERMINAL,
    TRANSITIONS,
    Next,
    Outcome,
    Seen,
    Snapshot,
    State,
    Step,
    after,
    close,
    fold,
    next_step,
)
from slipway.observe import SeenCluster, SeenJob, SeenPod

NOW = datetime(2026, 12, 1, tzinfo=UTC)
NEW = Snapshot(state=State.QUEUED, state_since=NOW, number=1, slices=1, hosts_per_slice=4)
RUNNING_JOB = SeenJob(
    name="j", deployment_status="Running", job_status="RUNNING", cluster_name="j-x"
)


def host(index: int, slice_index: int = 0, **changes: object) -> SeenPod:
    pod = SeenPod(
        name=f"p{slice_index}-{index}",
        phase="Running",
        ready=True,
        slice_index=slice_index,
        host_index=index,
        scheduled=True,
    )
    return replace(pod, **changes)  # type: ignore[arg-type]


HEAD = SeenPod(name="head", phase="Running", ready=True, is_head=True, scheduled=True)


def at(state: State, **changes: object) -> Snapshot:
    return replace(NEW, state=state, applied=state not in (State.QUEUED, State.CREATING), **changes)  # type: ignore[arg-type]


def whole(job: SeenJob = RUNNING_JOB) -> Seen:
    return Seen(job=job, pods=(HEAD, *(host(index) for index in range(4))))


def test_three_of_four_hosts_are_never_running() -> None:
    three = Seen(job=RUNNING_JOB, pods=(HEAD, host(0), host(1), host(3)))
    for state in (State.WAITING, State.STARTING, State.RUNNING):
        snapshot = at(state, seen=three)
        assert fold(snapshot).state is State.WAITING
        assert (
            "3 of 4 hosts ready, waiting for host 2"
            in why(replace(snapshot, state=State.WAITING), NOW).sentence
        )


def test_a_host_that_does_not_fit_is_named_with_the_schedulers_words() -> None:
    words = "0/17 nodes are available: 16 Insufficient google.com/tpu"
    told = f"{words}. preemption: 0/17 nodes are available: 1 Preemption is not helpful for scheduling."
    stuck = host(
        2, phase="Pending", ready=False, scheduled=False, reason="Unschedulable", message=told
    )
    reason = why(
        at(
            State.WAITING, seen=Seen(job=RUNNING_JOB, pods=(HEAD, host(0), host(1), stuck, host(3)))
        ),
        NOW,
    )
    assert reason.code == "no_room"
    assert told in reason.evidence[0]
    assert reason.sentence == f"3 of 4 hosts ready, waiting for host 2: {words}."


def test_with_several_slices_the_slice_is_named() -> None:
    seen = Seen(
        job=RUNNING_JOB, pods=(HEAD, *(host(i) for i in range(4)), *(host(i, 1) for i in (0, 2, 3)))
    )
    snapshot = at(State.WAITING, slices=2, seen=seen)
    assert fold(snapshot).state is State.WAITING
    assert "7 of 8 hosts ready, waiting for host 1 of slice 1" in why(snapshot, NOW).sentence


def test_whole_slices_and_a_running_job_are_running() -> None:
    assert fold(at(State.WAITING, seen=whole())).state is State.RUNNING
    assert (
        fold(at(State.WAITING, seen=whole(replace(RUNNING_JOB, job_status="")))).state
        is State.STARTING
    )


def test_a_pod_that_ends_is_not_up() -> None:
    seen = Seen(job=RUNNING_JOB, pods=(HEAD, host(0), host(1), host(2), host(3, deleting=True)))
    assert fold(at(State.RUNNING, seen=seen)).state is State.WAITING


@pytest.mark.parametrize(
    ("job", "state", "code"),
    [
        (SeenJob(deployment_status="Complete", job_status="SUCCEEDED"), State.SUCCEEDED, "succeeded"),
        (SeenJob(deployment_status="Complete", job_status="STOPPED"), State.STOPPED, "stopped_on_ray"),
        (SeenJob(deployment_status="Failed", reason="AppFailed", message="x\nValueError: no\n"), State.FAILED, "app_failed"),
        (SeenJob(deployment_status="Failed", reason="DeadlineExceeded", job_status="RUNNING"), State.FAILED, "deadline"),
        (SeenJob(deployment_status="Failed", reason="PreRunningDeadlineExceeded"), State.FAILED, "capacity_timeout"),
        (SeenJob(deployment_status="Failed", reason="SomethingNew", message="odd"), State.FAILED, "unknown"),
        (SeenJob(deployment_status="ValidationFailed", message="bad spec"), State.FAILED, "invalid"),
        (SeenJob(deployment_status="Running", deleting=True), State.FAILED, "object_gone"),
    ],
)  # fmt: skip
def test_how_it_ended_is_kept_until_nothing_is_left(job: SeenJob, state: State, code: str) -> None:
    change = fold(at(State.RUNNING, seen=whole(job)))
    assert change.state is State.FINISHING
    assert change.outcome is not None
    assert change.outcome.code == code
    ended = close(at(State.FINISHING, outcome=change.outcome))
    assert ended.state is state


def test_the_last_line_of_a_failure_is_in_the_sentence() -> None:
    job = SeenJob(
        deployment_status="Failed",
        reason="AppFailed",
        message="exit code 1\nTraceback\nValueError: no loss",
    )
    change = fold(at(State.RUNNING, seen=whole(job)))
    assert change.outcome is not None
    assert "ValueError: no loss" in change.outcome.sentence


def test_a_refusal_ends_an_attempt_that_was_never_created() -> None:
    change = fold(at(State.CREATING, refused="exceeded quota"))
    assert change.state is State.FINISHING
    assert change.outcome is not None
    assert "exceeded quota" in change.outcome.sentence


def test_a_stop_before_the_create_still_removes_what_may_be_in_flight() -> None:
    for state in (State.QUEUED, State.CREATING):
        stopped = fold(at(state, stop_requested=True))
        assert stopped.state is State.STOPPING
        assert next_step(replace(NEW, state=stopped.state)) is Step.ARCHIVE
        assert next_step(replace(NEW, state=stopped.state, archived=True)) is Step.REMOVE


def test_stop_leads_to_stopped_from_every_state_that_is_not_over() -> None:
    for state in set(State) - TERMINAL - {State.FINISHING}:
        change = fold(at(state, stop_requested=True, seen=whole()))
        assert change.state is State.STOPPING
        assert close(at(State.STOPPING)).state is State.STOPPED


def test_a_job_that_ended_before_the_stop_keeps_its_outcome() -> None:
    done = whole(SeenJob(deployment_status="Complete", job_status="SUCCEEDED"))
    change = fold(at(State.RUNNING, stop_requested=True, seen=done))
    assert change.state is State.FINISHING
    assert change.outcome is not None
    assert change.outcome.state is State.SUCCEEDED


JOBS = st.builds(
    SeenJob,
    deployment_status=st.sampled_from(
        ["", "Initializing", "Running", "Complete", "Failed", "ValidationFailed", "Retrying"]
    ),
    job_status=st.sampled_from(["", "PENDING", "RUNNING", "STOPPED", "SUCCEEDED", "FAILED"]),
    reason=st.sampled_from(["", "AppFailed", "DeadlineExceeded", "New"]),
    message=st.text(max_size=20),
    deleting=st.booleans(),
)
PODS = st.builds(
    SeenPod,
    name=st.text(min_size=1, max_size=4),
    phase=st.sampled_from(["Pending", "Running", "Failed"]),
    ready=st.booleans(),
    is_head=st.booleans(),
    slice_index=st.none() | st.integers(0, 2),
    host_index=st.none() | st.integers(0, 5),
    deleting=st.booleans(),
    reason=st.sampled_from(["", "Unschedulable", "ImagePullBackOff", "Odd"]),
)
SNAPSHOTS = st.builds(
    Snapshot,
    state=st.sampled_from(State),
    state_since=st.just(NOW),
    number=st.just(1),
    slices=st.integers(1, 2),
    hosts_per_slice=st.integers(1, 4),
    stop_requested=st.booleans(),
    applied=st.booleans(),
    archived=st.booleans(),
    refused=st.sampled_from(["", "no"]),
    outcome=st.none() | st.just(Outcome(State.FAILED, "app_failed", "It failed.")),
    seen=st.builds(
        Seen,
        job=st.none() | JOBS,
        job_gone=st.booleans(),
        cluster=st.none() | st.builds(SeenCluster, failure=st.sampled_from(["", "quota"])),
        pods=st.lists(PODS, max_size=6).map(tuple),
    ),
)


@given(SNAPSHOTS)
@settings(max_examples=400)
def test_whatever_is_seen_the_rules_hold(snapshot: Snapshot) -> None:
    # Nothing gets to finishing without an outcome, which is checked below.
    assume(snapshot.state is not State.FINISHING or snapshot.outcome is not None)
    change = fold(snapshot)
    assert change.state not in TERMINAL or snapshot.state in TERMINAL, (
        "only close() ends an attempt"
    )
    if snapshot.state in TERMINAL:
        assert change.state is snapshot.state
    if change.state is State.RUNNING:
        assert snapshot.is_whole
    if change.state is State.FINISHING:
        assert change.outcome is not None
    again = fold(replace(snapshot, state=change.state, outcome=change.outcome))
    assert again == change, "seeing the same again changes nothing"
    settled = replace(snapshot, state=change.state, outcome=change.outcome)
    reason = why(settled, NOW)
    assert reason.sentence.strip()
    assert reason.code
    if next_step(settled) is Step.APPLY:
        assert not snapshot.stop_requested
        assert not snapshot.applied


@given(SNAPSHOTS)
def test_close_ends_what_is_ending_and_nothing_else(snapshot: Snapshot) -> None:
    ended = close(snapshot).state
    assert (ended in TERMINAL) == (
        snapshot.state in TERMINAL | {State.FINISHING, State.STOPPING}
    ) or (snapshot.state is State.STOPPING and snapshot.outcome is not None)


def test_what_follows_an_end() -> None:
    failed = Outcome(State.FAILED, "app_failed", "")
    no_room = Outcome(State.FAILED, "capacity_timeout", "")
    common = {"retries": 1, "rungs_left": 1, "stop_requested": False}
    assert after(failed, retries_used=0, **common) is Next.RETRY
    assert after(failed, retries_used=1, **common) is Next.DONE
    assert after(no_room, retries_used=1, **common) is Next.NEXT_RUNG
    assert after(no_room, retries_used=1, **(common | {"rungs_left": 0})) is Next.DONE
    assert after(failed, retries_used=0, **(common | {"stop_requested": True})) is Next.DONE
    assert after(Outcome(State.SUCCEEDED, "succeeded", ""), retries_used=0, **common) is Next.DONE
    assert after(Outcome(State.FAILED, "invalid", ""), retries_used=0, **common) is Next.DONE


def test_every_state_is_reached_and_every_end_is_final() -> None:
    assert {row.target for row in TRANSITIONS} | {State.QUEUED} == set(State)
    assert not {row.source for row in TRANSITIONS} & TERMINAL


def test_the_diagram_in_the_docs_is_the_table() -> None:
    stored = Path(__file__).parents[2] / "docs" / "reference" / "states.md"
    assert stored.read_text() == page()
