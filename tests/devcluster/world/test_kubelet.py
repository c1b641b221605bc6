import base64

import pytest

from devcluster.pods.base import CannotStart
from devcluster.pods.volumes import CODE_ROOT, CodeFiles, code_files
from devcluster.resources import CONFIGMAPS, PODS, SECRETS
from tests.devcluster.world.manifests import TOKEN, auth_secret, rayjob, submit


def waiting_state(pod):
    return pod["status"]["containerStatuses"][0]["state"]["waiting"]


def test_a_pod_waits_for_its_secret_and_goes_on_when_it_comes(cluster):
    submit(cluster.store, rayjob(token=True))
    cluster.advance(3)
    [head] = cluster.pods("head")
    assert waiting_state(head) == {
        "reason": "CreateContainerConfigError",
        "message": 'secret "train-auth" not found',
    }
    assert head["status"]["phase"] == "Pending"
    cluster.store.create(*auth_secret())
    cluster.advance(6)
    assert cluster.status()["jobStatus"] == "RUNNING"
    assert cluster.ray().token == TOKEN


def test_a_pod_waits_for_its_config_map(cluster):
    job = rayjob()
    pod = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    pod["volumes"] = [{"name": "code", "configMap": {"name": "train-code"}}]
    submit(cluster.store, job)
    cluster.advance(3)
    [head] = cluster.pods("head")
    assert waiting_state(head) == {"reason": "ContainerCreating"}
    [event] = cluster.events("FailedMount")
    assert event["message"].endswith('configmap "train-code" not found')
    cluster.store.create(
        CONFIGMAPS, {"metadata": {"name": "train-code", "namespace": "default"}, "data": {}}
    )
    cluster.advance(6)
    assert cluster.status()["jobStatus"] == "RUNNING"


def test_a_running_pod_has_the_status_of_one(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    status = cluster.pods("worker")[0]["status"]
    assert status["phase"] == "Running"
    assert status["podIP"].startswith("127.")
    assert status["hostIP"].startswith("127.1.0.")
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert all("lastTransitionTime" in c for c in status["conditions"])
    assert status["containerStatuses"][0]["ready"] is True
    for reason in ("Scheduled", "Pulled", "Created", "Started"):
        assert cluster.events(reason)


def test_every_live_pod_has_an_address_of_its_own(cluster):
    for name in ("first", "second"):
        submit(cluster.store, rayjob(name))
    cluster.advance(3)
    addresses = [pod["status"]["podIP"] for pod in cluster.pods()]
    assert len(addresses) == len(set(addresses)) == 10


def test_the_node_gives_its_pods_the_device_plugins_environment(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    rows = {row["labels"].get("ray.io/tpu-worker-id"): row for row in cluster.ray().nodes()}
    assert rows["3"]["labels"] == {
        "ray.io/tpu-slice-name": "tpu-0",
        "ray.io/tpu-worker-id": "3",
        "ray.io/tpu-topology": "4x4",
        "ray.io/tpu-pod-type": "v6e-16",
    }


def test_a_head_with_restart_policy_always_restarts_in_place(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    [head] = cluster.pods("head")
    cluster.fail(head)
    cluster.advance(5)
    [again] = cluster.pods("head")
    assert again["metadata"]["uid"] == head["metadata"]["uid"]
    container = again["status"]["containerStatuses"][0]
    assert container["restartCount"] == 1
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert "running" in container["state"]


def test_pods_of_a_former_life_are_shown_as_lost_and_replaced(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    before = {pod["metadata"]["uid"] for pod in cluster.pods()}
    assert cluster.world.reap_former_life() == 0
    lost = cluster.pods()
    assert {pod["status"]["phase"] for pod in lost} == {"Failed"}
    assert {pod["status"]["reason"] for pod in lost} == {"NodeLost"}
    cluster.advance(10)
    assert not before & {pod["metadata"]["uid"] for pod in cluster.pods()}
    assert cluster.status()["jobStatus"] == "RUNNING"


def test_only_mounts_below_the_code_root_become_files(cluster):
    for resource, field in ((CONFIGMAPS, "binaryData"), (SECRETS, "data")):
        cluster.store.create(
            resource,
            {
                "metadata": {"name": "code", "namespace": "default"},
                field: {"code.zip": base64.b64encode(b"zip").decode()},
            },
        )
    pod = {
        "metadata": {"namespace": "default"},
        "spec": {
            "volumes": [
                {"name": "a", "configMap": {"name": "code"}},
                {"name": "b", "secret": {"secretName": "code"}},
                {"name": "c", "configMap": {"name": "code"}},
            ],
            "containers": [
                {
                    "volumeMounts": [
                        {"name": "a", "mountPath": "/tmp/slipway-code/train"},
                        {"name": "b", "mountPath": "/etc/passwd"},
                        {"name": "c", "mountPath": "/tmp/slipway-code/.."},
                    ]
                }
            ],
        },
    }
    assert code_files(cluster.store, pod) == [(CODE_ROOT / "train" / "code.zip", b"zip")]


def test_code_goes_with_the_last_pod_that_uses_it(tmp_path):
    root = tmp_path / "code"
    files = CodeFiles(root)
    target = root / "train" / "code.zip"
    files.write("one", [(target, b"zip")])
    files.write("two", [(target, b"zip")])
    assert target.parent.stat().st_mode & 0o777 == 0o700
    files.release("one")
    assert target.read_bytes() == b"zip"
    files.release("two")
    assert not target.parent.exists()


def test_a_code_root_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    root = tmp_path / "code"
    root.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CannotStart, match="not a folder of this user"):
        CodeFiles(root).write("one", [(root / "train" / "code.zip", b"zip")])
    assert not list((tmp_path / "elsewhere").iterdir())


def test_deleted_pods_leave_no_object_and_no_log(cluster):
    submit(cluster.store, rayjob())
    cluster.advance(3)
    [head] = cluster.pods("head")
    name = head["metadata"]["name"]
    assert b"simulated" in b"".join(cluster.world.pod_log("default", name))
    cluster.store.delete(PODS, "default", name)
    cluster.world.settle()
    assert all(pod["metadata"]["name"] != name for pod in cluster.pods())
    assert not (cluster.world.state_dir / "logs" / head["metadata"]["uid"]).exists()
