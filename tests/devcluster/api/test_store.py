"""What the store promises its callers: versions, ends, cascades, and that a crash loses nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from devcluster.persistence import Persistence
from devcluster.resources import CONFIGMAPS, NAMESPACES, PODS, RAYCLUSTERS, RAYJOBS, Resource
from devcluster.store import AlreadyExists, Conflict, Expired, Forbidden, NotFound, Store


def make(
    store: Store, resource: Resource, name: str, owner: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "default"}
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        identity = {key: owner["metadata"][key] for key in ("name", "uid")}
        metadata["ownerReferences"] = [reference | identity]
    return store.create(resource, {"metadata": metadata | more.pop("metadata", {}), **more})


def names(store: Store, resource: Resource) -> list[str]:
    return [obj["metadata"]["name"] for obj in store.list(resource, "default")[0]]


def test_what_comes_out_is_a_copy(store: Store) -> None:
    made = make(store, CONFIGMAPS, "a", data={"k": "v"})
    made["data"]["k"] = "changed outside"
    assert store.get(CONFIGMAPS, "default", "a")["data"] == {"k": "v"}


def test_a_generation_counts_changes_of_the_spec_only(store: Store) -> None:
    make(store, RAYJOBS, "a", spec={"entrypoint": "x"})
    store.mutate(RAYJOBS, "default", "a", lambda o: o.update(status={"jobStatus": "PENDING"}))
    store.mutate(RAYJOBS, "default", "a", lambda o: o["metadata"].update(labels={"l": "1"}))
    assert store.get(RAYJOBS, "default", "a")["metadata"]["generation"] == 1
    store.mutate(RAYJOBS, "default", "a", lambda o: o["spec"].update(suspend=True))
    assert store.get(RAYJOBS, "default", "a")["metadata"]["generation"] == 2


def test_a_change_that_changes_nothing_is_not_told(store: Store) -> None:
    make(store, CONFIGMAPS, "a", data={"k": "v"})
    told: list[str] = []
    store.subscribe(lambda change, _resource, _obj: told.append(change))
    store.mutate(CONFIGMAPS, "default", "a", lambda obj: obj["data"].update(k="v"))
    assert told == []


def test_nobody_changes_a_uid_or_takes_a_deletion_back(store: Store) -> None:
    made = make(store, CONFIGMAPS, "a", metadata={"finalizers": ["test/hold"]})
    store.delete(CONFIGMAPS, "default", "a")

    def forge(obj: dict[str, Any]) -> None:
        obj["metadata"]["uid"] = "forged"
        obj["metadata"].pop("deletionTimestamp")

    after = store.mutate(CONFIGMAPS, "default", "a", forge)["metadata"]
    assert after["uid"] == made["metadata"]["uid"]
    assert "deletionTimestamp" in after


def test_a_stale_version_and_another_uid_are_conflicts(store: Store) -> None:
    first = make(store, CONFIGMAPS, "a")
    store.mutate(CONFIGMAPS, "default", "a", lambda obj: obj.update(data={"k": "v"}))
    with pytest.raises(Conflict):
        store.update(CONFIGMAPS, first)
    with pytest.raises(Conflict):
        store.delete(CONFIGMAPS, "default", "a", uid="another")


def test_a_finalizer_holds_an_object_until_it_is_taken_away(store: Store) -> None:
    make(store, RAYJOBS, "a", metadata={"finalizers": ["ray.io/rayjob-finalizer"]})
    store.delete(RAYJOBS, "default", "a")
    assert "deletionTimestamp" in store.get(RAYJOBS, "default", "a")["metadata"]
    store.mutate(RAYJOBS, "default", "a", lambda obj: obj["metadata"].pop("finalizers"))
    with pytest.raises(NotFound):
        store.get(RAYJOBS, "default", "a")


def test_what_has_no_living_owner_goes(store: Store) -> None:
    job = make(store, RAYJOBS, "job")
    cluster = make(store, RAYCLUSTERS, "cluster", job)
    make(store, PODS, "pod", cluster, spec={"containers": []})
    store.delete(RAYJOBS, "default", "job")
    assert names(store, RAYCLUSTERS) == names(store, PODS) == []


def test_what_is_made_for_an_owner_that_is_gone_goes_at_once(store: Store) -> None:
    job = make(store, RAYJOBS, "job")
    store.delete(RAYJOBS, "default", "job")
    make(store, CONFIGMAPS, "late", job)
    assert names(store, CONFIGMAPS) == []


def test_orphaning_lets_dependents_live(store: Store) -> None:
    job = make(store, RAYJOBS, "job")
    make(store, CONFIGMAPS, "code", job)
    store.delete(RAYJOBS, "default", "job", propagation="Orphan")
    assert store.get(CONFIGMAPS, "default", "code")["metadata"]["ownerReferences"] == []


def test_a_foreground_deletion_waits_for_the_last_dependent(store: Store) -> None:
    job = make(store, RAYJOBS, "job")
    cluster = make(store, RAYCLUSTERS, "cluster", job)
    make(store, PODS, "pod", cluster, spec={"nodeName": "host", "containers": []})
    store.delete(RAYJOBS, "default", "job", propagation="Foreground")
    assert names(store, RAYJOBS) == ["job"]
    store.delete(PODS, "default", "pod", grace_period=0)
    assert names(store, RAYJOBS) == names(store, RAYCLUSTERS) == []


def test_a_bound_pod_waits_for_its_kubelet_and_an_unbound_one_does_not(store: Store) -> None:
    make(store, PODS, "bound", spec={"nodeName": "host", "terminationGracePeriodSeconds": 5})
    make(store, PODS, "unbound", spec={})
    store.delete(PODS, "default", "bound")
    store.delete(PODS, "default", "unbound")
    assert names(store, PODS) == ["bound"]
    metadata = store.get(PODS, "default", "bound")["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == 5


def test_a_namespace_takes_its_contents_with_it_and_nothing_new_meanwhile(store: Store) -> None:
    store.create(NAMESPACES, {"metadata": {"name": "team"}})
    held = {"name": "held", "namespace": "team", "finalizers": ["test/hold"]}
    store.create(CONFIGMAPS, {"metadata": held})
    store.create(CONFIGMAPS, {"metadata": {"name": "free", "namespace": "team"}})
    store.delete(NAMESPACES, None, "team")
    assert [o["metadata"]["name"] for o in store.list(CONFIGMAPS, "team")[0]] == ["held"]
    with pytest.raises(Forbidden):
        store.create(CONFIGMAPS, {"metadata": {"name": "new", "namespace": "team"}})
    store.mutate(CONFIGMAPS, "team", "held", lambda obj: obj["metadata"].pop("finalizers"))
    with pytest.raises(NotFound):
        store.get(NAMESPACES, None, "team")


def test_a_namespace_that_is_not_there_holds_nothing(store: Store) -> None:
    with pytest.raises(NotFound):
        store.create(CONFIGMAPS, {"metadata": {"name": "a", "namespace": "nowhere"}})


def test_a_name_is_taken_once(store: Store) -> None:
    make(store, CONFIGMAPS, "a")
    with pytest.raises(AlreadyExists):
        make(store, CONFIGMAPS, "a")


def test_a_generated_name_begins_as_asked(store: Store) -> None:
    metadata = {"generateName": "run-", "namespace": "default"}
    first, second = (store.create(CONFIGMAPS, {"metadata": dict(metadata)}) for _ in range(2))
    assert first["metadata"]["name"].startswith("run-")
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_history_is_bounded_and_says_so() -> None:
    store = Store(changes_kept=3)
    start = store.revision
    for number in range(5):
        make(store, CONFIGMAPS, f"c{number}")
    assert len(store.changes_since(CONFIGMAPS, start + 2)) == 3
    with pytest.raises(Expired):
        store.changes_since(CONFIGMAPS, start)


def test_a_change_that_cannot_be_saved_did_not_happen(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make(store, RAYJOBS, "job")
    make(store, CONFIGMAPS, "code", job)
    before = store.revision

    def full(*_arguments: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Persistence, "save", full)
    with pytest.raises(OSError, match="disk full"):
        store.delete(RAYJOBS, "default", "job")
    monkeypatch.undo()
    assert names(store, RAYJOBS) == ["job"]
    assert names(store, CONFIGMAPS) == ["code"]
    assert store.revision == before
    store.delete(RAYJOBS, "default", "job")
    assert names(store, CONFIGMAPS) == []


def test_versions_go_on_where_a_former_life_ended(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    first = Store(file)
    made = make(first, CONFIGMAPS, "a", data={"k": "v"})
    last = first.revision
    first.close()
    second = Store(file)
    assert second.get(CONFIGMAPS, "default", "a") == made
    assert int(make(second, CONFIGMAPS, "b")["metadata"]["resourceVersion"]) > last
    with pytest.raises(Expired):
        second.changes_since(CONFIGMAPS, 1)
    second.close()


WRITER = """
import sys
from pathlib import Path
from devcluster.resources import CONFIGMAPS
from devcluster.store import Store

store = Store(Path(sys.argv[1]))
for number in range(10**6):
    store.create(CONFIGMAPS, {"metadata": {"name": f"c{number}", "namespace": "default"}})
    print(number, flush=True)
"""


def test_a_kill_at_any_moment_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    file = tmp_path / "state.db"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(file)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "0\n"
    time.sleep(0.1)
    os.kill(writer.pid, signal.SIGKILL)
    answered = [int(line) for line in writer.stdout if line.endswith("\n")]
    writer.wait()
    store = Store(file)
    kept = {obj["metadata"]["name"] for obj in store.list(CONFIGMAPS, "default")[0]}
    assert {f"c{number}" for number in answered} <= kept
    versions = [int(o["metadata"]["resourceVersion"]) for o in store.list(CONFIGMAPS)[0]]
    assert store.revision >= max(versions)
    store.close()
