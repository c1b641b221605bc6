"""Rows for tests, with one thing said per call."""

from __future__ import annotations

import os
from typing import Any

from slipway.naming import new_workload_uid
from tests.requests import request
from webapp.accounts.models import Team, User
from webapp.workloads import actions, code
from webapp.workloads.models import Workload


def a_workload(*, by: User, team: Team, script: str = "print('hello')", **changes: Any) -> Workload:
    """One v6e 4x4 slice that prints hello, with `changes`, submitted by `by`."""
    bundle = code.bundle_from_script(script)
    asked = request(**{"name": "hello", "team": team.slug, "code": bundle.ref(), **changes})
    return actions.submit(
        by=by, team=team, request=asked, bundle=bundle, uid=new_workload_uid(os.urandom)
    )
