"""A world with real Ray nodes as a program of its own, so that a test can kill it: `python -m ... <state dir>`."""

import signal
import sys
import threading
from pathlib import Path

from devcluster.clock import RealClock
from devcluster.store import Store
from devcluster.world import World, WorldConfig


def main(state_dir: Path) -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    world = World(Store(state_dir / "store.sqlite"), RealClock(), WorldConfig(state_dir=state_dir))
    print("reaped", world.reap_former_life(), flush=True)
    world.start()
    ended.wait()
    world.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
