"""From the row to the RayJob and back, against devcluster over HTTP."""

from __future__ import annotations

import copy

import pytest
from django.test import Client

from tests.factories import a_workload
from tests.workers.conftest import Stage
from webapp.accounts.models import Team, User
from webapp.workloads import actions
from webapp.workloads.models import Attempt, Workload
from workers import drive, reconcile
from workers.connections import kube_for

SERVER_METADATA = {
    "creationTimestamp", "deletionTimestamp", "finalizers", "generation", "managedFields",
    "resourceVersion", "uid", "selfLink",
}  # fmt: skip


def objects_of(stage: Stage, attempt: Attempt) -> list[str]:
    kube = kube_for(stage.cluster)
    return [
        f"{kind}/{item['metadata']['name']}"
        for kind in ("RayJob", "RayCluster", "Pod", "ConfigMap", "Secret")
        for item in kube.list(kind, namespace=attempt.namespace).items
    ]


def sentence(attempt: Attempt) -> str:
    return attempt.why().sentence


def test_a_workload_runs_to_its_end_and_leaves_nothing(
    stage: Stage, dev: User, research: Team
) -> None:
    workload = a_workload(by=dev, team=research)
    attempt = stage.until(workload, "running")
    assert [record.hosts_ready for record in attempt.slice_records.all()] == [4]
    stage.dev.set_job("SUCCEEDED", name=attempt.object_name, log="hello\n</script>\x1b[31mred\n")
    attempt = stage.until(workload, "succeeded")
    assert b"hello\n</script>" in b"".join(bytes(c.data) for c in attempt.log_chunks.all())
    assert objects_of(stage, attempt) == []
    sources = {entry.source for entry in attempt.timeline.all()}
    assert {"slipway", "kuberay", "scheduler"} <= sources


def test_the_object_on_the_server_is_what_the_preview_said(
    stage: Stage, dev: User, research: Team
) -> None:
    workload = a_workload(by=dev, team=research)
    attempt = workload.attempts.get()
    drive.drive(attempt.pk)
    applied = kube_for(stage.cluster).get("RayJob", attempt.namespace, attempt.object_name)
    assert applied is not None
    applied["metadata"] = {
        key: value for key, value in applied["metadata"].items() if key not in SERVER_METADATA
    }
    applied.pop("status", None)
    assert applied == attempt.manifest


def test_three_of_four_hosts_are_not_running_and_the_page_names_the_missing_one(
    stage: Stage, dev: User, research: Team, client: Client
) -> None:
    stage.dev.hold_host_index(2)
    workload = a_workload(by=dev, team=research)
    stage.turn(10)
    stage.dev.advance(30)
    stage.turn(2)
    client.force_login(dev)
    page = client.get(workload.get_absolute_url()).content.decode()
    assert "3 of 4 hosts ready, waiting for host 2:" in page
    assert "Insufficient google.com/tpu" in page
    assert '<span class="state warn big">Waiting</span>' in page
    stage.dev.release()
    stage.until(workload, "running")


@pytest.mark.parametrize("when", ["queued", "waiting", "running"])
def test_stop_ends_in_stopped_with_nothing_left(
    stage: Stage, dev: User, research: Team, when: str
) -> None:
    if when == "waiting":
        stage.dev.hold_hosts(1)
    workload = a_workload(by=dev, team=research)
    if when != "queued":
        stage.until(workload, when)
    actions.stop(by=dev, workload=workload)
    attempt = stage.until(workload, "stopped")
    assert objects_of(stage, attempt) == []
    assert workload.attempts.count() == 1


def test_an_app_failure_is_retried_as_a_new_attempt(
    stage: Stage, dev: User, research: Team
) -> None:
    workload = a_workload(by=dev, team=research, retries=1)
    first = stage.until(workload, "running")
    stage.dev.set_job("FAILED", name=first.object_name, message="exit code 1", log="boom\n")
    for _ in range(20):
        stage.turn()
        stage.dev.advance(1)
        if workload.attempts.count() == 2:
            break
    second = stage.until(workload, "running")
    assert (first.number, second.number) == (1, 2)
    assert first.object_name != second.object_name
    stage.dev.set_job("FAILED", name=second.object_name, message="exit code 1", log="boom\n")
    stage.until(workload, "failed")
    assert workload.attempts.count() == 2


