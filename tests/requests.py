"""Requests as plain values: a possible one, with one thing changed per call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from slipway.request import CodeRef, Provisioning, WorkloadRequest


def request(**changes: Any) -> WorkloadRequest:
    plain = WorkloadRequest(
        name="train",
        team="research",
        kind="job",
        compute_class=None,
        generation="v6e",
        topology="4x4",
        machine_type=None,
        provisioning=Provisioning.ON_DEMAND,
        reservation=None,
        slices=1,
        entrypoint="python main.py",
        code=CodeRef("0" * 64, 100, ("main.py",)),
        pip=(),
        env=(),
        max_run_seconds=3600,
        retries=0,
    )
    return replace(plain, **changes)
