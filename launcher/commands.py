"""Every `make` target that is more than a line."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence

from launcher import environment, install, preflight, processes, smoke, testing
from launcher.errors import Stop
from launcher.places import DEVCLUSTER, KUBECONFIG, PYTHON, ROOT, SIGN_INS, VAR, ports
from launcher.say import step
from launcher.supervisor import Supervisor, started_at


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="launcher", description="Start, test and clean Slipway.")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("up", "set up and start the product, until Ctrl-C"),
        ("down", "stop a running product"),
        ("smoke", "run the example through the running product and check it"),
        ("clean", "remove all state (var/)"),
    ):
        commands.add_parser(name, help=text)
    test = commands.add_parser("test", help="lint, types and every test")
    test.add_argument("steps", nargs="*", help=f"only these: {', '.join(testing.NAMES)}")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "test":
            return testing.run(chosen.steps)
        return {"up": up, "down": down, "smoke": smoke.run, "clean": clean}[chosen.command]()
    except Stop as exc:
        print(f"slipway: {exc}")
        return 1
    except OSError as exc:
        # A full disk shows as this anywhere, so it gets its line here.
        print(
            f"slipway: {exc.strerror or exc}{f' ({exc.filename})' if exc.filename else ''}. Nothing was left running."
        )
        return 1


def up() -> int:
    began = time.monotonic()
    wanted = ports()
    print("Slipway")
    preflight.disk(is_first=not install.is_installed(install.RUN))
    warning = preflight.memory()
    if warning:
        print(f"  Mind: {warning}")
    install.install(install.RUN)
    env = environment.prepare(wanted)
    with Supervisor(env=env, cwd=ROOT, state=VAR) as supervisor:
        preflight.free_ports(wanted.values())
        with step("Preparing the database"):
            _manage(env, "migrate", "--verbosity", "0")
        with step("Collecting styles and scripts"):
            _manage(env, "collectstatic", "--noinput", "--verbosity", "0")
        with step("Starting the broker and devcluster, the emulated cluster"):
            _reap()
            supervisor.start(
                processes.infrastructure(wanted, os.environ.get("SLIPWAY_MAX_HOSTS", "16"))
            )
        with step("Making people, a team and compute classes"):
            _seed(env)
        with step("Starting web, worker, scheduler and watcher"):
            supervisor.start(processes.product(wanted))
        _welcome(wanted["web"].number, time.monotonic() - began)
        supervisor.watch()
        print("\n  Ending every process ...", flush=True)
    _reap()
    print("  All ended; state is kept in var/.")
    return 0


def down() -> int:
    file = VAR / "run" / "supervisor"
    pid = int(file.read_text()) if file.exists() else 0
    if not pid or not started_at(pid):
        print("Slipway does not run from this folder.")
        return 0
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + 40
    while started_at(pid) and time.monotonic() < until:
        time.sleep(0.2)
    if started_at(pid):
        raise Stop(f"The supervisor (process {pid}) does not end.")
    print("Slipway is down.")
    return 0


def clean() -> int:
    file = VAR / "run" / "supervisor"
    if file.exists() and started_at(int(file.read_text())):
        raise Stop("Slipway runs from this folder. Stop it first: make down")
    _reap()
    shutil.rmtree(VAR, ignore_errors=True)
    print("Removed var/.")
    return 0


def _manage(env: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [str(PYTHON), "manage.py", *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Stop(f"manage.py {arguments[0]} failed: {lines[-1] if lines else 'it said nothing'}")
    return done.stdout


def _seed(env: dict[str, str]) -> None:
    """New people's passwords are kept beside older ones, readable by the owner only."""
    made = json.loads(_manage(env, "seed", "--json", "--kubeconfig", str(KUBECONFIG)))
    known = json.loads(SIGN_INS.read_text()) if SIGN_INS.exists() else []
    if made:
        names = {row["username"] for row in made}
        rows = [row for row in known if row["username"] not in names] + made
        with open(os.open(SIGN_INS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            json.dump(rows, out, indent=2)


def _reap() -> None:
    """End Ray processes that devcluster recorded, whatever became of devcluster."""
    if PYTHON.exists() and DEVCLUSTER.exists():
        subprocess.run(
            [str(PYTHON), "-m", "devcluster", "reap", "--state-dir", str(DEVCLUSTER)],
            cwd=ROOT, capture_output=True, timeout=60, check=False,
        )  # fmt: skip


def _welcome(port: int, seconds: float) -> None:
    print(f"\n  Slipway is up after {seconds:.0f} s:  http://127.0.0.1:{port}/\n")
    for row in json.loads(SIGN_INS.read_text()) if SIGN_INS.exists() else []:
        print(f"    {row['username']:<5} {row['password']:<16} {row['who']}")
    print(f"\n  kubectl --kubeconfig {os.path.relpath(KUBECONFIG)} get rayjobs,pods,events -A")
    print("  Logs are in var/log/. Ctrl-C ends everything.\n", flush=True)
