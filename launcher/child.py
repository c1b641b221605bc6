"""One child process, with everything that it starts: its own session, so that all of it ends together."""

from __future__ import annotations

import contextlib
import os
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from launcher.processes import Process

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 20.0
# Who lives this long has started well, and may die again without waiting longer.
GOOD_LIFE_S = 30.0


class Child:
    def __init__(self, process: Process, env: dict[str, str], cwd: Path, logs: Path) -> None:
        self.process = process
        self._env, self._cwd, self._log = env, cwd, logs / f"{process.name}.log"
        self._popen: subprocess.Popen[bytes] | None = None
        self._pause = FIRST_PAUSE_S
        self._started = 0.0
        self._due: float | None = None

    @property
    def pid(self) -> int:
        return self._popen.pid if self._popen else 0

    def start(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as out:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "launcher.guard", str(os.getpid()), *self.process.command],
                env=self._env,
                cwd=self._cwd,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._started, self._due = time.monotonic(), None

    def is_alive(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    def is_ready(self) -> bool:
        if not self.process.ready_url:
            return self.is_alive()
        try:
            # Asking our own child on loopback whether it serves; nothing is sent that a stranger could use.
            context = ssl._create_unverified_context()  # noqa: S323
            with urllib.request.urlopen(
                self.process.ready_url, timeout=2, context=context
            ) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError as exc:
            # A server that asks for a token serves.
            return exc.code in (401, 403)
        except OSError:
            return False

    def revive(self) -> str:
        """Start it again when it died, after a growing pause. Returns what happened, "" mostly."""
        if self.is_alive():
            return ""
        now = time.monotonic()
        if self._due is None:
            lived = now - self._started
            self._pause = (
                FIRST_PAUSE_S if lived > GOOD_LIFE_S else min(self._pause * 2, LONGEST_PAUSE_S)
            )
            self._due = now + self._pause
            self.end_group(signal.SIGTERM)
            code = self._popen.returncode if self._popen else "?"
            return f"{self.process.name} ended ({code}); it starts again in {self._pause:.0f} s. See {self._log}"
        if now >= self._due:
            self.end_group(signal.SIGKILL)
            self.start()
            return f"{self.process.name} started again"
        return ""

    def end_group(self, number: int) -> None:
        """Signal everything in the child's session that is still there."""
        if self._popen:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, number)

    def wait(self, seconds: float) -> bool:
        """True when the child itself has ended within this time."""
        if self._popen is None:
            return True
        try:
            self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True