def test_a_rayjob_deleted_by_somebody_else_fails_the_attempt_and_says_so(
    stage: Stage, dev: User, research: Team
) -> None:
    workload = a_workload(by=dev, team=research)
    attempt = stage.until(workload, "running")
    kube_for(stage.cluster).delete(
        "RayJob", attempt.namespace, attempt.object_name, owner_labels={}
    )
    attempt = stage.until(workload, "failed")
    assert attempt.outcome["code"] == "object_gone"


def test_a_refusal_fails_the_workload_with_the_servers_words(
    stage: Stage, dev: User, research: Team
) -> None:
    stage.dev.refuse("create", "rayjobs", 403, "exceeded quota: team-research")
    workload = a_workload(by=dev, team=research)
    attempt = stage.until(workload, "failed")
    assert "exceeded quota" in sentence(attempt)
    assert objects_of(stage, attempt) == []


def test_a_driver_that_died_after_the_create_is_followed_by_one_that_adopts(
    stage: Stage, dev: User, research: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = a_workload(by=dev, team=research)

    def die(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killed:
        killed.setattr("workers.drive.actions.applied", die)
        with pytest.raises(KeyboardInterrupt):
            stage.work()
    attempt = workload.attempts.get()
    assert attempt.applied_at is None
    stage.until(workload, "running")
    attempt.refresh_from_db()
    jobs = kube_for(stage.cluster).list("RayJob", namespace=attempt.namespace).items
    assert [job["metadata"]["uid"] for job in jobs] == [attempt.object_uid]


def test_somebody_elses_object_of_our_name_is_not_touched(
    stage: Stage, dev: User, research: Team
) -> None:
    workload = a_workload(by=dev, team=research)
    attempt = workload.attempts.get()
    kube = kube_for(stage.cluster)
    kube.ensure_namespace(attempt.namespace, {})
    foreign = copy.deepcopy(attempt.manifest)
    cluster = foreign["spec"]["rayClusterSpec"]
    for part in (
        foreign,
        cluster["headGroupSpec"]["template"],
        cluster["workerGroupSpecs"][0]["template"],
    ):
        part["metadata"].pop("labels")
    kube.ensure(foreign, owner_labels={})
    attempt = stage.until(workload, "failed")
    assert "did not make" in sentence(attempt)
    assert kube.get("RayJob", attempt.namespace, attempt.object_name) is not None


def test_what_a_cut_off_driver_made_after_the_end_is_removed(
    stage: Stage, dev: User, research: Team
) -> None:
    workload = a_workload(by=dev, team=research)
    attempt = workload.attempts.get()
    actions.stop(by=dev, workload=workload)
    stage.until(workload, "stopped")
    kube = kube_for(stage.cluster)
    kube.ensure_namespace(attempt.namespace, {})
    kube.ensure(attempt.manifest, owner_labels={})
    reconcile.remove_leftovers(kube)
    stage.dev.settle()
    assert objects_of(stage, attempt) == []


def test_the_same_draft_submitted_twice_is_one_workload(
    stage: Stage, dev: User, research: Team
) -> None:
    workload = a_workload(by=dev, team=research)
    bundle_request = workload.as_request()
    again = actions.submit(
        by=dev, team=research, request=bundle_request, bundle=None, uid=workload.uid
    )
    assert again.pk == workload.pk
    assert Workload.objects.count() == 1
    assert Attempt.objects.count() == 1


def test_a_claim_keeps_a_second_driver_out(
    stage: Stage, dev: User, research: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.utils import timezone

    attempt = a_workload(by=dev, team=research).attempts.get()
    assert Attempt.objects.claim(attempt.pk, "first", timezone.now())
    drive.drive(attempt.pk)
    attempt.refresh_from_db()
    assert attempt.state == "queued"
    assert attempt.claim_token == "first"
