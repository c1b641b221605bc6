"""Start, watch and end the product's processes: all of them, or none."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType, TracebackType

from launcher.child import Child
from launcher.errors import Stop
from launcher.processes import Process

_PR_SET_CHILD_SUBREAPER = 36
READY_S = 60.0
END_S = 15.0


class Supervisor:
    """Used as a context: leaving it ends every process that was started, in reverse order."""

    def __init__(self, *, env: dict[str, str], cwd: Path, state: Path) -> None:
        self._env, self._cwd, self._state = env, cwd, state
        self._children: list[Child] = []
        self._stop = False
        self._run = state / "run"
        self._lock: int | None = None

    def __enter__(self) -> Supervisor:
        self._run.mkdir(parents=True, exist_ok=True)
        self._lock = os.open(self._run / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as exc:
            raise Stop(
                "Slipway runs already, from this folder. Stop it with Ctrl-C there, or: make down"
            ) from exc
        _adopt_orphans()
        end_former_life(self._run / "pids.json")
        (self._run / "supervisor").write_text(str(os.getpid()))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._asked)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self.end()
        for name in ("pids.json", "supervisor"):
            (self._run / name).unlink(missing_ok=True)

    def _asked(self, number: int, frame: FrameType | None) -> None:
        self._stop = True

    def start(self, processes: Sequence[Process]) -> None:
        """Start all and wait until they serve. Raises Stop for one that does not, naming its log."""
        fresh = [Child(process, self._env, self._cwd, self._state / "log") for process in processes]
        for child in fresh:
            child.start()
            self._children.append(child)
            self._record()
        until = time.monotonic() + READY_S
        for child in fresh:
            while not child.is_ready():
                if self._stop:
                    raise Stop("Stopped while starting.")
                if not child.is_alive() or time.monotonic() > until:
                    raise Stop(_why_not(child, self._state / "log" / f"{child.process.name}.log"))
                time.sleep(0.1)

    def watch(self) -> None:
        """Until somebody asks to stop: start again what dies."""
        while not self._stop:
            for child in self._children:
                told = child.revive()
                if told:
                    self._record()
                    print(f"  {time.strftime('%H:%M:%S')} {told}", flush=True)
            _bury_orphans({child.pid for child in self._children})
            time.sleep(0.5)

    def end(self) -> None:
        """Ask everybody to end, last started first, then insist."""
        until = time.monotonic() + END_S
        for child in reversed(self._children):
            child.end_group(signal.SIGTERM)
            # devcluster ends Ray's processes, which takes a few seconds; the others need none.
            child.wait(max(0.5, until - time.monotonic()))
            child.end_group(signal.SIGKILL)
            child.wait(2)
        self._children.clear()

    def _record(self) -> None:
        """Whom a next supervisor has to end, should this one be killed."""
        rows = [[child.pid, started_at(child.pid)] for child in self._children if child.pid]
        temporary = self._run / "pids.new"
        temporary.write_text(json.dumps(rows))
        temporary.replace(self._run / "pids.json")


def end_former_life(file: Path) -> None:
    """End what a killed supervisor left, if these are still the same processes."""
    try:
        rows = json.loads(file.read_text())
    except (OSError, ValueError):
        return
    same = [pid for pid, start in rows if started_at(pid) == start != 0]
    for number, pause in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 0.5)):
        for pid in same:
            try:
                os.killpg(pid, number)
            except (ProcessLookupError, PermissionError):
                continue
        if same:
            time.sleep(pause)
    file.unlink(missing_ok=True)


def started_at(pid: int) -> int:
    """When a process began, in clock ticks since boot: with the pid it names a process for good. 0 if there is none."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[19])


def _adopt_orphans() -> None:
    """What a killed child leaves becomes ours, so that its dead do not stay in the process table."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _bury_orphans(own: set[int]) -> None:
    """Collect the exit of dead processes that are not our own children (these have their Popen)."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(entry.parent.name)
        if fields[0] == "Z" and int(fields[1]) == os.getpid() and pid not in own:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)


def _why_not(child: Child, log: Path) -> str:
    lines = (
        [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        if log.exists()
        else []
    )
    state = "did not become ready" if child.is_alive() else "ended at once"
    return f"{child.process.name} {state}: {lines[-1][:300] if lines else 'it said nothing'} (all of it in {log})"
