"""Bring an attempt's state up to what is known of it, and tell everybody who cares."""

from __future__ import annotations

from django.utils import timezone

from slipway.lifecycle import State, Step, fold
from webapp import dispatch
from webapp.live import hub
from webapp.workloads.actions.timeline import note
from webapp.workloads.models import Attempt, Workload


def refold(attempt: Attempt) -> bool:
    """Fold `attempt` again and store what changed. True when its state moved.

    The caller holds the row's lock and has stored the new facts. Sends a driver when there is something to do.
    """
    snapshot = attempt.snapshot()
    change = fold(snapshot)
    outcome = change.outcome.to_mapping() if change.outcome else None
    moved = change.state.value != attempt.state
    if moved or outcome != attempt.outcome:
        if moved:
            attempt.state = change.state.value
            attempt.state_since = timezone.now()
        attempt.outcome = outcome
        attempt.save(update_fields=["state", "state_since", "outcome"])
    if moved:
        _tell(attempt)
    if attempt.ended_at is None and attempt.next_step() is not Step.NOTHING:
        dispatch.drive_attempt(attempt.pk)
    return moved


def show_state(workload: Workload, state: State) -> None:
    """Write the state that lists filter by, and refresh the pages that show it."""
    workload.state = state.value
    workload.changed_at = timezone.now()
    workload.save(update_fields=["state", "changed_at", "finished_at"])
    hub.publish(hub.team_topic(workload.team.slug), "list")
    hub.publish(hub.workload_topic(workload.uid), "status", "slices", "timeline", "log")


def _tell(attempt: Attempt) -> None:
    state = State(attempt.state)
    reason = attempt.why()
    count = attempt.timeline.filter(key__startswith=f"state:{state}:").count()
    note(
        attempt,
        f"state:{state}:{count}",
        state.value.capitalize(),
        reason.sentence,
        is_warning=state is State.FAILED,
    )
    show_state(attempt.workload, state)
