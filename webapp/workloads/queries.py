"""Reads with a purpose."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.workloads.models import Attempt, LogChunk
from webapp.workloads.models.log import DRIVER


@dataclass(frozen=True)
class LogPart:
    """A piece of a log. `next` is where the following piece starts; `end` says that none will follow."""

    text: str
    next: int
    end: bool


def log_part(attempt: Attempt, after: int, limit: int = 256 * 1024) -> LogPart:
    """The driver log from byte `after` on, at most about `limit` bytes, cut at a line where one ends."""
    chunks = LogChunk.objects.filter(
        attempt=attempt, stream=DRIVER, offset__gt=after - 65 * 1024
    ).order_by("offset")
    data = bytearray()
    at = after
    for chunk in chunks.iterator(chunk_size=8):
        piece = bytes(chunk.data)[max(0, at - chunk.offset) :]
        data += piece
        at += len(piece)
        if len(data) >= limit:
            break
    has_more = len(data) >= limit
    is_over = attempt.archived_at is not None or attempt.ended_at is not None
    if has_more or not is_over:
        # Half a line (or half a character) waits for its other half, unless it alone fills a piece.
        cut = data.rfind(b"\n") + 1
        data = data[:cut] if cut or not has_more else data
    # Browsers drop NUL from a page without a trace; what was there is marked instead.
    text = data.decode("utf-8", errors="replace").replace("\x00", "\ufffd")
    return LogPart(text, after + len(data), is_over and not has_more)


def log_bytes(attempt: Attempt) -> list[memoryview]:
    """The whole stored driver log, piece by piece."""
    chunks = LogChunk.objects.filter(attempt=attempt, stream=DRIVER).order_by("offset")
    return [memoryview(chunk.data) for chunk in chunks]
