"""What a rule is and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from slipway.class_rules.reading import Subject

# error: GKE refuses the class, or would never give what it asks for. warning: GKE takes it, and it is a trap.
Level = Literal["error", "warning"]

CEL = "CRD CEL"
SCHEMA = "CRD schema"
AUTOSCALER = "GKE autoscaler"
DOCUMENTATION = "GKE documentation"
SLIPWAY = "Slipway"

# Path and message of one thing that is wrong.
Problem = tuple[str, str]
Judge = Callable[[Subject], Iterator[Problem]]


@dataclass(frozen=True)
class Finding:
    """`path` is where in the spec, such as "priorities[2].tpu.count"; "" for the class as a whole or its name."""

    rule: str
    level: Level
    path: str
    message: str
    source: str


@dataclass(frozen=True)
class Rule:
    """`cel` is the place of the rule that it stands for among the official CRD's CEL rules, counted from 1.

    They are counted as they stand there, mapping by mapping, each with its rules before those of its fields; the CRD is
    GoogleCloudPlatform/compute-class-api of 2026-08.
    """

    id: str
    level: Level
    source: str
    summary: str
    judge: Judge
    cel: int | None = None

    def findings(self, subject: Subject) -> Iterator[Finding]:
        for path, message in self.judge(subject):
            yield Finding(self.id, self.level, path, message, self.source)


def cel(number: int, id: str, summary: str, judge: Judge) -> Rule:
    return Rule(id, "error", CEL, summary, judge, number)


def error(id: str, source: str, summary: str, judge: Judge) -> Rule:
    return Rule(id, "error", source, summary, judge)


def warning(id: str, source: str, summary: str, judge: Judge) -> Rule:
    return Rule(id, "warning", source, summary, judge)
