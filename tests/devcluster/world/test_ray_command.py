"""What `ray start` is given for one emulated host. Nothing is started here."""

from pathlib import Path

import pytest

from devcluster.controllers import cluster_pods
from devcluster.pods.base import CannotStart, Launch
from devcluster.pods.ray_command import Head, command, environment, head_of
from tests.devcluster.world.manifests import group, rayjob

HEAD = Head(ip="127.20.1.1", gcs_port=20001, client_port=20002, dashboard_port=8265, token="secret")


def cluster():
    job = rayjob(token=True, workers=group(labels={"ray.io/market-type": "spot"}))
    metadata = {"name": "train-abcde", "namespace": "default", "uid": "c1"}
    return {"kind": "RayCluster", "metadata": metadata, "spec": job["spec"]["rayClusterSpec"]}


def worker(**env):
    made = cluster()
    pod = cluster_pods.worker_pod(made, made["spec"]["workerGroupSpecs"][0], 0, "tpu-x", 2)
    pod["metadata"] |= {"uid": "p1", "name": "w"}
    return Launch(pod=pod, ip="127.20.1.4", env=env, cluster=made)


def head():
    made = cluster()
    pod = cluster_pods.head_pod(made)
    pod["metadata"] |= {"uid": "p0", "name": "h"}
    return Launch(pod=pod, ip="127.20.1.1", env={"RAY_AUTH_TOKEN": "secret"}, cluster=made)


def test_a_worker_joins_its_head_from_its_own_address():
    arguments = command("python", worker(), HEAD, Path("/tmp/t"))
    assert "--address=127.20.1.1:20001" in arguments
    assert "--node-ip-address=127.20.1.4" in arguments
    assert '--resources={"TPU": 4}' in arguments
    assert "--labels=ray.io/market-type=spot" in arguments
    assert "--head" not in arguments


def test_a_head_takes_no_work_and_listens_on_its_own_address():
    launch = head()
    facts = head_of(launch, [])
    arguments = command("python", launch, facts, Path("/tmp/t"))
    assert facts.token == "secret"
    assert facts.gcs_port != facts.client_port
    assert "--num-cpus=0" in arguments
    assert "--dashboard-host=127.20.1.1" in arguments
    assert f"--port={facts.gcs_port}" in arguments


def test_heads_do_not_share_a_port():
    launch = head()
    first = head_of(launch, [])
    second = head_of(launch, [first.gcs_port, first.client_port])
    assert len({first.gcs_port, first.client_port, second.gcs_port, second.client_port}) == 4


def test_nothing_of_slipways_own_environment_reaches_a_job(monkeypatch):
    monkeypatch.setenv("DATABASE_URL", "postgres://user:secret@db")
    monkeypatch.setenv("SLIPWAY_SECRET_KEY", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example")
    env = environment("/venv/bin/python", worker(TPU_NAME="tpu-0"), HEAD, "mark/1")
    assert "DATABASE_URL" not in env
    assert "SLIPWAY_SECRET_KEY" not in env
    assert env["PIP_INDEX_URL"] == "https://mirror.example"
    assert env["TPU_NAME"] == "tpu-0"
    assert env["RAY_ADDRESS"] == "127.20.1.1:20001"
    assert env["PATH"].startswith("/venv/bin:")
    assert env["SLIPWAY_DEVCLUSTER_POD"] == "mark/1"


def test_a_pod_of_no_ray_cluster_can_not_start():
    launch = head()
    stray = Launch(pod=launch.pod, ip=launch.ip, env={}, cluster=None)
    with pytest.raises(CannotStart, match="RayClusters only"):
        command("python", stray, HEAD, Path("/tmp/t"))
