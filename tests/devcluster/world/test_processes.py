"""Real processes, none of them Ray's: what belongs to a pod is found and ended whatever it does to hide."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from devcluster.pods import processes
from devcluster.pods.processes import MARK, Ledger, Record

# A leader, a child in its group, a child in a session of its own, and one that wiped its environment as agents do.
TREE = """
import os, subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(60)"]
subprocess.Popen(sleep)
subprocess.Popen(sleep, start_new_session=True)
subprocess.Popen([*sleep, "ray::Agent"], env={"PATH": "/usr/bin:/bin"})
print("up", flush=True)
time.sleep(60)
"""


@pytest.fixture
def tree(tmp_path):
    ledger = Ledger(tmp_path / "pods")
    mark = f"test/{os.getpid()}-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [sys.executable, "-c", TREE],
        env={**os.environ, MARK: mark},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout.readline() == b"up\n"
    record = Record(
        uid="u1",
        pod="default/p",
        mark=mark,
        boot_id=processes.boot_id(),
        pid=process.pid,
        start_ticks=processes.look(process.pid).start_ticks,
        temp_dir=str(tmp_path),
    )
    ledger.write(record)
    yield ledger, record
    processes.end([record], grace_s=0)
    process.wait(5)
    process.stdout.close()


def test_every_process_of_the_pod_is_found(tree):
    _, record = tree
    assert len(processes.members(record)) == 4


def test_ending_the_pod_leaves_none(tree):
    ledger, _ = tree
    [record] = ledger.all()
    assert processes.end([record], grace_s=0.2) == []
    assert processes.members(record) == []


def test_a_leader_that_died_is_not_needed_to_find_the_rest(tree):
    _, record = tree
    os.kill(record.pid, 9)
    os.waitpid(record.pid, 0)
    assert len(processes.members(record)) == 3


def test_marked_processes_are_found_before_their_number_is_known(tree):
    _, record = tree
    unborn = replace(record, pid=0, start_ticks=0)
    assert len(processes.members(unborn)) == 3


def test_a_stranger_with_the_same_number_is_left_alone(tree):
    _, record = tree
    stranger = replace(record, mark="test/other", start_ticks=record.start_ticks - 1)
    assert processes.members(stranger) == []
    assert processes.members(replace(record, mark="test/other", boot_id="another boot")) == []


def test_a_broken_record_is_passed_over(tmp_path):
    ledger = Ledger(tmp_path)
    (tmp_path / "torn.json").write_text("{")
    assert ledger.all() == []
