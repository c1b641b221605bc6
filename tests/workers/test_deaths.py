"""A driver may die, or sleep and be overtaken, at any call to the cluster: one RayJob, a true end, nothing left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from devcluster.resources import RAYJOBS
from tests.factories import a_workload
from tests.workers.conftest import Stage
from tests.workers.test_spine import objects_of
from webapp.accounts.models import Team, User
from webapp.workloads import actions
from webapp.workloads.models import Attempt, Workload
from webapp.workloads.models.attempt import AttemptQuerySet
from workers import drive, reconcile
from workers.connections import kube_for
from workers.gateways.transport import Transport
from workers.watch.intake import Intake

# More than drivers make in one life; the last round must run through unharmed.
MOST_CALLS = 80


class Killed(BaseException):
    """kill -9: what would clean up does not run."""


class Strike:
    """Does `act` once, at a driver's call number `at`: before it is sent, or after the API server has done it."""

    def __init__(self, at: int, when: str, act: Callable[[], None]) -> None:
        self.has_struck = self.has_killed = False
        self._at, self._when, self._act = at, when, act
        self._calls = self._drivers = 0

    @contextmanager
    def around(self, call: Any) -> Iterator[Any]:
        self._calls += bool(self._drivers)
        strikes = not self.has_struck and self._calls == self._at
        self.has_struck = self.has_struck or strikes
        if strikes and self._when == "before":
            self._now()
        with ExitStack() as open_calls:
            try:
                answer = open_calls.enter_context(call)
            finally:
                # Also after a no, as "there is no such object" is one.
                if strikes and self._when == "after":
                    self._now()
            yield answer

    def _now(self) -> None:
        try:
            self._act()
        except Killed:
            self.has_killed = True
            raise

    @contextmanager
    def armed(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        send, act, release = Transport.open, drive._act, AttemptQuerySet.release

        def acting(*args: Any) -> bool:
            self._drivers += 1
            try:
                return act(*args)
            finally:
                self._drivers -= 1

        def releasing(rows: AttemptQuerySet, pk: int, token: str) -> None:
            if self.has_killed:
                self.has_killed = False
            else:
                release(rows, pk, token)

        with monkeypatch.context() as patched:
            patched.setattr(Transport, "open", lambda *a, **k: self.around(send(*a, **k)))
            patched.setattr(drive, "_act", acting)
            patched.setattr(AttemptQuerySet, "release", releasing)
            yield


def lapse() -> None:
    """The lease's seconds, gone."""
    Attempt.objects.exclude(claim_until=None).update(
        claim_until=timezone.now() - timedelta(seconds=1)
    )


def turn(stage: Stage) -> None:
    """As the stage's own, but without events: they change no state, and there are many."""
    stage.work()
    stage.dev.advance(1)
    kube, intake = kube_for(stage.cluster), Intake(stage.cluster)
    began = timezone.now()
    intake.jobs_listed(kube.list("RayJob").items, began)
    intake.pods_listed(kube.list("Pod").items, began)


def live(stage: Stage, workload: Workload, turns: int = 40) -> None:
    """Until the workload is over; its job succeeds as soon as it runs."""
    for _ in range(turns):
        workload.refresh_from_db()
        if workload.is_over:
            return
        if workload.state == "running":
            with suppress(LookupError):
                stage.dev.set_job(
                    "SUCCEEDED", name=workload.attempts.get().object_name, log="hello\n"
                )
        try:
            turn(stage)
        except Killed:
            lapse()
    raise AssertionError(f"{workload} is still {workload.state}")


def lives(
    stage: Stage,
    people: tuple[User, Team],
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    act: Callable[[Workload], None],
) -> Iterator[tuple[Workload, list[str]]]:
    """One life per call that drivers make, struck there. Gives the workload and the uids of its RayJobs."""
    by, team = people
    for at in range(1, MOST_CALLS):
        workload = a_workload(by=by, team=team, topology="2x2")
        jobs: list[str] = []

        def heed(
            change: str, resource: object, obj: dict[str, Any], jobs: list[str] = jobs
        ) -> None:
            if resource is RAYJOBS and obj["metadata"]["uid"] not in jobs:
                jobs.append(obj["metadata"]["uid"])

        unsubscribe = stage.dev.store.subscribe(heed)
        strike = Strike(at, when, lambda workload=workload: act(workload))
        with strike.armed(monkeypatch):
            live(stage, workload)
        for _ in range(2):
            reconcile.remove_leftovers(kube_for(stage.cluster))
            stage.dev.advance(3)
        unsubscribe()
        if not strike.has_struck:
            assert at > 10, "a life has more calls than that"
            return
        workload.refresh_from_db()
        assert objects_of(stage, workload.attempts.get()) == [], f"call {at}"
        yield workload, jobs
    raise AssertionError("a life never ran through unharmed")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_driver_killed_at_any_call_is_followed_by_another(
    stage: Stage, people: tuple[User, Team], monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    def die(workload: Workload) -> None:
        raise Killed

    for workload, jobs in lives(stage, people, monkeypatch, when, die):
        assert workload.state == "succeeded"
        assert len(jobs) == 1


def test_a_stop_during_any_call_is_obeyed(
    stage: Stage, people: tuple[User, Team], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = []

    def stop(workload: Workload) -> None:
        actions.stop(by=people[0], workload=workload)

    for workload, jobs in lives(stage, people, monkeypatch, "before", stop):
        ends.append(workload.state)
        assert len(jobs) <= 1
    # Once the job is over, a stop no longer changes how it ended.
    assert ends == sorted(ends, key=["stopped", "succeeded"].index)
    assert {"stopped", "succeeded"} == set(ends)


def test_a_stop_at_any_call_survives_the_drivers_death(
    stage: Stage, people: tuple[User, Team], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_and_die(workload: Workload) -> None:
        actions.stop(by=people[0], workload=workload)
        raise Killed

    for workload, jobs in lives(stage, people, monkeypatch, "after", stop_and_die):
        assert workload.state in ("stopped", "succeeded")
        assert len(jobs) <= 1


def test_a_driver_that_slept_through_its_lease_does_no_harm(
    stage: Stage, people: tuple[User, Team], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(workload: Workload) -> None:
        lapse()
        for _ in range(3):
            turn(stage)

    for workload, jobs in lives(stage, people, monkeypatch, "before", sleep):
        assert workload.state == "succeeded"
        assert len(jobs) == 1


def test_what_a_driver_does_that_wakes_after_the_end_is_taken_back(
    stage: Stage, people: tuple[User, Team], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its call was on the way when the lease was checked, so nothing could hold it back."""

    def sleep_through_a_stop(workload: Workload) -> None:
        lapse()
        actions.stop(by=people[0], workload=workload)
        live(stage, workload)

    for workload, jobs in lives(stage, people, monkeypatch, "before", sleep_through_a_stop):
        assert workload.state in ("stopped", "succeeded")
        assert len(jobs) <= 1


def test_a_job_that_came_late_and_without_its_token_does_not_hold_up_a_stop(
    stage: Stage, people: tuple[User, Team]
) -> None:
    workload = a_workload(by=people[0], team=people[1])
    attempt = workload.attempts.get()
    actions.stop(by=people[0], workload=workload)
    kube = kube_for(stage.cluster)
    kube.ensure_namespace(attempt.namespace, {})
    kube.ensure(attempt.manifest, owner_labels={})
    stage.dev.advance(5)
    live(stage, workload)
    assert objects_of(stage, attempt) == []
