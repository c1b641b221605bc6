"""Real Ray nodes: a slice of four hosts runs a job and leaves nothing; a killed devcluster leaves nothing for long."""

import base64
import io
import json
import os
import sqlite3
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

from devcluster.pods import processes
from devcluster.pods.processes import Ledger
from devcluster.pods.ray import reap, temp_root
from devcluster.resources import CONFIGMAPS, EVENTS, PODS, RAYJOBS
from devcluster.store import Store
from devcluster.testing import DevCluster
from tests.devcluster.world.manifests import TOKEN, auth_secret, group, rayjob

pytestmark = [pytest.mark.ray, pytest.mark.timeout(240)]

# Asks each host of the slice who it is. Reads its environment only: it can't tell that the hosts are emulated.
SCRIPT = """
import os, ray
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from ray.util.tpu import slice_placement_group

ray.init(log_to_driver=False)
group = slice_placement_group(topology="4x4", accelerator_version="v6e").placement_group
ray.get(group.ready(), timeout=60)

@ray.remote(num_cpus=0, resources={"TPU": 4})
def who():
    names = ("TPU_NAME", "TPU_WORKER_ID", "TPU_TOPOLOGY", "JAX_PLATFORMS", "GREETING")
    return " ".join(os.environ[name] for name in names)

for bundle in range(4):
    where = PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=bundle)
    print("host", ray.get(who.options(scheduling_strategy=where).remote()), flush=True)
"""


def code_zip(script):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("train.py", script)
    return base64.b64encode(packed.getvalue()).decode()


def real_job(name):
    folder = f"/tmp/slipway-code/{name}"
    env = {
        "working_dir": f"file://{folder}/code.zip",
        "env_vars": {"GREETING": "hello"},
    }
    job = rayjob(
        name,
        token=True,
        shutdownAfterJobFinishes=False,
        runtimeEnvYAML=json.dumps(env),
        workers=group(labels={"ray.io/market-type": "spot"}),
    )
    spec = job["spec"]["rayClusterSpec"]
    for part in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        pod = part["template"]["spec"]
        pod["volumes"] = [{"name": "code", "configMap": {"name": f"{name}-code"}}]
        pod["containers"][0]["volumeMounts"] = [{"name": "code", "mountPath": folder}]
    return job


def submit(store, name, script):
    job = store.create(RAYJOBS, real_job(name))
    owner = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "name": name,
        "uid": job["metadata"]["uid"],
    }
    code = {
        "metadata": {"name": f"{name}-code", "namespace": "default"},
        "binaryData": {"code.zip": code_zip(script)},
    }
    for resource, companion in (auth_secret(name), (CONFIGMAPS, code)):
        companion["metadata"]["ownerReferences"] = [owner]
        store.create(resource, companion)


def ray(endpoint, path):
    request = urllib.request.Request(
        f"http://{endpoint[0]}:{endpoint[1]}{path}",
        headers={"X-Ray-Authorization": f"Bearer {TOKEN}"},
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        return response.read().decode()


def survivors(records):
    return [process for record in records for process in processes.members(record)]


def test_a_slice_of_four_real_hosts_runs_a_job_and_leaves_nothing(tmp_path):
    name = f"real-{os.getpid()}"
    with DevCluster(mode="ray", clock="immediate", state_dir=tmp_path) as dc:
        submit(dc.store, name, SCRIPT)

        def status():
            return dc.rayjob("default", name).get("status") or {}

        dc.wait_for(lambda: status().get("jobDeploymentStatus") in ("Complete", "Failed"), 180)
        assert status()["jobStatus"] == "SUCCEEDED", status().get("message")

        service = f"{status()['rayClusterName']}-head-svc"
        endpoint = dc.world.service_endpoint("default", service, "dashboard")
        rows = json.loads(ray(endpoint, "/api/v0/nodes"))["data"]["result"]["result"]
        hosts = {row["node_ip"]: row["labels"] for row in rows if not row["is_head_node"]}
        workers = [p for p in dc.pods() if p["metadata"]["labels"]["ray.io/group"] == "tpu"]
        assert set(hosts) == {pod["status"]["podIP"] for pod in workers}
        for pod in workers:
            labels = hosts[pod["status"]["podIP"]]
            index = pod["metadata"]["labels"]["ray.io/replica-host-index"]
            assert labels["ray.io/tpu-worker-id"] == index
            assert labels["ray.io/tpu-slice-name"] == "tpu-0"
            assert labels["ray.io/tpu-topology"] == "4x4"
            assert labels["ray.io/tpu-pod-type"] == "v6e-16"
            assert labels["ray.io/market-type"] == "spot"

        log = ray(endpoint, f"/api/jobs/{name}/logs")
        for index in range(4):
            assert f"host tpu-0 {index} 4x4 cpu hello" in log

        records = Ledger(tmp_path / "pods").all()
        assert len(records) == 5
        assert survivors(records)
        began = time.monotonic()
        dc.store.delete(RAYJOBS, "default", name)
        dc.wait_for(lambda: not dc.pods(), 30)
        assert time.monotonic() - began < 15
        assert survivors(records) == []
        assert Ledger(tmp_path / "pods").all() == []
        assert not Path(f"/tmp/slipway-code/{name}").exists()
    assert not temp_root(tmp_path).exists()


def test_a_killed_devcluster_ends_its_former_life_and_the_job_still_ends(tmp_path):
    name = f"kill-{os.getpid()}"
    store = Store(tmp_path / "store.sqlite")
    submit(store, name, "import time; time.sleep(20); print('through')")
    store.close()

    first = start(tmp_path)
    wait_until(lambda: seen(tmp_path, name).get("jobStatus") == "RUNNING", 120)
    first.kill()
    first.wait(10)
    records = Ledger(tmp_path / "pods").all()
    assert survivors(records)

    second = start(tmp_path)
    try:
        wait_until(lambda: seen(tmp_path, name).get("endTime"), 150)
        assert survivors(records) == []
        assert seen(tmp_path, name)["jobStatus"] == "SUCCEEDED"
    finally:
        second.terminate()
        second.wait(30)
    store = Store(tmp_path / "store.sqlite")
    assert any(event["reason"] == "NodeLost" for event in store.list(EVENTS)[0])
    assert len(store.list(RAYJOBS)[0]) == 1
    assert len(store.list(PODS)[0]) == 5
    store.close()
    assert reap(tmp_path) == 0


def start(state_dir):
    arguments = [sys.executable, "-m", "tests.devcluster.world.serve_world", str(state_dir)]
    with (state_dir / "serve.log").open("ab") as log:
        return subprocess.Popen(arguments, stdout=log, stderr=log, cwd=Path(__file__).parents[3])


def seen(state_dir, name):
    """The RayJob's status as the other process has last written it."""
    with sqlite3.connect(f"file:{state_dir}/store.sqlite?mode=ro", uri=True) as database:
        query = "SELECT body FROM object WHERE storage = 'rayjobs.ray.io' AND name = ?"
        row = database.execute(query, [name]).fetchone()
    return (json.loads(row[0]).get("status") or {}) if row else {}


def wait_until(condition, timeout_s):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.3)
