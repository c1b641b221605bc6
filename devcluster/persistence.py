"""The store's file: one row per object and the last resourceVersion, one transaction per change.

SQLite in WAL mode with synchronous=NORMAL survives the death of the process at any moment (kill
-9); a power cut may lose the last moments, which is fine for a cluster that lives on a laptop.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS object (
    storage TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (storage, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS revision (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    value
INTEGER NOT NULL); INSERT OR IGNORE INTO revision VALUES (1, 1);
"""


@dataclass(frozen=True)
class Write:
    """One object to keep, or to forget when `body` is None."""

    storage: str
    namespace: str
    name: str
    body: dict[str, Any] | None


class Persistence:
    """The caller serialises access (the store's lock).

    The connection is shared between its threads.
    """

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        target = str(path) if path is not None else ":memory:"
        self._connection = sqlite3.connect(target, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.executescript(_SCHEMA)

    def load(self) -> tuple[int, Iterator[Write]]:
        """The last revision and every object."""
        (revision,) = self._connection.execute("SELECT value FROM revision").fetchone()
        rows = self._connection.execute("SELECT storage, namespace, name, body FROM object")
        return int(revision), (Write(s, ns, name, json.loads(body)) for s, ns, name, body in rows)

    def save(self, revision: int, writes: Iterable[Write]) -> None:
        """All of `writes` and the revision, or nothing."""
        cursor = self._connection.cursor()
        cursor.execute("BEGIN IMMEDIATE")
        try:
            for write in writes:
                self._apply(cursor, write)
            cursor.execute("UPDATE revision SET value = ?", (revision,))
            cursor.execute("COMMIT")
        except BaseException:
            cursor.execute("ROLLBACK")
            raise

    def _apply(self, cursor: sqlite3.Cursor, write: Write) -> None:
        key = (write.storage, write.namespace, write.name)
        if write.body is None:
            cursor.execute("DELETE FROM object WHERE (storage, namespace, name) = (?, ?, ?)", key)
        else:
            body = json.dumps(write.body, separators=(",", ":"))
            cursor.execute("INSERT OR REPLACE INTO object VALUES (?, ?, ?, ?)", (*key, body))

    def close(self) -> None:
        self._connection.close()
