"""Pods as real Ray nodes on this machine, one loopback address and one process session each."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import threading
import time
from collections.abc import Callable
from pathlib import Path

from devcluster.clock import Clock
from devcluster.controllers.names import NODE_TYPE
from devcluster.pods import processes
from devcluster.pods.base import CannotStart, Endpoint, Launch, Sight, Stage
from devcluster.pods.logs import LogFiles
from devcluster.pods.processes import Ledger, Record
from devcluster.pods.ray_command import Head, cluster_key, head_of
from devcluster.pods.ray_node import RayNode
from devcluster.pods.volumes import remove_folders

# Starting a node costs seconds of CPU; more at once only makes each slower and lets Ray's own time-outs run out.
STARTS_AT_ONCE = 4
REAP_S = 1.0
_log = logging.getLogger(__name__)


def state_hash(state_dir: Path) -> str:
    """Eight characters that tell this state directory from another on the same machine."""
    return hashlib.sha256(str(state_dir.resolve()).encode()).hexdigest()[:8]


def temp_root(state_dir: Path) -> Path:
    """Short, because Ray puts Unix sockets below it and their paths may have 107 characters."""
    return Path("/tmp") / f"slipway-dc-{os.getuid()}-{state_hash(state_dir)}"  # noqa: S108 - owner checked


def reap(state_dir: Path, *, grace_s: float = 0.0) -> int:
    """End every process that pods of this state directory have left behind. The number of pods that had any."""
    ledger = Ledger(state_dir / "pods")
    records = ledger.all()
    had = sum(1 for record in records if processes.members(record))
    left = processes.end(records, grace_s=grace_s)
    if left:
        raise RuntimeError(
            f"Processes {', '.join(str(p.pid) for p in left)} of former pods can't be ended."
        )
    for record in records:
        remove_folders(Path(folder) for folder in record.folders)
        ledger.drop(record.uid)
    _clear(temp_root(state_dir))
    return had


def _clear(root: Path) -> None:
    if root.is_dir() and not root.is_symlink():
        shutil.rmtree(root, ignore_errors=True)


class RayRuntime:
    def __init__(
        self,
        clock: Clock,
        *,
        state_dir: Path,
        python: str,
        logs: LogFiles,
        changed: Callable[[tuple[str, str]], None],
    ) -> None:
        self._clock = clock
        self._python = python
        self._logs = logs
        self._changed = changed
        self._hash = state_hash(state_dir)
        self._ledger = Ledger(state_dir / "pods")
        self._temp_root = temp_root(state_dir)
        self._slots = threading.Semaphore(STARTS_AT_ONCE)
        self._lock = threading.RLock()
        self._nodes: dict[str, RayNode] = {}
        self._heads: dict[str, tuple[str, Head]] = {}  # cluster uid -> head pod uid, facts
        self._next_dir = 0
        self._closed = threading.Event()
        processes.become_subreaper()
        threading.Thread(target=self._reap_orphans, name="reaper", daemon=True).start()

    def start(self, launch: Launch) -> None:
        labels = launch.pod["metadata"].get("labels") or {}
        is_head = labels.get(NODE_TYPE) == "head"
        cluster = cluster_key(launch)
        self._own_temp_root()
        with self._lock:
            if launch.uid in self._nodes:
                return
            if is_head:
                taken = [
                    port
                    for _, head in self._heads.values()
                    for port in (head.gcs_port, head.client_port)
                ]
                self._heads[cluster] = (launch.uid, head_of(launch, taken))
            self._next_dir += 1
            container = launch.pod["spec"]["containers"][0]["name"]
            self._nodes[launch.uid] = RayNode(
                launch,
                clock=self._clock,
                python=self._python,
                temp_dir=self._temp_root / str(self._next_dir),
                log=self._logs.fresh(launch.uid, container),
                ledger=self._ledger,
                record=self._record(launch),
                slots=self._slots,
                head=lambda: self._head(cluster, launch.uid),
                is_head=is_head,
                changed=self._changed,
            )

    def sight(self, uid: str) -> Sight | None:
        node = self._nodes.get(uid)
        return None if node is None else node.sight

    def stop(self, uid: str, grace_s: float) -> None:
        node = self._nodes.get(uid)
        if node is not None:
            node.stop(grace_s)

    def is_ended(self, uid: str) -> bool:
        node = self._nodes.get(uid)
        return node is None or node.is_ended

    def forget(self, uid: str) -> None:
        with self._lock:
            self._nodes.pop(uid, None)
            for cluster, (head_uid, _) in list(self._heads.items()):
                if head_uid == uid:
                    del self._heads[cluster]

    def endpoint(self, uid: str, ip: str, port: int) -> Endpoint | None:
        node = self._nodes.get(uid)
        if node is None or node.sight.stage not in (Stage.RUNNING, Stage.READY):
            return None
        return ip, port

    def close(self, timeout_s: float) -> None:
        nodes = list(self._nodes.values())
        for node in nodes:
            node.stop(0.0)
        deadline = time.monotonic() + timeout_s
        for node in nodes:
            node.thread.join(max(0.1, deadline - time.monotonic()))
            remove_folders(Path(folder) for folder in node.record.folders)
        self._closed.set()
        processes.adopt_and_reap(patience_s=0.0)
        _clear(self._temp_root)

    def _head(self, cluster: str, own_uid: str) -> Head | None:
        """The head, for itself at once, for others when it is ready: what KubeRay's wait-gcs-ready waits for."""
        with self._lock:
            uid, head = self._heads.get(cluster, ("", None))
            if head is None or uid == own_uid:
                return head
            node = self._nodes.get(uid)
        return head if node is not None and node.sight.stage is Stage.READY else None

    def _record(self, launch: Launch) -> Record:
        return Record(
            uid=launch.uid,
            pod="/".join(launch.key),
            mark=f"{self._hash}/{launch.uid}",
            boot_id=processes.boot_id(),
            pid=0,
            start_ticks=0,
            temp_dir=str(self._temp_root),
            folders=tuple(sorted({str(path.parent) for path, _ in launch.files})),
        )

    def _own_temp_root(self) -> None:
        self._temp_root.mkdir(mode=0o700, exist_ok=True)
        info = self._temp_root.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
            text = f"{self._temp_root} is not a folder of this user. Remove it."
            raise CannotStart("CreateContainerError", text)

    def _reap_orphans(self) -> None:
        while not self._closed.wait(REAP_S):
            processes.adopt_and_reap()
