"""A Ray that runs nothing: the Job API of a simulated head, its jobs scripted by time or by a test."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from devcluster.clock import Clock

Object = dict[str, Any]

TERMINAL = ("STOPPED", "SUCCEEDED", "FAILED")
MESSAGES = {
    "PENDING": "Job has not started yet.",
    "RUNNING": "Job is currently running.",
    "STOPPED": "Job was intentionally stopped.",
    "SUCCEEDED": "Job finished successfully.",
    "FAILED": "Job entrypoint command failed with exit code 1, last available logs "
    "(truncated to 20,000 chars):\n",
}


@dataclass(frozen=True)
class Script:
    """What a job does by itself, in seconds after its submission. `run_s` None: it runs until told otherwise."""

    pending_s: float = 0.0
    run_s: float | None = None
    log: str = "simulated job, nothing is computed\n"


@dataclass
class SimJob:
    entrypoint: str
    submitted_at: datetime
    log: bytes
    metadata: dict[str, str] = field(default_factory=dict)
    runtime_env: Object = field(default_factory=dict)
    told_status: str | None = None
    told_message: str | None = None
    ended_at: datetime | None = None


class SimRay:
    """The jobs of one simulated head. Thread-safe."""

    def __init__(
        self,
        clock: Clock,
        script: Script,
        *,
        token: str | None,
        node_ip: str,
        node_id: str,
        nodes: Callable[[], list[Object]],
    ) -> None:
        self._clock = clock
        self._script = script
        self._lock = threading.RLock()
        self._jobs: dict[str, SimJob] = {}
        self.token = token
        self.node_ip = node_ip
        self.node_id = node_id
        self.nodes = nodes

    def submit(self, request: Object) -> str:
        """The submission id. ValueError when a job of that id is already there."""
        job_id = str(request.get("submission_id") or f"raysubmit_{len(self._jobs)}")
        with self._lock:
            if job_id in self._jobs:
                raise ValueError(f"Job with submission_id {job_id} already exists.")
            self._jobs[job_id] = SimJob(
                entrypoint=str(request.get("entrypoint", "")),
                submitted_at=self._clock.now(),
                log=self._script.log.encode(),
                metadata=request.get("metadata") or {},
                runtime_env=request.get("runtime_env") or {},
            )
        return job_id

    def stop(self, job_id: str) -> bool | None:
        """None for an unknown job, False for one that has ended."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                return None
            if self._status(job) in TERMINAL:
                return False
            self._end(job, "STOPPED", None)
            return True

    def tell(self, job_id: str, status: str | None, message: str | None, log: str | None) -> bool:
        """A test's word on a job. False when the job is unknown here."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                return False
            if log is not None:
                job.log += log.encode()
            if status in TERMINAL:
                self._end(job, status, message)
            elif status is not None:
                job.told_status, job.told_message = status, message
            return True

    def log(self, job_id: str) -> bytes | None:
        with self._lock:
            job = self._jobs.get(job_id)
            return None if job is None else job.log

    def ids(self) -> list[str]:
        with self._lock:
            return list(self._jobs)

    def view(self, job_id: str) -> Object | None:
        """The job as GET /api/jobs/<id> shows it."""
        with self._lock:
            job = self._jobs.get(job_id)
            if job is None:
                return None
            status = self._status(job)
            started = _ms(job.submitted_at)
            return {
                "type": "SUBMISSION",
                "job_id": None,
                "submission_id": job_id,
                "driver_info": {"id": "01000000", "node_ip_address": self.node_ip, "pid": "1"},
                "driver_node_id": self.node_id,
                "status": status,
                "entrypoint": job.entrypoint,
                "message": job.told_message or MESSAGES[status],
                "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR" if status == "FAILED" else None,
                "start_time": started,
                "end_time": _ms(job.ended_at) if job.ended_at else None,
                "metadata": job.metadata,
                "runtime_env": job.runtime_env,
                "driver_exit_code": {"SUCCEEDED": 0, "FAILED": 1}.get(status),
            }

    def _status(self, job: SimJob) -> str:
        if job.told_status is not None:
            return job.told_status
        age = (self._clock.now() - job.submitted_at).total_seconds()
        if age < self._script.pending_s:
            return "PENDING"
        if self._script.run_s is None or age < self._script.pending_s + self._script.run_s:
            return "RUNNING"
        self._end(job, "SUCCEEDED", None)
        return "SUCCEEDED"

    def _end(self, job: SimJob, status: str, message: str | None) -> None:
        job.told_status, job.told_message = status, message
        job.ended_at = self._clock.now()


def _ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)
