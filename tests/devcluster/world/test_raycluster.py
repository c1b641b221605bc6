from devcluster.errors import Forbidden
from devcluster.resources import PODS, SECRETS, SERVICES
from tests.devcluster.world.manifests import group, rayjob, submit


def ready_cluster(cluster, **job):
    submit(cluster.store, rayjob(**job))
    cluster.advance(3)
    return cluster.cluster()


def labels_of(pods, key):
    return sorted(pod["metadata"]["labels"][key] for pod in pods)


def test_a_slice_is_four_labelled_pods(cluster):
    name = ready_cluster(cluster)["metadata"]["name"]
    workers = cluster.pods("worker")
    assert labels_of(workers, "ray.io/replica-host-index") == ["0", "1", "2", "3"]
    assert labels_of(workers, "ray.io/worker-group-replica-index") == ["0"] * 4
    assert len(set(labels_of(workers, "ray.io/worker-group-replica-name"))) == 1
    assert labels_of(workers, "ray.io/group") == ["tpu"] * 4
    assert all(w["metadata"]["name"].startswith(f"{name}-tpu-worker-") for w in workers)


def test_two_slices_have_two_indexes_and_two_names(cluster):
    ready_cluster(cluster, workers=group(replicas=2))
    workers = cluster.pods("worker")
    assert labels_of(workers, "ray.io/worker-group-replica-index") == ["0"] * 4 + ["1"] * 4
    assert len(set(labels_of(workers, "ray.io/worker-group-replica-name"))) == 2


def test_single_host_slices_have_no_host_index(cluster):
    ready_cluster(cluster, workers=group(hosts=1, topology="2x4", tpu=8, replicas=2))
    for pod in cluster.pods("worker"):
        assert "ray.io/replica-host-index" not in pod["metadata"]["labels"]


def test_the_webhook_gives_each_host_its_place_in_the_slice(cluster):
    name = ready_cluster(cluster)["metadata"]["name"]
    for pod in cluster.pods("worker"):
        env = {e["name"]: e.get("value") for e in pod["spec"]["containers"][0]["env"]}
        host = pod["metadata"]["labels"]["ray.io/replica-host-index"]
        assert env["TPU_WORKER_ID"] == host
        assert env["TPU_NAME"] == "tpu-0"
        assert env["TPU_WORKER_HOSTNAMES"].split(",")[0] == f"tpu-0-0.{name}-headless"
        assert "TPU_TOPOLOGY" not in env
        assert pod["spec"]["hostname"] == f"tpu-0-{host}"


def test_head_and_headless_services_exist(cluster):
    name = ready_cluster(cluster)["metadata"]["name"]
    found = {s["metadata"]["name"]: s for s in cluster.store.list(SERVICES)[0]}
    assert set(found) == {f"{name}-head-svc", f"{name}-headless", "train-head-svc"}
    ports = {p["name"]: p["port"] for p in found[f"{name}-head-svc"]["spec"]["ports"]}
    assert ports == {"gcs-server": 6379, "dashboard": 8265, "client": 10001, "metrics": 8080}


def test_a_dead_host_takes_its_slice_with_it_and_a_new_one_comes(cluster):
    ready_cluster(cluster)
    before = {pod["metadata"]["uid"] for pod in cluster.pods("worker")}
    old_name = labels_of(cluster.pods("worker"), "ray.io/worker-group-replica-name")[0]
    cluster.fail(cluster.pods("worker")[2])
    cluster.advance(5)
    after = cluster.pods("worker")
    assert len(after) == 4
    assert not before & {pod["metadata"]["uid"] for pod in after}
    assert labels_of(after, "ray.io/worker-group-replica-name")[0] != old_name
    assert labels_of(after, "ray.io/worker-group-replica-index") == ["0"] * 4


def test_a_deleted_host_leaves_an_incomplete_group_which_is_cleaned_up(cluster):
    ready_cluster(cluster)
    victim = cluster.pods("worker")[0]["metadata"]["name"]
    cluster.store.delete(PODS, "default", victim)
    cluster.advance(5)
    assert len(cluster.pods("worker")) == 4
    texts = [event["message"] for event in cluster.events("DeletedWorkerPod")]
    assert any("cleanup of incomplete multi-host group" in text for text in texts)


def test_ready_stays_ready_when_hosts_are_lost(make_cluster):
    cluster = make_cluster(max_hosts=4)
    ready_cluster(cluster)
    cluster.world.capacity.hold(lambda pod: True)
    cluster.fail(cluster.pods("worker")[0])
    cluster.advance(5)
    status = cluster.cluster()["status"]
    assert status["state"] == "ready"
    assert "readyWorkerReplicas" not in status


def test_the_status_counts_pods_and_chips(cluster):
    status = ready_cluster(cluster)["status"]
    assert status["desiredTPU"] == "16"
    assert status["desiredCPU"] == "40"
    assert status["desiredMemory"] == "80Gi"
    assert status["readyWorkerReplicas"] == status["desiredWorkerReplicas"] == 4
    assert status["head"]["podName"] == cluster.pods("head")[0]["metadata"]["name"]
    conditions = {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]}
    assert conditions == {
        "HeadPodReady": ("True", "HeadPodRunningAndReady"),
        "RayClusterProvisioned": ("True", "AllPodRunningAndReadyFirstTime"),
        "RayClusterSuspended": ("False", "RayClusterSuspended"),
        "RayClusterSuspending": ("False", "RayClusterSuspending"),
    }


def test_without_a_named_secret_the_operator_makes_the_token(cluster):
    job = rayjob(token=True)
    del job["spec"]["rayClusterSpec"]["authOptions"]["secretName"]
    submit(cluster.store, job)
    cluster.advance(3)
    name = cluster.cluster()["metadata"]["name"]
    assert "auth_token" in cluster.store.get(SECRETS, "default", name)["data"]
    assert cluster.status()["jobStatus"] == "RUNNING"


def test_a_refused_pod_shows_as_replica_failure_until_it_is_let_in(cluster, monkeypatch):
    real = cluster.store.create

    def refuse_workers(resource, obj, **more):
        if resource is PODS and "-worker-" in obj["metadata"]["generateName"]:
            raise Forbidden(PODS, "", "exceeded quota: team-tpu")
        return real(resource, obj, **more)

    monkeypatch.setattr(cluster.store, "create", refuse_workers)
    submit(cluster.store, rayjob())
    cluster.advance(3)
    conditions = {c["type"]: c for c in cluster.cluster()["status"]["conditions"]}
    assert conditions["ReplicaFailure"]["reason"] == "FailedCreateWorkerPod"
    assert "exceeded quota: team-tpu" in conditions["ReplicaFailure"]["message"]
    assert cluster.events("FailedToCreateWorkerPod")
    monkeypatch.undo()
    cluster.advance(6)
    conditions = {c["type"] for c in cluster.cluster()["status"]["conditions"]}
    assert "ReplicaFailure" not in conditions
    assert cluster.status()["jobStatus"] == "RUNNING"
