"""Container logs as files, and reading them the way `kubectl logs` asks."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

PIECE = 64 * 1024
POLL_S = 0.2


class LogFiles:
    """`<root>/<pod uid>/<container>.log`, the life before a restart in `.log.1`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def path(self, uid: str, container: str, *, previous: bool = False) -> Path:
        return self._root / uid / f"{container}.log{'.1' if previous else ''}"

    def fresh(self, uid: str, container: str) -> Path:
        """An empty log for a new start; the old one becomes the previous one."""
        path = self.path(uid, container)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.replace(self.path(uid, container, previous=True))
        path.touch(mode=0o600)
        return path

    def append(self, uid: str, container: str, text: str) -> None:
        path = self.path(uid, container)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as log:
            log.write(text.encode())

    def remove(self, uid: str) -> None:
        shutil.rmtree(self._root / uid, ignore_errors=True)


def read(
    path: Path,
    *,
    follow: bool,
    tail_lines: int | None,
    since: int | None,
    is_live: Callable[[], bool],
) -> Iterator[bytes]:
    """The log in pieces, empty ones while it is silent.

    Lines carry no time here: `since` (seconds ago) gives all or nothing.
    """
    if not path.exists():
        return
    if since is not None and path.stat().st_mtime < time.time() - since and not follow:
        return
    with path.open("rb") as log:
        if tail_lines is not None:
            log.seek(_tail_offset(path, tail_lines))
        while True:
            was_live = is_live() if follow else False
            while piece := log.read(PIECE):
                yield piece
            if not was_live:
                return
            # Says nothing, but lets a reader that has gone be noticed while the log is silent.
            yield b""
            time.sleep(POLL_S)


def _tail_offset(path: Path, lines: int) -> int:
    """Where the last `lines` lines begin, reading from the end."""
    size = path.stat().st_size
    if lines <= 0:
        return size
    with path.open("rb") as log:
        end, seen = size, b""
        while end > 0 and seen.rstrip(b"\n").count(b"\n") < lines:
            start = max(0, end - PIECE)
            log.seek(start)
            seen = log.read(end - start) + seen
            end = start
    kept = seen.splitlines(keepends=True)[-lines:]
    return size - sum(map(len, kept))
