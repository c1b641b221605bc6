"""A cluster in process: devcluster's sim mode over HTTP, with time that only moves when a test says so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from devcluster.testing import DevCluster
from webapp.accounts.models import Team, User
from webapp.clusters.models import Cluster
from webapp.workloads.models import Attempt, Workload
from workers import drive
from workers.connections import kube_for
from workers.watch.intake import Intake


@dataclass
class Stage:
    """The product without its processes: a test turns each part by hand."""

    dev: DevCluster
    cluster: Cluster

    def work(self) -> None:
        """One round of every driver that is due."""
        for attempt_id in drive.due():
            drive.drive(attempt_id)

    def watch(self) -> None:
        """What the watcher's lists see now."""
        from django.utils import timezone

        kube = kube_for(self.cluster)
        intake = Intake(self.cluster)
        for kind, listed in (
            ("RayJob", intake.jobs_listed),
            ("RayCluster", intake.clusters_listed),
            ("Pod", intake.pods_listed),
            ("Event", intake.events_listed),
        ):
            began = timezone.now()
            listed(kube.list(kind).items, began)

    def turn(self, times: int = 1) -> None:
        for _ in range(times):
            self.work()
            self.dev.settle()
            self.watch()

    def until(self, workload: Workload, state: str, turns: int = 30) -> Attempt:
        for _ in range(turns):
            workload.refresh_from_db()
            if workload.state == state:
                return workload.attempts.last()
            self.turn()
            self.dev.advance(1)
        attempt = workload.attempts.last()
        raise AssertionError(f"{workload} is {workload.state}, not {state}: {attempt.seen}")


@pytest.fixture
def stage(db: None) -> Iterator[Stage]:
    with DevCluster(mode="sim", clock="tick") as dev:
        cluster = Cluster.objects.create(
            slug="devcluster",
            title="devcluster",
            kubeconfig_file=str(dev.kubeconfig_path),
            is_emulated=True,
        )
        yield Stage(dev, cluster)


@pytest.fixture
def people(dev: User, research: Team) -> tuple[User, Team]:
    return dev, research
