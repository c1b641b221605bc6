from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Reason:
    """`code` is for programs, the rest for people: `evidence` is what was seen, verbatim; `next` what will happen."""

    code: str
    sentence: str
    since: datetime | None
    evidence: tuple[str, ...] = ()
    next: str = ""
