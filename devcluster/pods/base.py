"""What the kubelet and the two kinds of pods say to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

Object = dict[str, Any]
Endpoint = tuple[str, int]


class Stage(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    READY = "ready"
    EXITED = "exited"


@dataclass(frozen=True)
class Sight:
    """How a pod's containers stand. `again_s`: when to look again without being told (None: a call will come)."""

    stage: Stage
    started_at: datetime | None = None
    finished_at: datetime | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    again_s: float | None = None


@dataclass(frozen=True)
class Launch:
    """All that is needed to start a pod. `env` is of its first container, resolved; `cluster` its RayCluster."""

    pod: Object
    ip: str
    env: Mapping[str, str]
    cluster: Object | None
    files: Sequence[tuple[Path, bytes]] = field(default=())

    @property
    def uid(self) -> str:
        return str(self.pod["metadata"]["uid"])

    @property
    def key(self) -> tuple[str, str]:
        return self.pod["metadata"]["namespace"], self.pod["metadata"]["name"]


class CannotStart(Exception):
    """This pod can't run here. `reason` is a container's waiting reason; the text says what is wrong."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Runtime(Protocol):
    """Starts and ends pods. No call blocks; changes are told by the callback that the runtime was made with."""

    def start(self, launch: Launch) -> None:
        """Begin. CannotStart when this pod never can."""

    def sight(self, uid: str) -> Sight | None:
        """None for a pod that was never started, or that has been forgotten."""

    def stop(self, uid: str, grace_s: float) -> None:
        """Begin to end the pod; safe to repeat."""

    def is_ended(self, uid: str) -> bool:
        """Nothing of the pod is left on this machine."""

    def forget(self, uid: str) -> None:
        """Drop what is known of an ended pod, so that it may be started again."""

    def endpoint(self, uid: str, ip: str, port: int) -> Endpoint | None:
        """Where this machine reaches a port of the pod; None while the pod does not run."""

    def close(self, timeout_s: float) -> None:
        """End every pod and wait."""
