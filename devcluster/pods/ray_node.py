"""One real Ray node: a thread that starts it, waits until Ray counts it in, watches it, ends it."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from devcluster.clock import Clock
from devcluster.pods import processes
from devcluster.pods.base import Launch, Sight, Stage
from devcluster.pods.processes import Ledger, Record
from devcluster.pods.ray_command import Head, command, environment

START_TIMEOUT_S = 90.0
START_TRIES = 3
PROBE_S = 0.5
WATCH_S = 0.5
_log = logging.getLogger(__name__)


class RayNode:
    """`head` gives the head once it may be joined (a head pod: itself); None means not yet."""

    def __init__(
        self,
        launch: Launch,
        *,
        clock: Clock,
        python: str,
        temp_dir: Path,
        log: Path,
        ledger: Ledger,
        record: Record,
        slots: threading.Semaphore,
        head: Callable[[], Head | None],
        is_head: bool,
        changed: Callable[[tuple[str, str]], None],
    ) -> None:
        self.launch = launch
        self.is_head = is_head
        self.sight = Sight(Stage.STARTING)
        self.record = record
        self._clock = clock
        self._python = python
        self._temp_dir = temp_dir
        self._log_path = log
        self._ledger = ledger
        self._slots = slots
        self._head = head
        self._changed = changed
        self._stop = threading.Event()
        self._grace_s = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.thread = threading.Thread(target=self._run, name=f"pod-{launch.key[1]}", daemon=True)
        self.thread.start()

    def stop(self, grace_s: float) -> None:
        self._grace_s = grace_s
        self._stop.set()

    @property
    def is_ended(self) -> bool:
        return not self.thread.is_alive()

    def _run(self) -> None:
        try:
            self._live()
        except Exception as exc:  # noqa: BLE001 - shown as the pod's failure
            _log.exception("%s/%s", *self.launch.key)
            self._exit(1, f"devcluster could not run this pod: {exc}")
        finally:
            if self._end_processes(self._grace_s):
                self._ledger.drop(self.record.uid)
            threading.Thread(target=self._tell_end, daemon=True).start()

    def _end_processes(self, grace_s: float) -> bool:
        left = processes.end([self.record], grace_s=grace_s)
        if left:
            _log.error("%s: processes %s can't be ended", self.record.pod, left)
        elif self._process is not None:
            self._process.wait(timeout=5)
            processes.has_been_waited_for(self._process.pid)
        shutil.rmtree(self._temp_dir, ignore_errors=True)
        return not left

    def _tell_end(self) -> None:
        self.thread.join()
        self._changed(self.launch.key)

    def _live(self) -> None:
        while (head := self._head()) is None:
            if self._stop.wait(PROBE_S):
                return
        for attempt in range(1, START_TRIES + 1):
            if not self._take_slot():
                return
            try:
                process = self._spawn(head, attempt)
                problem = self._until_ready(process, head)
            finally:
                self._slots.release()
            if self._stop.is_set():
                return
            if problem is None:
                self._watch(process)
                return
            self._say(f"start {attempt} of {START_TRIES} failed: {problem}")
            self._end_processes(0.0)
        self._exit(1, f"Ray did not start: {problem}")

    def _take_slot(self) -> bool:
        """Wait for a turn to start; False when told to stop meanwhile."""
        while not self._stop.is_set():
            if self._slots.acquire(timeout=PROBE_S):
                return True
        return False

    def _spawn(self, head: Head, attempt: int) -> subprocess.Popen[bytes]:
        arguments = command(self._python, self.launch, head, self._temp_dir)
        self._temp_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._ledger.write(self.record)
        if attempt == 1:
            self._say("an emulated host: a real Ray node on CPU, no TPU chip is here")
        with self._log_path.open("ab") as log:
            process = subprocess.Popen(
                arguments,
                env=environment(self._python, self.launch, head, self.record.mark),
                cwd=self._temp_dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        processes.starts(process.pid)
        self._process = process
        seen = processes.look(process.pid)
        ticks = seen.start_ticks if seen else 0
        self.record = replace(self.record, pid=process.pid, start_ticks=ticks)
        self._ledger.write(self.record)
        self.sight = Sight(Stage.RUNNING, started_at=self._clock.now())
        self._changed(self.launch.key)
        return process

    def _until_ready(self, process: subprocess.Popen[bytes], head: Head) -> str | None:
        """Wait until Ray counts the node in. What went wrong, or None when it is ready (or stopped)."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self._stop.wait(PROBE_S):
            code = process.poll()
            if code is not None:
                return f"ray start ended with exit code {code}"
            if self._is_counted_in(head):
                self.sight = replace(self.sight, stage=Stage.READY)
                self._changed(self.launch.key)
                return None
            if time.monotonic() > deadline:
                return f"not ready after {START_TIMEOUT_S:.0f} s"
        return None

    def _is_counted_in(self, head: Head) -> bool:
        path = "/api/version" if self.is_head else "/api/v0/nodes?limit=1000"
        request = urllib.request.Request(
            f"http://{head.ip}:{head.dashboard_port}{path}",
            headers={"X-Ray-Authorization": f"Bearer {head.token}"} if head.token else {},
        )
        try:
            with self._opener.open(request, timeout=5) as response:
                answer = json.loads(response.read())
        except (OSError, ValueError):
            return False
        if self.is_head:
            return "ray_version" in answer
        rows = ((answer.get("data") or {}).get("result") or {}).get("result") or []
        return any(
            row.get("node_ip") == self.launch.ip and row.get("state") == "ALIVE" for row in rows
        )

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        while not self._stop.wait(WATCH_S):
            code = process.poll()
            if code is not None:
                self._exit(code if code >= 0 else 128 - code, "")
                return

    def _exit(self, code: int, message: str) -> None:
        self.sight = Sight(
            Stage.EXITED,
            started_at=self.sight.started_at,
            finished_at=self._clock.now(),
            # ray start --block leaves with 0 when its raylet was asked to go; a node that goes by itself has failed.
            exit_code=code or 1,
            message=message,
        )
        self._changed(self.launch.key)

    def _say(self, text: str) -> None:
        with self._log_path.open("ab") as log:
            log.write(f"devcluster: {text}\n".encode())
