"""kubectl against devcluster: what people type when they look behind the page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from devcluster.testing import DevCluster
from slipway.catalog import CATALOG
from slipway.manifests import companions_for
from slipway.naming import Target
from slipway.plan import plan
from tests.contract.conftest import REAL, Cluster
from tests.contract.test_api import rayjob
from tests.requests import request

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(not shutil.which("kubectl"), reason="There is no kubectl."),
    pytest.mark.skipif(bool(REAL), reason="kubectl needs no test against a real cluster."),
]


def kubectl(cluster: Cluster, *arguments: str, text: str | None = None) -> str:
    done = subprocess.run(
        ["kubectl", *arguments],
        env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)},
        input=text, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def name(cluster: Cluster) -> str:
    """A running job, applied by kubectl."""
    obj = rayjob(cluster, "kubectl2", topology="2x4", machine_type="ct6e-standard-4t")
    target = Target(
        "contract", cluster.namespace, "contract", "dev", "kubectl2", 1, "image", "2.60.0"
    )
    companions = companions_for(
        plan(request(code=None), None, CATALOG), target, token="t", code_zip=None
    )
    assert cluster.dev is not None
    text = "---\n".join(yaml.safe_dump(item) for item in [*companions, obj])
    said = kubectl(cluster, "apply", "--server-side", "-f", "-", text=text)
    assert f"rayjob.ray.io/{obj['metadata']['name']} serverside-applied" in said
    cluster.dev.advance(10)
    return str(obj["metadata"]["name"])


def test_get_shows_tables_with_kuberays_columns(cluster: Cluster, name: str) -> None:
    shown = kubectl(cluster, "get", "rayjobs,pods,events", "-A")
    jobs = next(block for block in shown.split("\n\n") if "rayjob.ray.io/" in block)
    assert jobs.split("\n")[0].split() == [
        "NAMESPACE", "NAME", "JOB", "STATUS", "DEPLOYMENT", "STATUS", "RAY", "CLUSTER", "NAME", "START", "TIME", "END", "TIME", "AGE",
    ]  # fmt: skip
    assert f"rayjob.ray.io/{name}" in jobs
    assert "RUNNING" in jobs
    assert "1/1     Running" in shown
    assert "CreatedRayCluster" in shown


def test_describe_tells_spec_status_and_events(cluster: Cluster, name: str) -> None:
    shown = kubectl(cluster, "describe", "rayjob", name, "-n", cluster.namespace)
    assert "Job Deployment Status:" in shown
    assert "CreatedRayCluster" in shown
    pod = kubectl(cluster, "get", "pods", "-n", cluster.namespace, "-o", "name").split()[0]
    assert "Node-Selectors:" in kubectl(cluster, "describe", pod, "-n", cluster.namespace)


def test_logs_of_a_pod(cluster: Cluster, name: str) -> None:
    pod = kubectl(cluster, "get", "pods", "-n", cluster.namespace, "-o", "name").split()[0]
    assert kubectl(cluster, "logs", pod, "-n", cluster.namespace).strip()


def test_get_as_json_is_the_object(cluster: Cluster, name: str) -> None:
    obj = json.loads(kubectl(cluster, "get", "rayjob", name, "-n", cluster.namespace, "-o", "json"))
    assert obj["spec"]["jobId"] == name


def test_applying_again_changes_nothing_and_a_wrong_field_is_refused(
    cluster: Cluster, name: str
) -> None:
    obj = rayjob(cluster, "kubectl2", topology="2x4", machine_type="ct6e-standard-4t")
    before = kubectl(
        cluster,
        "get",
        "rayjob",
        name,
        "-n",
        cluster.namespace,
        "-o",
        "jsonpath={.metadata.generation}",
    )
    kubectl(cluster, "apply", "--server-side", "-f", "-", text=yaml.safe_dump(obj))
    after = kubectl(
        cluster,
        "get",
        "rayjob",
        name,
        "-n",
        cluster.namespace,
        "-o",
        "jsonpath={.metadata.generation}",
    )
    assert before == after
    obj["spec"]["surprise"] = 1
    with pytest.raises(AssertionError, match="surprise"):
        kubectl(cluster, "apply", "--server-side", "-f", "-", text=yaml.safe_dump(obj))


def test_watch_tells_changes_and_delete_takes_everything(
    cluster: Cluster, name: str, tmp_path: Path
) -> None:
    dev: DevCluster | None = cluster.dev
    assert dev is not None
    with (tmp_path / "watched").open("w") as out:
        watching = subprocess.Popen(
            ["kubectl", "get", "rayjobs", "-n", cluster.namespace, "-w", "--output-watch-events"],
            env={**os.environ, "KUBECONFIG": str(cluster.kubeconfig)}, stdout=out,
        )  # fmt: skip
        try:
            dev.wait_for(lambda: "ADDED" in (tmp_path / "watched").read_text())
            kubectl(cluster, "delete", "rayjob", name, "-n", cluster.namespace, "--wait=false")
            dev.wait_for(lambda: "DELETED" in (tmp_path / "watched").read_text())
        finally:
            watching.terminate()
            watching.wait(10)
    dev.wait_for(lambda: not dev.pods(cluster.namespace))
    assert kubectl(cluster, "get", "rayclusters,pods", "-n", cluster.namespace).strip() == ""
