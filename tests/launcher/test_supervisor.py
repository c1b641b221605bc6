"""The supervisor with real processes: what it starts it ends, and what dies it starts again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from launcher import preflight
from launcher.errors import Stop
from launcher.places import Port
from launcher.supervisor import started_at

ROOT = Path(__file__).parents[2]
# A child that starts a grandchild in a group of its own session, as Ray's nodes do.
PARENT = """
import subprocess, sys, time, pathlib
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(str(grandchild.pid))
time.sleep(600)
"""
MAIN = """
import os, sys
from pathlib import Path
from types import SimpleNamespace
from launcher.errors import Stop
from launcher.processes import Process
from launcher.supervisor import Supervisor
state, parent = Path(sys.argv[1]), sys.argv[2]
try:
    with Supervisor(env=dict(os.environ), cwd=Path.cwd(), state=state) as supervisor:
        supervisor.start([
            Process("one", (sys.executable, "-c", parent, str(state / "grandchild"))),
            Process("two", (sys.executable, "-c", "import time; time.sleep(600)")),
        ])
        print("up", flush=True)
        supervisor.watch()
    print("down", flush=True)
except Stop as exc:
    print(exc, flush=True)
    sys.exit(1)
"""


def start(state: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, str(state), PARENT],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def pids(state: Path) -> list[int]:
    return [pid for pid, _ in json.loads((state / "run" / "pids.json").read_text())]


def until(holds: object, seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = start(tmp_path)
    assert line(process) == "up"
    until((tmp_path / "grandchild").exists)
    yield process
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        process.wait(30)


def grandchild(state: Path) -> int:
    return int((state / "grandchild").read_text() or 0)


def test_ctrl_c_ends_children_and_grandchildren(
    tmp_path: Path, running: subprocess.Popen[str]
) -> None:
    everybody = [*pids(tmp_path), grandchild(tmp_path)]
    assert all(is_alive(pid) for pid in everybody)
    running.send_signal(signal.SIGINT)
    assert running.wait(30) == 0
    assert not any(is_alive(pid) for pid in everybody)
    assert not (tmp_path / "run" / "pids.json").exists()


def test_a_killed_child_is_started_again(tmp_path: Path, running: subprocess.Popen[str]) -> None:
    first = pids(tmp_path)
    os.kill(first[1], signal.SIGKILL)
    until(lambda: pids(tmp_path)[1] != first[1])
    assert is_alive(pids(tmp_path)[1])
    assert pids(tmp_path)[0] == first[0]


def test_children_end_with_a_killed_supervisor_and_the_next_one_starts_clean(
    tmp_path: Path, running: subprocess.Popen[str]
) -> None:
    children, orphan = pids(tmp_path), grandchild(tmp_path)
    running.kill()
    running.wait(10)
    until(lambda: not any(is_alive(pid) for pid in children))
    second = start(tmp_path)
    try:
        assert line(second) == "up"
        until(lambda: not is_alive(orphan))
    finally:
        second.send_signal(signal.SIGINT)
        second.wait(30)


def test_a_second_supervisor_says_that_one_runs(
    tmp_path: Path, running: subprocess.Popen[str]
) -> None:
    second = start(tmp_path)
    assert "runs already" in line(second)
    assert second.wait(10) == 1


def test_a_taken_port_is_said_in_one_line_with_the_way_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        with pytest.raises(Stop) as caught:
            preflight.free_ports([Port("web", "SLIPWAY_PORT", number)])
    message = str(caught.value)
    assert f"Port {number}, for the web, is taken" in message
    assert f"SLIPWAY_PORT={number + 100} make up" in message
    assert "\n" not in message


def test_a_full_disk_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        preflight.shutil, "disk_usage", lambda place: SimpleNamespace(free=3 * 10**8)
    )
    with pytest.raises(Stop, match=r"0\.3 GB free and Slipway needs 4\. Make room"):
        preflight.disk(is_first=True)


def test_a_process_is_known_by_its_pid_and_its_start() -> None:
    assert started_at(os.getpid()) > 0
    assert started_at(2**22 + 1) == 0


@pytest.mark.parametrize("version", [(3, 8), (3, 10), (3, 12)])
def test_another_python_is_refused_in_one_line(version: tuple[int, int]) -> None:
    told = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.version_info = {(*version, 0)!r}; import runpy; runpy.run_module('launcher', run_name='__main__')"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode != 0
    assert told.stderr.strip().splitlines()[-1].startswith("Slipway needs Python 3.11 and this is")


def test_a_port_that_is_no_port_is_refused() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "launcher", "up"],
        cwd=ROOT, env={**os.environ, "SLIPWAY_PORT": "lots"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 1
    assert (
        told.stdout.strip()
        == "slipway: SLIPWAY_PORT=lots is not a port. Choose a number from 1024 to 65535."
    )
