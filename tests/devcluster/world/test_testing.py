"""The door that other tests use: an API server, a kubeconfig and a script."""

import ssl
import time

import httpx
import pytest

from devcluster.testing import DevCluster
from tests.devcluster.world.manifests import TOKEN, auth_secret, rayjob

JOBS = "/apis/ray.io/v1/namespaces/default/rayjobs"


def client(dc):
    return httpx.Client(
        base_url=dc.url,
        headers={"Authorization": f"Bearer {dc.token}"},
        verify=ssl.create_default_context(cafile=str(dc.ca_file)),
    )


def ray(dc, path, method="GET", **more):
    cluster = dc.rayjob("default", "train")["status"]["rayClusterName"]
    base = f"/api/v1/namespaces/default/services/{cluster}-head-svc:dashboard/proxy"
    headers = {"X-Ray-Authorization": f"Bearer {TOKEN}"} | more
    with client(dc) as http:
        return http.request(method, base + path, headers=headers)


@pytest.fixture
def running():
    with DevCluster() as dc, client(dc) as http:
        assert http.post(JOBS, json=rayjob(token=True)).status_code == 201
        dc.store.create(*auth_secret())
        dc.advance(4)
        yield dc


def test_it_starts_in_well_under_a_second():
    began = time.monotonic()
    with DevCluster() as dc, client(dc) as http:
        assert http.get("/readyz").status_code == 200
    assert time.monotonic() - began < 3


def test_a_job_sent_to_the_api_runs_to_its_end(running):
    running.set_job("SUCCEEDED", log="loss 0.1\n")
    running.advance(3)
    assert running.rayjob("default", "train")["status"]["jobStatus"] == "SUCCEEDED"


def test_ray_answers_through_the_service_proxy(running):
    assert ray(running, "/api/version").json()["ray_version"] == "2.60.0"
    job = ray(running, "/api/jobs/train").json()
    assert (job["status"], job["submission_id"]) == ("RUNNING", "train")
    assert ray(running, "/api/jobs/nope").status_code == 404
    node = job["driver_info"]["node_ip_address"]
    running.write_log("step 1\n")
    query = f"node_ip={node}&filename=job-driver-train.log&lines=-1"
    assert ray(running, f"/api/v0/logs/file?{query}").text.endswith("step 1\n")


def test_a_log_by_submission_id_alone_is_an_error_as_in_ray(running):
    assert ray(running, "/api/v0/logs/file?submission_id=train").status_code == 500


def test_ray_wants_its_token(running):
    wrong = {"X-Ray-Authorization": "Bearer wrong"}
    assert ray(running, "/api/jobs/", **wrong).status_code == 403


def test_a_followed_log_ends_with_the_job(running):
    running.set_job("FAILED", log="boom\n")
    node = ray(running, "/api/jobs/train").json()["driver_info"]["node_ip_address"]
    query = f"submission_id=train&node_ip={node}&lines=-1"
    assert ray(running, f"/api/v0/logs/stream?{query}").text.endswith("boom\n")


def test_held_hosts_wait_and_released_ones_come():
    with DevCluster() as dc, client(dc) as http:
        dc.hold_host_index(2)
        http.post(JOBS, json=rayjob())
        dc.advance(4)
        waiting = [pod for pod in dc.pods() if not pod["spec"].get("nodeName")]
        assert [p["metadata"]["labels"]["ray.io/replica-host-index"] for p in waiting] == ["2"]
        dc.release()
        dc.advance(4)
        assert dc.rayjob("default", "train")["status"]["jobStatus"] == "RUNNING"


def test_a_failed_pod_is_replaced_with_its_slice(running):
    workers = [p for p in running.pods() if p["metadata"]["labels"]["ray.io/group"] == "tpu"]
    running.fail_pod(workers[0]["metadata"]["name"])
    running.advance(4)
    names = {pod["metadata"]["name"] for pod in running.pods()}
    assert not names & {pod["metadata"]["name"] for pod in workers}


def test_refusals_come_as_often_as_asked():
    with DevCluster() as dc, client(dc) as http:
        dc.refuse("create", "rayjobs", 500, "etcd is away", times=1)
        assert http.post(JOBS, json=rayjob()).status_code == 500
        assert http.post(JOBS, json=rayjob()).status_code == 201


def test_the_immediate_clock_runs_by_itself():
    with DevCluster(clock="immediate", job_runs_s=0.1) as dc, client(dc) as http:
        http.post(JOBS, json=rayjob())
        dc.wait_for(
            lambda: (
                (dc.rayjob("default", "train").get("status") or {}).get("jobStatus") == "SUCCEEDED"
            )
        )


def test_real_nodes_refuse_a_tests_clock():
    with pytest.raises(ValueError, match="immediate"):
        DevCluster(mode="ray", clock="tick")
