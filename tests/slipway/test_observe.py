"""Raw objects in, plain values out, whatever is missing."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from slipway.observe import SeenJob, SeenPod, seen_cluster, seen_event, seen_job, seen_pod

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["metadata", "status", "spec", "conditions", "labels", "type", "state", "name", "phase", "series"]) | st.text(max_size=4),
        inner, max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(
    st.dictionaries(
        st.sampled_from(["metadata", "status", "spec", "involvedObject", "count"]), JSON
    )
)
def test_nothing_that_a_server_may_send_breaks_them(obj: dict[str, object]) -> None:
    for read in (seen_job, seen_cluster, seen_pod, seen_event):
        read(obj)


def test_every_status_example_of_a_rayjob_is_understood(facts: Path) -> None:
    files = sorted((facts / "kuberay" / "status-examples").glob("rayjob.*.json"))
    assert files
    for file in files:
        status = json.loads(file.read_text())
        seen = seen_job({"metadata": {"name": "x"}, "status": status})
        assert seen.deployment_status == status.get("jobDeploymentStatus", "")
        assert SeenJob.from_mapping(seen.to_mapping()) == seen


def test_a_cluster_whose_pods_are_refused_says_so(facts: Path) -> None:
    folder = facts / "kuberay" / "status-examples"
    seen = seen_cluster(
        {"status": json.loads((folder / "raycluster.04-worker-create-forbidden.json").read_text())}
    )
    assert "forbidden" in seen.failure


def test_a_worker_pod_tells_its_slice_and_host() -> None:
    labels = {
        "ray.io/node-type": "worker",
        "ray.io/worker-group-replica-index": "1",
        "ray.io/replica-host-index": "2",
    }
    seen = seen_pod({"metadata": {"name": "p", "labels": labels}, "status": {"phase": "Running"}})
    assert (seen.slice_index, seen.host_index, seen.is_head) == (1, 2, False)
    assert SeenPod.from_mapping(seen.to_mapping()) == seen


def test_an_unschedulable_pod_says_why() -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/3 nodes",
    }
    seen = seen_pod({"status": {"phase": "Pending", "conditions": [condition]}})
    assert (seen.reason, seen.message, seen.scheduled) == ("Unschedulable", "0/3 nodes", False)


def test_both_forms_of_an_event_are_read() -> None:
    new = seen_event(
        {
            "metadata": {"uid": "u"},
            "regarding": {"kind": "Pod", "name": "p"},
            "eventTime": "2026-12-01T10:00:00.000000Z",
            "reportingController": "raycluster-controller",
            "note": "Created head Pod",
            "type": "Normal",
        }
    )
    assert (new.source, new.message, new.about_name, new.count) == (
        "kuberay",
        "Created head Pod",
        "p",
        1,
    )
    assert new.at is not None
    old = seen_event(
        {
            "metadata": {"name": "e"},
            "involvedObject": {"kind": "Pod", "name": "p"},
            "source": {"component": "default-scheduler"},
            "firstTimestamp": "2026-12-01T10:00:00Z",
            "lastTimestamp": "2026-12-01T10:05:00Z",
            "count": 4,
            "type": "Warning",
            "reason": "FailedScheduling",
            "message": "Insufficient google.com/tpu",
        }
    )
    assert (old.source, old.count, old.type) == ("scheduler", 4, "Warning")
    assert old.at is not None
    assert old.first_at is not None
    assert old.at > old.first_at
