"""kill -9, anywhere: nothing is lost, nothing is doubled, nothing is left.

`pytest tests/chaos --full` kills every process in every state; without it a few pairs that once hurt.
"""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from kubernetes import client, watch

from tests.product import Product, Session

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]

SCRIPT = """
import time
import ray
ray.init()
hosts = []
# KubeRay starts a job again as soon as the new head answers, which may be before its workers are there.
while len(hosts) < 2:
    hosts = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("TPU")]
    time.sleep(0.5)
for second in range(8):
    print("second", second, flush=True)
    time.sleep(1)
print(len(hosts), "hosts: done")
"""
PROCESSES = ("worker", "watcher", "devcluster", "web")
STATES = ("queued", "waiting", "starting", "running", "finishing")
USUAL = [("worker", "queued"), ("devcluster", "running")]
FULL = [(process, state) for process in PROCESSES for state in STATES]
END_S = 200


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "killed" in metafunc.fixturenames:
        pairs = FULL if metafunc.config.getoption("--full") else USUAL
        metafunc.parametrize(("killed", "state"), pairs)


class RayJobs:
    """Every RayJob that ever existed, by uid, however often the API server itself dies."""

    def __init__(self, product: Product) -> None:
        self.seen: dict[str, str] = {}
        self._product = product
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                api = client.CustomObjectsApi(self._product.kube())
                for event in watch.Watch().stream(
                    api.list_cluster_custom_object, "ray.io", "v1", "rayjobs", timeout_seconds=5
                ):
                    metadata = event["object"]["metadata"]
                    self.seen[metadata["uid"]] = metadata["labels"]["slipway.dev/workload"]
            except Exception:
                time.sleep(0.2)

    def of(self, uid: str) -> list[str]:
        return [job for job, workload in self.seen.items() if workload == uid]

    def close(self) -> None:
        self._stop.set()


def ray_processes(product: Product) -> list[str]:
    return [
        line
        for line in product.left()
        if "ray" in line.lower() and "devcluster serve" not in line and "launcher" not in line
    ]


def settle(product: Product, person: Session) -> None:
    """Wait until every process serves again, so that one kill does not answer for the next."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if person.http.get("/readyz").status_code == 200 and product.kube():
                client.VersionApi(product.kube()).get_code()
                return
        except Exception:
            time.sleep(0.3)
    raise AssertionError("the product did not come back")


def test_a_killed_process_loses_and_doubles_nothing(
    product: Product, killed: str, state: str
) -> None:
    person, jobs = product.session(), RayJobs(product)
    settle(product, person)
    uid = person.submit(script=SCRIPT, name=f"kill {killed} {state}")
    # States are short and may be over before they are seen; what matters is that the kill comes about then.
    person.until(uid, *STATES[STATES.index(state) :], "succeeded")
    os.kill(product.children()[killed], signal.SIGKILL)
    ended = person.until(uid, "succeeded", "failed", seconds=END_S)
    assert ended["state"] == "succeeded", ended
    assert "2 hosts: done" in person.log(uid)
    assert len(jobs.of(uid)) == 1
    jobs.close()
    settle(product, person)
    assert product.objects(uid) == []
    assert ray_processes(product) == []


@pytest.mark.parametrize("state", ["creating", "running"])
def test_a_stop_gives_everything_back_even_when_the_worker_dies_over_it(
    product: Product, state: str
) -> None:
    person = product.session()
    settle(product, person)
    uid = person.submit(script="import time; time.sleep(600)", name=f"stop {state}")
    if state != "creating":
        person.until(uid, state)
    began = time.monotonic()
    person.stop(uid)
    os.kill(product.children()["worker"], signal.SIGKILL)
    person.until(uid, "stopped", seconds=30)
    took = time.monotonic() - began
    assert took < 30
    assert product.objects(uid) == []
    assert ray_processes(product) == []


def test_ctrl_c_leaves_nothing_and_the_next_start_brings_the_job_to_its_end(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    product = Product(tmp_path_factory.mktemp("var"))
    product.start()
    person = product.session()
    uid = person.submit(script=SCRIPT, name="over a night")
    person.until(uid, "running")
    product.stop()
    began = time.monotonic()
    product.start()
    assert time.monotonic() - began < 30
    try:
        ended = product.session().until(uid, "succeeded", "failed", seconds=END_S)
        assert ended["state"] == "succeeded", ended
    finally:
        product.stop()


def test_a_killed_supervisor_takes_everything_with_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    product = Product(tmp_path_factory.mktemp("var"))
    product.start()
    person = product.session()
    uid = person.submit(script=SCRIPT, name="left alone")
    person.until(uid, "running")
    assert product.process is not None
    product.process.kill()
    product.process.wait(10)
    deadline = time.monotonic() + 30
    while product.left() and time.monotonic() < deadline:
        time.sleep(0.5)
    left = product.left()
    product.process = None
    product.start()
    try:
        ended = product.session().until(uid, "succeeded", "failed", seconds=END_S)
        assert ended["state"] == "succeeded", ended
    finally:
        product.stop()
    assert left == []
