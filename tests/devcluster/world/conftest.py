import pytest

from devcluster.clock import TickClock
from devcluster.resources import EVENTS, PODS, RAYCLUSTERS, RAYJOBS
from devcluster.store import Store
from devcluster.world import World, WorldConfig


class Cluster:
    """A simulated world on a test's clock, without an API server."""

    def __init__(self, **config):
        self.clock = TickClock()
        self.store = Store(now=self.clock.now)
        self.world = World(self.store, self.clock, WorldConfig(mode="sim", boot_s=0.0, **config))
        self.world.look_again()

    def advance(self, seconds, step=1.0):
        self.world.settle()
        for _ in range(int(seconds / step)):
            self.clock.advance(step)
            self.world.settle()

    def job(self, name="train"):
        return self.store.get(RAYJOBS, "default", name)

    def status(self, name="train"):
        return self.job(name).get("status") or {}

    def cluster(self):
        found = self.store.list(RAYCLUSTERS)[0]
        assert len(found) == 1
        return found[0]

    def pods(self, kind=None):
        found = self.store.list(PODS)[0]
        return [p for p in found if kind in (None, p["metadata"]["labels"]["ray.io/node-type"])]

    def events(self, reason):
        return [e for e in self.store.list(EVENTS)[0] if e["reason"] == reason]

    def ray(self):
        heads = self.world.sim.heads()
        assert len(heads) == 1
        return heads[0]

    def fail(self, pod):
        assert self.world.sim.fail(pod["metadata"]["uid"], 1, "crashed")
        self.world.settle()


@pytest.fixture
def make_cluster():
    made = []

    def make(**config):
        made.append(Cluster(**config))
        return made[-1]

    yield make
    for cluster in made:
        cluster.world.stop()
        cluster.store.close()


@pytest.fixture
def cluster(make_cluster):
    return make_cluster()
