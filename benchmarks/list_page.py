"""How much the list of workloads costs beside the query that it needs: `python -m benchmarks.list_page [rows]`.

Both are measured in the same run on the same database, so the ratio means something on any machine.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
os.environ["SLIPWAY_STATE_DIR"] = tempfile.mkdtemp(prefix="slipway-benchmark-")

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

from tests.factories import a_workload  # noqa: E402
from webapp.accounts.models import Membership, Team, User  # noqa: E402
from webapp.clusters.models import Cluster  # noqa: E402
from webapp.workloads.models import Attempt, Workload  # noqa: E402

ROUNDS = 30


def fill(rows: int) -> User:
    """One workload through the front door, and copies of it for the rest."""
    call_command("migrate", verbosity=0)
    team = Team.objects.create(slug="research", name="Research", namespace="team-research")
    dev = User.objects.create_user("dev")
    Membership.objects.create(user=dev, team=team)
    Cluster.objects.create(slug="c", title="c", kubeconfig_file="/nonexistent")
    first = a_workload(by=dev, team=team)
    attempt = first.attempts.get()
    copies = []
    for number in range(rows - 1):
        copy = Workload.objects.get(pk=first.pk)
        copy.pk, copy.uid, copy.name = (
            None,
            f"b{number:07d}".translate(str.maketrans("01", "xy")),
            f"job {number}",
        )
        copies.append(copy)
    made = Workload.objects.bulk_create(copies, batch_size=500)
    attempts = []
    for workload in made:
        copy_of_attempt = Attempt()
        for field in Attempt._meta.concrete_fields:
            setattr(copy_of_attempt, field.attname, getattr(attempt, field.attname))
        copy_of_attempt.pk, copy_of_attempt.workload, copy_of_attempt.object_name = (
            None,
            workload,
            f"job-{workload.uid}-1",
        )
        attempts.append(copy_of_attempt)
    Attempt.objects.bulk_create(attempts, batch_size=500)
    return dev


def median_ms(call: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    dev = fill(rows)
    client = Client(headers={"host": "localhost"})
    client.force_login(dev)
    assert client.get("/").status_code == 200
    query = median_ms(lambda: list(Workload.objects.visible_to(dev).for_list()[:25]))
    page = median_ms(lambda: client.get("/"))
    found = median_ms(lambda: client.get("/?text=job+42&state=live&order=name"))
    print(f"{rows} workloads, medians of {ROUNDS}")
    print(f"  the query of one page   {query:7.1f} ms")
    print(f"  the page                {page:7.1f} ms   {page / query:.1f} x the query")
    print(f"  the page, filtered      {found:7.1f} ms   {found / query:.1f} x the query")


if __name__ == "__main__":
    main()
