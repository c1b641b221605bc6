"""The processes of Ray pods: written down before they start, found again after any crash, ended to the last one.

Ray's processes do not stay together. Workers have process groups of their own, a job's driver a session of
its own, and agents wipe their environment when they set their title. So a process belongs to a pod when its
environment carries the pod's mark, or when it is in the session that the pod's first process made (and is one
of Ray's, not older than that process).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

MARK = "SLIPWAY_DEVCLUSTER_POD"
_PR_SET_CHILD_SUBREAPER = 36
PROC = Path("/proc")


@dataclass(frozen=True)
class Record:
    """One pod's processes. `pid` leads the session (0: about to be started); `start_ticks` is its start since boot."""

    uid: str
    pod: str
    mark: str
    boot_id: str
    pid: int
    start_ticks: int
    temp_dir: str
    folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Process:
    pid: int
    ppid: int
    group: int
    session: int
    start_ticks: int
    is_zombie: bool


def boot_id() -> str:
    """Differs after each boot; process ids of another boot mean nothing."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def look(pid: int) -> Process | None:
    """The process, or None when there is none."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text.rsplit(")", 1)[1].split()
    return Process(
        pid=pid,
        ppid=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        start_ticks=int(fields[19]),
        is_zombie=fields[0] in ("Z", "X"),
    )


def everyone() -> list[Process]:
    found = (look(int(entry.name)) for entry in PROC.iterdir() if entry.name.isdigit())
    return [process for process in found if process is not None]


class Ledger:
    """Records as files, one per pod, so that a new life of devcluster knows what a killed one started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)

    def write(self, record: Record) -> None:
        path = self._folder / f"{record.uid}.json"
        partial = path.with_suffix(".partial")
        with partial.open("w") as out:
            json.dump(asdict(record), out)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(path)

    def drop(self, uid: str) -> None:
        (self._folder / f"{uid}.json").unlink(missing_ok=True)

    def all(self) -> list[Record]:
        records = []
        for path in sorted(self._folder.glob("*.json")):
            with contextlib.suppress(OSError, ValueError, TypeError):
                raw = json.loads(path.read_text())
                records.append(Record(**{**raw, "folders": tuple(raw.get("folders", ()))}))
        return records


def members(record: Record, processes: Iterable[Process] | None = None) -> list[Process]:
    """Living processes of a pod. Never this process itself, whatever its environment says."""
    everybody = everyone() if processes is None else list(processes)
    same_boot = record.boot_id == boot_id()
    leader = look(record.pid) if record.pid else None
    # A leader that started at another time is a stranger who got the number: then so is its whole session.
    session_is_ours = same_boot and record.pid > 0
    if leader is not None and leader.start_ticks != record.start_ticks:
        session_is_ours = False
    found = []
    for process in everybody:
        if process.is_zombie or process.pid == os.getpid():
            continue
        in_session = (
            session_is_ours
            and process.session == record.pid
            and process.start_ticks >= record.start_ticks
            and (process.pid == record.pid or _is_rays(process.pid))
        )
        if in_session or _carries(process.pid, record.mark):
            found.append(process)
    return found


def _carries(pid: int, mark: str) -> bool:
    try:
        environ = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    return f"{MARK}={mark}".encode() in environ.split(b"\0")


def _is_rays(pid: int) -> bool:
    try:
        return b"ray" in (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def signal_group(record: Record, number: int) -> None:
    """Signal the pod's first process group, if its leader is still the process that was started."""
    leader = look(record.pid) if record.pid else None
    if leader is None or leader.start_ticks != record.start_ticks:
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(record.pid, number)


def end(records: list[Record], *, grace_s: float, patience_s: float = 10.0) -> list[Process]:
    """SIGTERM to each group, `grace_s` to leave, then SIGKILL to whatever is left until nothing is.

    Returns what could not be ended within `patience_s`; empty when all is well.
    """
    for record in records:
        signal_group(record, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    left = _all_members(records)
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = _all_members(records)
    deadline = time.monotonic() + patience_s
    while left and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)
        time.sleep(0.05)
        adopt_and_reap()
        left = _all_members(records)
    adopt_and_reap()
    return left


def _all_members(records: list[Record]) -> list[Process]:
    everybody = everyone()
    return list({p.pid: p for record in records for p in members(record, everybody)}.values())


def become_subreaper() -> bool:
    """Orphans of our pods become our children, so that they can be reaped. False where the kernel has no such thing."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return bool(libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def adopt_and_reap(*, patience_s: float = 1.0) -> None:
    """Reap dead children that were adopted.

    A child that this program started itself is left to the code that waits for it: those known by `starts`,
    and any other for `patience_s`.
    """
    now = time.monotonic()
    dead = [p for p in everyone() if p.is_zombie and p.ppid == os.getpid()]
    for pid in set(_first_seen_dead) - {process.pid for process in dead}:
        _first_seen_dead.pop(pid, None)
    for process in dead:
        if process.pid in _started:
            continue
        first = _first_seen_dead.setdefault(process.pid, now)
        if process.session in _started or now - first >= patience_s:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process.pid, os.WNOHANG)


_started: set[int] = set()
_first_seen_dead: dict[int, float] = {}


def starts(pid: int) -> None:
    """`pid` is a child that will be waited for by its starter, and leads a session of a pod."""
    _started.add(pid)


def has_been_waited_for(pid: int) -> None:
    _started.discard(pid)
