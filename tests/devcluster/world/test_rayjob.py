import pytest

from devcluster.resources import PODS, RAYCLUSTERS, RAYJOBS, SERVICES
from tests.devcluster.world.manifests import group, rayjob, submit


def test_a_job_runs_on_its_own_cluster_and_completes(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    status = cluster.status()
    assert status["jobDeploymentStatus"] == "Running"
    assert status["jobStatus"] == "RUNNING"
    assert status["jobId"] == "train"
    assert status["rayClusterName"].startswith("train-")
    assert len(status["rayClusterName"]) == len("train-") + 5
    assert status["rayClusterStatus"]["state"] == "ready"
    cluster.ray().tell("train", "SUCCEEDED", None, None)
    cluster.advance(3)
    status = cluster.status()
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "SUCCEEDED")
    assert (status["succeeded"], status["failed"]) == (1, 0)
    assert "reason" not in status
    assert status["endTime"]


def test_the_job_carries_the_finalizer_and_its_cluster_the_owner_and_labels(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(1)
    assert "ray.io/rayjob-finalizer" in cluster.job()["metadata"]["finalizers"]
    metadata = cluster.cluster()["metadata"]
    assert metadata["ownerReferences"][0]["uid"] == cluster.job()["metadata"]["uid"]
    assert metadata["labels"]["team"] == "research"
    assert metadata["labels"]["ray.io/originated-from-cr-name"] == "train"
    assert metadata["labels"]["ray.io/job-submission-mode"] == "HTTPMode"


def test_without_a_job_id_the_operator_makes_one(cluster):
    job = rayjob()
    del job["spec"]["jobId"]
    submit(cluster.store, job)
    cluster.advance(3)
    assert cluster.status()["jobId"].startswith("train-")


def test_an_application_failure_is_told_as_ray_tells_it(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    cluster.ray().tell("train", "FAILED", "exit code 3", None)
    cluster.advance(3)
    status = cluster.status()
    assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "AppFailed")
    assert status["message"] == "exit code 3"
    assert status["failed"] == 1


def test_a_stopped_job_is_complete_but_did_not_succeed(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    cluster.ray().stop("train")
    cluster.advance(3)
    status = cluster.status()
    assert (status["jobDeploymentStatus"], status["jobStatus"]) == ("Complete", "STOPPED")
    assert status["succeeded"] == 0


def test_hosts_that_never_come_end_in_the_pre_running_deadline(make_cluster):
    cluster = make_cluster(max_hosts=3)
    submit(cluster.store, rayjob(preRunningDeadlineSeconds=30))
    cluster.advance(29)
    assert cluster.status()["jobDeploymentStatus"] == "Initializing"
    cluster.advance(2)
    status = cluster.status()
    assert status["reason"] == "PreRunningDeadlineExceeded"
    assert "preRunningDeadlineSeconds. StartTime: " in status["message"]
    assert status["message"].endswith("PreRunningDeadlineSeconds: 30")


def test_the_active_deadline_ends_the_job_and_leaves_the_job_status(cluster):
    submit(cluster.store, rayjob(activeDeadlineSeconds=20))
    cluster.advance(21)
    status = cluster.status()
    assert (status["jobDeploymentStatus"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["jobStatus"] == "RUNNING"


def test_the_cluster_goes_after_the_ttl_and_the_status_remembers_it(cluster):
    submit(cluster.store, rayjob(ttlSecondsAfterFinished=60))
    cluster.advance(3)
    cluster.ray().tell("train", "SUCCEEDED", None, None)
    cluster.advance(50)
    assert cluster.store.list(RAYCLUSTERS)[0]
    cluster.advance(20)
    assert not cluster.store.list(RAYCLUSTERS)[0]
    assert not cluster.pods()
    assert cluster.status()["rayClusterStatus"]["state"] == "ready"
    assert cluster.events("DeletedRayCluster")


def test_nothing_is_written_while_nothing_changes(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(5)
    before = cluster.store.revision
    cluster.advance(20)
    assert cluster.store.revision == before


def test_deletion_stops_the_ray_job_and_leaves_nothing(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    ray = cluster.ray()
    cluster.store.delete(RAYJOBS, "default", "train")
    cluster.world.settle()
    assert ray.view("train")["status"] == "STOPPED"
    for resource in (RAYJOBS, RAYCLUSTERS, PODS, SERVICES):
        assert cluster.store.list(resource)[0] == []


def test_deletion_before_the_hosts_are_there_leaves_nothing(make_cluster):
    cluster = make_cluster(max_hosts=0)
    submit(cluster.store, rayjob())
    cluster.advance(5)
    cluster.store.delete(RAYJOBS, "default", "train")
    cluster.world.settle()
    assert cluster.store.list(RAYJOBS)[0] == []
    assert cluster.pods() == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"suspend": True, "shutdownAfterJobFinishes": False}, "not allowed to be suspended"),
        (
            {"ttlSecondsAfterFinished": 5, "shutdownAfterJobFinishes": False},
            "cannot have TTLSecondsAfterFinished",
        ),
        ({"rayClusterSpec": None}, "one of RayClusterSpec or ClusterSelector must be set"),
        ({"activeDeadlineSeconds": 0}, "activeDeadlineSeconds must be a positive integer"),
        ({"runtimeEnvYAML": "a: ["}, "RuntimeEnvYAML"),
    ],
)
def test_a_spec_the_operator_refuses_ends_in_validation_failed(cluster, change, message):
    submit(cluster.store, rayjob(**change))
    cluster.advance(5)
    status = cluster.status()
    assert status["jobDeploymentStatus"] == "ValidationFailed"
    assert message in status["message"]
    assert cluster.events("InvalidRayJobSpec")
    assert cluster.store.list(RAYCLUSTERS)[0] == []


def test_a_name_the_operator_finds_too_long_is_invalid_metadata(cluster):
    submit(cluster.store, rayjob("a" * 48))
    cluster.advance(1)
    assert cluster.status("a" * 48)["jobDeploymentStatus"] == "ValidationFailed"
    assert cluster.events("InvalidRayJobMetadata")


def test_hosts_that_do_not_fit_the_topology_are_refused_by_the_webhook(cluster):
    submit(cluster.store, rayjob(workers=group(hosts=3)))
    cluster.advance(5)
    assert cluster.status()["jobDeploymentStatus"] == "Initializing"
    assert cluster.store.list(RAYCLUSTERS)[0] == []
    [event] = cluster.events("FailedToCreateRayCluster")
    assert "Number of workers in worker group not equal to specified topology" in event["message"]


def test_a_retry_takes_a_new_cluster_and_the_same_job_id(cluster):
    submit(cluster.store, rayjob(backoffLimit=1))
    cluster.advance(3)
    first = cluster.status()["rayClusterName"]
    cluster.ray().tell("train", "FAILED", None, None)
    cluster.advance(10)
    status = cluster.status()
    assert status["jobDeploymentStatus"] == "Running"
    assert status["rayClusterName"] != first
    assert (status["failed"], status["jobId"]) == (1, "train")
    cluster.ray().tell("train", "FAILED", None, None)
    cluster.advance(4)
    assert cluster.status()["jobDeploymentStatus"] == "Failed"


def test_suspension_takes_the_cluster_down_and_resuming_starts_anew(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)

    def suspend(wanted):
        def change(job):
            job["spec"]["suspend"] = wanted

        cluster.store.mutate(RAYJOBS, "default", "train", change)
        cluster.advance(10)

    suspend(True)
    assert cluster.status()["jobDeploymentStatus"] == "Suspended"
    assert cluster.pods() == []
    suspend(False)
    assert cluster.status()["jobDeploymentStatus"] == "Running"


def test_a_lost_head_is_replaced_and_the_job_submitted_again(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    [head] = cluster.pods("head")
    cluster.fail(head)
    cluster.advance(30)
    assert cluster.status()["jobStatus"] == "RUNNING"
    assert cluster.ray().ids() == ["train"]


def test_a_dashboard_silent_for_five_minutes_fails_the_job(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    cluster.world.sim.endpoint = lambda *_: None
    cluster.advance(310)
    status = cluster.status()
    assert status["reason"] == "JobStatusCheckTimeoutExceeded"
