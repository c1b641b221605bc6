import pytest

from devcluster.capacity import NotProvidable, need_of
from devcluster.resources import NODES, RAYJOBS
from tests.devcluster.world.manifests import group, rayjob, submit


def waiting(cluster):
    return [pod for pod in cluster.pods("worker") if not pod["spec"].get("nodeName")]


def why(pod):
    [condition] = pod["status"]["conditions"]
    return condition["message"]


def test_a_held_host_waits_for_tpus_while_the_others_are_ready(cluster):
    cluster.world.capacity.hold(
        lambda pod: pod["metadata"]["labels"].get("ray.io/replica-host-index") == "2"
    )
    submit(cluster.store, rayjob())
    cluster.advance(5)
    [pod] = waiting(cluster)
    assert why(pod).startswith(
        "0/17 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "
        "16 Insufficient google.com/tpu. preemption: "
    )
    assert cluster.cluster()["status"]["readyWorkerReplicas"] == 3
    assert cluster.status()["jobDeploymentStatus"] == "Initializing"
    cluster.world.capacity.release()
    cluster.world.look_again()
    cluster.advance(4)
    assert cluster.status()["jobDeploymentStatus"] == "Running"


def test_a_slice_gets_all_its_hosts_or_none(make_cluster):
    cluster = make_cluster(max_hosts=3)
    submit(cluster.store, rayjob())
    cluster.advance(5)
    assert len(waiting(cluster)) == 4
    assert cluster.events("FailedScheduling")
    [event, *_] = cluster.events("NotTriggerScaleUp")
    assert event["message"].startswith("Pod didn't trigger scale-up: 1 max node group size reached")
    assert event["source"]["component"] == "cluster-autoscaler"


def test_a_waiting_slice_starts_when_another_gives_its_hosts_back(make_cluster):
    cluster = make_cluster(max_hosts=4)
    submit(cluster.store, rayjob("first"))
    cluster.advance(4)
    submit(cluster.store, rayjob("second"))
    cluster.advance(4)
    assert cluster.status("second")["jobDeploymentStatus"] == "Initializing"
    cluster.store.delete(RAYJOBS, "default", "first")
    cluster.advance(5)
    assert cluster.status("second")["jobDeploymentStatus"] == "Running"


def test_hosts_take_the_shape_that_is_asked_for_and_lose_it_again(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(4)
    shaped = [
        n for n in cluster.store.list(NODES)[0] if "google.com/tpu" in n["status"]["allocatable"]
    ]
    assert len(shaped) == 4
    labels = shaped[0]["metadata"]["labels"]
    assert labels["cloud.google.com/gke-tpu-topology"] == "4x4"
    assert labels["node.kubernetes.io/instance-type"] == "ct6e-standard-4t"
    assert labels["slipway.dev/emulated"] == "true"
    cluster.store.delete(RAYJOBS, "default", "train")
    cluster.advance(2)
    assert not any(
        "google.com/tpu" in n["status"]["allocatable"] for n in cluster.store.list(NODES)[0]
    )


def test_an_unknown_compute_class_is_told(cluster):
    job = rayjob()
    pod = job["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]
    pod["nodeSelector"]["cloud.google.com/compute-class"] = "nowhere"
    submit(cluster.store, job)
    cluster.advance(3)
    assert any("ComputeClass nowhere" in e["message"] for e in cluster.events("NotTriggerScaleUp"))


@pytest.mark.parametrize(
    ("accelerator", "topology", "chips", "hosts", "tpu_type"),
    [
        ("tpu-v6e-slice", "4x4", 4, 4, "v6e-16"),
        ("tpu-v6e-slice", "2x4", 8, 1, "v6e-8"),
        ("tpu-v6e-slice", "2x4", 4, 2, "v6e-8"),
        ("tpu-v5-lite-podslice", "4x8", 4, 8, "v5litepod-32"),
        ("tpu-v5p-slice", "2x2x2", 4, 2, "v5p-16"),
        ("tpu7x", "2x2x1", 4, 1, "tpu7x-8"),
    ],
)
def test_a_shape_needs_these_hosts(accelerator, topology, chips, hosts, tpu_type):
    need = need_of(pod_of(accelerator, topology, chips))
    assert (need.hosts, need.accelerator_type) == (hosts, tpu_type)


@pytest.mark.parametrize(
    ("accelerator", "topology", "chips"),
    [("tpu-v9", "4x4", 4), ("tpu-v6e-slice", "4x4", 3), ("tpu-v6e-slice", "big", 4)],
)
def test_a_shape_no_machine_has_is_refused(accelerator, topology, chips):
    with pytest.raises(NotProvidable):
        need_of(pod_of(accelerator, topology, chips))


def pod_of(accelerator, topology, chips):
    template = group(accelerator=accelerator, topology=topology, tpu=chips)["template"]
    return {"metadata": {"name": "p", "namespace": "default", "labels": {}}, **template}
