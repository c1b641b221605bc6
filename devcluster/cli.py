"""The command line: serve, reap, status."""

from __future__ import annotations

import argparse
import base64
import fcntl
import json
import logging
import os
import signal
import sys
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from ssl import create_default_context

from devcluster.clock import RealClock
from devcluster.pods.ray import reap
from devcluster.pods.sim import Pace
from devcluster.pods.sim_ray import Script
from devcluster.server import ApiServer, CannotServe
from devcluster.store import Store
from devcluster.world import World, WorldConfig

STATE_DIR = Path("var/devcluster")
# What people who try the simulated mode by hand can follow with their eyes.
SIM_PACE, SIM_JOB_S = Pace(2, 3), 20.0


def main(arguments: Sequence[str]) -> int:
    parser = _parser()
    chosen = parser.parse_args(arguments)
    try:
        code: int = chosen.run(chosen)
    except (CannotServe, RuntimeError, OSError) as exc:
        print(f"devcluster: {exc}", file=sys.stderr)
        return 1
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="devcluster",
        description="A Kubernetes API with KubeRay's and GKE's behaviour on this machine, for loopback only. "
        "Its TPU hosts are emulated: real Ray nodes (ray), or state machines in memory (sim).",
    )
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve", help="run until SIGTERM or Ctrl-C, then end every pod")
    serve.add_argument("--state-dir", type=Path, default=STATE_DIR, help="default: %(default)s")
    serve.add_argument(
        "--port", type=int, default=8003, help="0 takes a free one; default: %(default)s"
    )
    serve.add_argument(
        "--mode", choices=("ray", "sim"), default="ray", help="what pods are; default: %(default)s"
    )
    serve.add_argument(
        "--max-hosts", type=int, default=16, help="emulated TPU hosts; default: %(default)s"
    )
    serve.add_argument(
        "--kubeconfig", type=Path, help="where to write it; default: <state-dir>/kubeconfig"
    )
    serve.set_defaults(run=_serve)
    ending = commands.add_parser("reap", help="end every process that a killed devcluster left")
    ending.add_argument("--state-dir", type=Path, default=STATE_DIR, help="default: %(default)s")
    ending.set_defaults(run=_reap)
    status = commands.add_parser("status", help="say whether one serves from this state directory")
    status.add_argument("--state-dir", type=Path, default=STATE_DIR, help="default: %(default)s")
    status.set_defaults(run=_status)
    return parser


def _serve(chosen: argparse.Namespace) -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level="INFO")
    logging.getLogger("httpx").setLevel("WARNING")  # else a line for every proxied request
    if chosen.max_hosts < 1:
        raise CannotServe(f"--max-hosts {chosen.max_hosts} leaves no host. Choose 1 or more.")
    state_dir: Path = chosen.state_dir.absolute()
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = _lock(state_dir)
    store = Store(state_dir / "state.db")
    world = World(
        store,
        RealClock(),
        WorldConfig(
            mode=chosen.mode,
            max_hosts=chosen.max_hosts,
            state_dir=state_dir,
            pace=SIM_PACE,
            script=Script(run_s=SIM_JOB_S),
        ),
    )
    server = ApiServer(store, world, port=chosen.port, state_dir=state_dir)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    try:
        left = world.reap_former_life()
        if left:
            logging.info("Ended the processes of %d pods of a former life.", left)
        server.start()
        server.write_kubeconfig(chosen.kubeconfig or state_dir / "kubeconfig")
        world.start()
        logging.info("Serving %s with %d emulated hosts.", server.url, chosen.max_hosts)
        ended.wait()
    finally:
        server.stop()
        world.stop()
        store.close()
        os.close(lock)
    return 0


def _lock(state_dir: Path) -> int:
    """One devcluster per state directory: two would end each other's pods."""
    lock = os.open(state_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        raise CannotServe(
            f"Another devcluster serves from {state_dir}. Stop it, or choose another --state-dir."
        ) from exc
    return lock


def _reap(chosen: argparse.Namespace) -> int:
    state_dir: Path = chosen.state_dir.absolute()
    if not state_dir.exists():
        print("Nothing to end.")
        return 0
    lock = _lock(state_dir)
    had = reap(state_dir)
    os.close(lock)
    print(f"Ended the processes of {had} pods." if had else "Nothing to end.")
    return 0


def _status(chosen: argparse.Namespace) -> int:
    file: Path = chosen.state_dir / "kubeconfig"
    try:
        cluster = json.loads(file.read_text())["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = create_default_context(cadata=authority)
        with urllib.request.urlopen(f"{cluster['server']}/readyz", timeout=3, context=context):  # noqa: S310
            print(f"Serving {cluster['server']}.")
            return 0
    except (OSError, KeyError, ValueError) as exc:
        print(f"Not serving: {exc}")
        return 1
