"""`manage.py render`: what the form would preview, or errors by field and exit status 2."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import call_command
from ruamel.yaml import YAML

from slipway.request import Provisioning
from tests.requests import request
from webapp.accounts.models import Team, User
from webapp.clusters.models import Cluster
from webapp.workloads import actions, code
from webapp.workloads.models import Attempt, Workload

REQUEST = """
version: 1
name: from-a-file
team: research
kind: job
shape: {generation: v6e, topology: 4x4}
provisioning: spot
slices: 1
entrypoint: python main.py
script: |
  print("hello")
runtime_env:
  pip: [optax==0.2.5]
  env_vars: {STEPS: "30"}
max_run_seconds: 1800
retries: 1
"""


def render(tmp_path: Path, text: str, *options: str) -> tuple[str, str, int]:
    file = tmp_path / "request.yaml"
    file.write_text(text)
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("render", str(file), *options, stdout=out, stderr=err)
    except SystemExit as exc:
        return out.getvalue(), err.getvalue(), int(exc.code or 0)
    return out.getvalue(), err.getvalue(), 0


def test_render_of_a_stored_workload_is_what_will_be_applied(
    tmp_path: Path, research: Team, cluster: Cluster, dev: User
) -> None:
    bundle = code.bundle_from_script('print("hello")\n')
    asked = request(
        name="from-a-file",
        provisioning=Provisioning.SPOT,
        code=bundle.ref(),
        pip=("optax==0.2.5",),
        env=(("STEPS", "30"),),
        max_run_seconds=1800,
        retries=1,
    )
    actions.submit(by=dev, team=research, request=asked, bundle=bundle, uid="abcd2345")
    out, err, status = render(tmp_path, REQUEST, "--id", "abcd2345", "--owner", "dev")
    assert (err, status) == ("", 0)
    assert YAML(typ="safe").load(out) == Attempt.objects.get().manifest


def test_render_stores_nothing(tmp_path: Path, research: Team, cluster: Cluster) -> None:
    out, _, status = render(tmp_path, REQUEST)
    assert status == 0
    assert "kind: RayJob" in out
    assert Workload.objects.count() == 0


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        (("topology: 4x4", "topology: 3x5"), "topology", "4x4"),
        (("slices: 1", "slices: 0"), "slices", "1"),
        (("slices: 1", "slices: 1000000000"), "slices", "256"),
        (("slices: 1", "slices: many"), "slices", ""),
        (("team: research", "team: nobody"), "team", "research"),
        (("retries: 1", "retries: 1\nsurprise: 2"), "surprise", ""),
        (("version: 1", "version: 7"), "version", "1"),
        (("version: 1", "version: [1"), "file", "line"),
        (("spot", "lottery"), "provisioning", "flex-start"),
        (("name: from-a-file", "name: " + "n" * 300), "name", "63"),
    ],
)
def test_errors_go_to_stderr_by_field_with_status_2(
    tmp_path: Path, research: Team, cluster: Cluster, change: tuple[str, str], field: str, says: str
) -> None:
    out, err, status = render(tmp_path, REQUEST.replace(*change))
    assert (out, status) == ("", 2)
    line = next(line for line in err.splitlines() if field in line.split(":")[0])
    assert says in line


def test_a_bomb_of_aliases_is_refused_at_once(
    tmp_path: Path, research: Team, cluster: Cluster
) -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{after}: &{after} [{','.join(['*' + before] * 9)}]\n"
        for before, after in zip("abcdefgh", "bcdefghi", strict=True)
    )
    out, err, status = render(tmp_path, bomb)
    assert (out, status) == ("", 2)
    assert "alias" in err


@pytest.mark.parametrize(
    "text", ["", "[]", "just words", "- 1", "\t", "!!python/object:os.system x", "a: " + "[" * 5000]
)
def test_what_is_no_request_is_refused_in_words(
    tmp_path: Path, research: Team, cluster: Cluster, text: str
) -> None:
    out, err, status = render(tmp_path, text)
    assert (out, status) == ("", 2)
    assert err.strip()
