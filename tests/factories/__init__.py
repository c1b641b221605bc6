"""Rows and requests for tests, with one thing said per call."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from slipway.naming import new_workload_uid
from slipway.request import Provisioning, WorkloadRequest
from webapp.accounts.models import Team, User
from webapp.workloads import actions, code
from webapp.workloads.models import Workload


def a_request(**changes: Any) -> WorkloadRequest:
    """One v6e 4x4 slice that prints hello, with `changes`."""
    request = WorkloadRequest(
        name="hello",
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
        code=None,
        pip=(),
        env=(),
        max_run_seconds=600,
        retries=0,
    )
    return replace(request, **changes)


def a_workload(*, by: User, team: Team, script: str = "print('hello')", **changes: Any) -> Workload:
    bundle = code.bundle_from_script(script)
    request = a_request(team=team.slug, code=bundle.ref(), **changes)
    return actions.submit(
        by=by, team=team, request=request, bundle=bundle, uid=new_workload_uid(os.urandom)
    )
