"""The watcher's parts: one lease per cluster, and a stream that always finds its way back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from devcluster.testing import DevCluster
from webapp.clusters.models import Cluster
from workers.gateways.errors import Gone, Unreachable
from workers.gateways.kube import KubeGateway, Listed, WatchEvent
from workers.gateways.transport import Transport
from workers.watch import healthy, lease
from workers.watch.stream import Handlers, Stream


@pytest.fixture
def kube() -> Iterator[KubeGateway]:
    with DevCluster(mode="sim", clock="tick") as dev:
        yield KubeGateway(Transport(kubeconfig_file=str(dev.kubeconfig_path)))


def config_map(name: str) -> dict[str, Any]:
    labels = {"slipway.dev/instance": "tests"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "data": {},
    }


class Notes:
    """What the handlers were told."""

    def __init__(self) -> None:
        self.lists: list[set[str]] = []
        self.changes: list[tuple[str, bool]] = []
        self.health: list[str] = []

    def handlers(self) -> Handlers:
        return Handlers(self.listed, self.changed, self.health.append)

    def listed(self, items: list[dict[str, Any]], began: datetime) -> None:
        self.lists.append(
            {item["metadata"]["name"] for item in items if "labels" in item["metadata"]}
        )

    def changed(self, obj: dict[str, Any], is_gone: bool) -> None:
        self.changes.append((obj["metadata"]["name"], is_gone))


def wait_for(holds: Any) -> None:
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.django_db(transaction=True)
def test_a_stream_lists_then_hears_each_change(kube: KubeGateway) -> None:
    kube.ensure(config_map("before"), owner_labels={})
    notes, stop = Notes(), threading.Event()
    stream = Stream(lambda: kube, "ConfigMap", "slipway.dev/instance=tests", notes.handlers(), stop)
    thread = threading.Thread(target=stream.run, daemon=True)
    thread.start()
    wait_for(lambda: notes.lists)
    kube.ensure(config_map("after"), owner_labels={})
    wait_for(lambda: ("after", False) in notes.changes)
    kube.delete("ConfigMap", "default", "before", owner_labels={})
    wait_for(lambda: ("before", True) in notes.changes)
    stop.set()
    kube.ensure(config_map("last"), owner_labels={})
    thread.join(10)
    assert not thread.is_alive()
    assert notes.lists == [{"before"}]
    assert notes.health[-1] == ""


class Scripted(KubeGateway):
    """A gateway that answers what a script says, turn by turn."""

    def __init__(self, *watches: Any) -> None:
        self.watches = list(watches)
        self.lists = 0

    def list(self, kind: str, *, namespace: str = "", selector: str = "") -> Listed:
        self.lists += 1
        return Listed([], str(self.lists))

    def watch(self, kind: str, *, since: str, selector: str = "") -> Iterator[WatchEvent]:
        answer = self.watches.pop(0)
        if isinstance(answer, Exception):
            raise answer
        yield from answer


@pytest.mark.django_db
def test_a_position_that_is_too_old_leads_to_a_new_list() -> None:
    kube, notes = Scripted(Gone("too old"), []), Notes()
    stop = threading.Event()

    def health(trouble: str) -> None:
        notes.health.append(trouble)
        if len(notes.health) == 2:
            stop.set()

    handlers = Handlers(notes.listed, notes.changed, health)
    Stream(lambda: kube, "Pod", "", handlers, stop).run()
    assert kube.lists == 2


@pytest.mark.django_db
def test_a_bookmark_moves_the_position_and_is_no_change() -> None:
    bookmark = WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "77"}})
    kube, notes = Scripted([bookmark], []), Notes()
    stream = Stream(lambda: kube, "Pod", "", notes.handlers(), threading.Event())
    stream.turn()
    assert stream._since == "77"
    stream.turn()
    assert (kube.lists, notes.changes) == (1, [])


@pytest.mark.django_db
def test_a_cluster_that_is_away_is_said_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.watch.stream.FIRST_PAUSE_S", 0.01)
    kube, notes, stop = Scripted(Unreachable("no route"), []), Notes(), threading.Event()

    def health(trouble: str) -> None:
        notes.health.append(trouble)
        if notes.health[-2:] == ["no route", ""]:
            stop.set()

    Stream(lambda: kube, "Pod", "", Handlers(notes.listed, notes.changed, health), stop).run()
    assert kube.lists == 1, "what is known is not listed again for a broken line"


@pytest.mark.django_db
def test_one_bad_object_does_not_end_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.watch.stream.FIRST_PAUSE_S", 0.01)
    bad = WatchEvent("ADDED", {"metadata": {"name": "bad", "resourceVersion": "5"}})
    kube, stop, seen = Scripted([bad], []), threading.Event(), []

    def changed(obj: dict[str, Any], is_gone: bool) -> None:
        seen.append(obj)
        raise KeyError("surprise")

    def health(trouble: str) -> None:
        if seen:
            stop.set()

    Stream(
        lambda: kube, "Pod", "", Handlers(lambda items, began: None, changed, health), stop
    ).run()
    assert kube.lists == 2


def test_one_watcher_has_a_cluster_until_its_lease_lapses(cluster: Cluster) -> None:
    assert lease.take(cluster.pk, "one")
    assert lease.take(cluster.pk, "one")
    assert not lease.take(cluster.pk, "two")
    Cluster.objects.update(watcher_until=timezone.now() - timedelta(seconds=1))
    assert not healthy.is_healthy()
    assert lease.take(cluster.pk, "two")
    assert healthy.is_healthy()
    lease.give_back(cluster.pk, "one")
    assert not lease.take(cluster.pk, "one")
