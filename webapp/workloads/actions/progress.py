"""What drivers did, and what follows when an attempt is over. Writes progress columns only."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from slipway import lifecycle
from slipway.catalog import CATALOG
from slipway.lifecycle import TERMINAL, Next, Outcome, Signal, State, Step, after, move
from slipway.plan import plan
from webapp.audit import models as audit
from webapp.live import hub
from webapp.workloads.actions.fold import refold, show_state
from webapp.workloads.actions.intent import add_attempt
from webapp.workloads.actions.timeline import note
from webapp.workloads.models import Attempt
from webapp.workloads.preview import Preview, manifest_of, target_for


def applying(attempt_id: int) -> bool:
    """Mark that a create is about to be sent. False when it must not be: stopped, ended, or already applied."""
    with transaction.atomic():
        attempt = _locked(attempt_id)
        if attempt.ended_at is not None or attempt.next_step() is not Step.APPLY:
            return False
        state = move(State(attempt.state), Signal.CLAIMED)
        if state.value != attempt.state:
            attempt.state = state.value
            attempt.state_since = timezone.now()
            attempt.save(update_fields=["state", "state_since"])
            show_state(attempt.workload, state)
        return True


def applied(attempt_id: int, *, uid: str) -> None:
    """The RayJob exists with this uid. Intent and object are one from now on."""
    with transaction.atomic():
        attempt = _locked(attempt_id)
        if attempt.applied_at is None:
            attempt.applied_at = timezone.now()
        attempt.object_uid = uid
        attempt.trouble = ""
        attempt.save(update_fields=["applied_at", "object_uid", "trouble"])
        note(
            attempt,
            "applied",
            "Applied",
            f"RayJob {attempt.namespace}/{attempt.object_name} created.",
        )
        refold(attempt)


def refused(attempt_id: int, *, message: str) -> None:
    """The API server said no for good: the attempt fails with its words."""
    with transaction.atomic():
        attempt = _locked(attempt_id)
        attempt.refused = message[:2000]
        attempt.save(update_fields=["refused"])
        note(attempt, "refused", "Refused", message, is_warning=True)
        refold(attempt)


def troubled(attempt_id: int, *, message: str) -> None:
    """The driver could not go on for now ("" when it can again); the page says so beside the state."""
    if (
        Attempt.objects.filter(pk=attempt_id)
        .exclude(trouble=message[:400])
        .update(trouble=message[:400])
    ):
        attempt = Attempt.objects.select_related("workload").get(pk=attempt_id)
        hub.publish(hub.workload_topic(attempt.workload.uid), "status")


def archived(attempt_id: int, *, note_text: str) -> None:
    """The driver log is home, or it is known why it can't be."""
    with transaction.atomic():
        attempt = _locked(attempt_id)
        if attempt.archived_at is None:
            attempt.archived_at = timezone.now()
            attempt.save(update_fields=["archived_at"])
            note(attempt, "archived", "LogKept", note_text)
            hub.publish(hub.workload_topic(attempt.workload.uid), "log")


def close(attempt_id: int) -> None:
    """Nothing of the attempt is left in the cluster: end it, and decide what comes next, as one."""
    with transaction.atomic():
        attempt = _locked(attempt_id)
        change = lifecycle.close(attempt.snapshot())
        if attempt.ended_at is not None or change.state not in TERMINAL or change.outcome is None:
            return
        attempt.state = change.state.value
        attempt.state_since = attempt.ended_at = timezone.now()
        attempt.outcome = change.outcome.to_mapping()
        attempt.trouble = ""
        attempt.save(update_fields=["state", "state_since", "ended_at", "outcome", "trouble"])
        note(
            attempt,
            f"state:{attempt.state}:end",
            attempt.state.capitalize(),
            change.outcome.sentence,
            is_warning=change.state is State.FAILED,
        )
        _next(attempt, change.outcome)


def _next(attempt: Attempt, outcome: Outcome) -> None:
    workload = attempt.workload
    request = workload.as_request()
    planned = plan(request, workload.as_class_spec(), CATALOG)
    following = after(
        outcome,
        retries_used=workload.attempts.count() - 1 - attempt.rung,
        retries=request.retries,
        rungs_left=len(planned.rungs) - 1 - attempt.rung,
        stop_requested=workload.stop_requested_at is not None,
    )
    if following in (Next.RETRY, Next.NEXT_RUNG):
        rung = attempt.rung + (1 if following is Next.NEXT_RUNG else 0)
        number = attempt.number + 1
        target = target_for(
            team=workload.team,
            owner=workload.owner.username,
            cluster=workload.cluster,
            uid=workload.uid,
            attempt=number,
        )
        shown = Preview(planned, manifest_of(planned, planned.rungs[rung], target))
        note(attempt, "next", "NextAttempt", f"Attempt {number} follows: {outcome.sentence}")
        add_attempt(workload, shown, number=number, rung=rung)
        show_state(workload, State.QUEUED)
        return
    workload.finished_at = timezone.now()
    show_state(workload, outcome.state)
    audit.write(
        by="slipway",
        what=f"workload.{outcome.state.value}",
        about=workload.uid,
        team=workload.team.slug,
        cause=outcome.code,
    )


def _locked(attempt_id: int) -> Attempt:
    return (
        Attempt.objects.select_for_update(of=("self",))
        .select_related("workload__team", "workload__owner", "workload__cluster")
        .get(pk=attempt_id)
    )
