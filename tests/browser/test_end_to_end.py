"""From the form to a real Ray job and back, as a person sees it."""

from __future__ import annotations

import re
import time

import pytest
import yaml
from playwright.sync_api import Page, expect

from tests.browser.conftest import sign_in
from tests.product import Product

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]
RUN_MS = 180_000


def uid_of(page: Page) -> str:
    return page.url.rstrip("/").rpartition("/")[2]


def test_the_example_runs_over_four_hosts_and_is_watched_live(page: Page, product: Product) -> None:
    sign_in(page, product)
    page.get_by_role("link", name="New job").first.click()
    page.get_by_role("link", name=re.compile("JAX training on one slice")).click()

    plan = page.locator("#plan")
    expect(plan).to_contain_text("v6e 4x4")
    expect(plan.locator(".facts")).to_contain_text(re.compile(r"Hosts\s*4\s*Chips\s*16"))
    expect(plan.locator("svg .host")).to_have_count(4)
    page.get_by_label("Topology").fill("3x5")
    expect(plan).to_contain_text("3x5 is not a v6e topology")
    expect(plan).to_contain_text("4x4 (16 chips)")
    page.get_by_label("Topology").fill("4x4")
    expect(plan.locator("svg .host")).to_have_count(4)
    previewed = yaml.safe_load(plan.locator("#plan-yaml").text_content() or "")

    page.get_by_role("button", name="Submit job").click()
    page.wait_for_url(re.compile(r"/w/[a-z2-7]{8}/$"))
    loaded = page.evaluate("performance.timeOrigin")
    status, slices, log = (
        page.locator("#workload-status"),
        page.locator("#workload-slices"),
        page.locator(".log"),
    )
    applied = yaml.safe_load(page.locator("pre[aria-label='Applied RayJob']").text_content() or "")
    assert applied == previewed

    expect(status).to_contain_text(
        re.compile(r"[0-3] of 4 hosts ready, waiting for host"), timeout=30_000
    )
    expect(status).to_contain_text("Running on 4 hosts of one slice", timeout=RUN_MS)
    expect(slices).to_contain_text("4 of 4 hosts ready")
    expect(log).to_contain_text(
        "Ray sees these slices and workers: {'tpu-0': [0, 1, 2, 3]}", timeout=RUN_MS
    )
    for rank in range(4):
        expect(log).to_contain_text(
            re.compile(rf"rank {rank} of 4: worker \d of slice tpu-0, 4 of 16 devices"),
            timeout=RUN_MS,
        )
    expect(log).to_contain_text("4 processes, 16 devices, 1 slice: done", timeout=RUN_MS)
    expect(status).to_contain_text("The job succeeded.", timeout=RUN_MS)
    expect(status.locator(".state")).to_have_text("Succeeded", timeout=60_000)

    expect(slices).to_contain_text("4 of 4 hosts ran and went back")
    timeline = page.locator("#workload-timeline")
    for source in ("Slipway", "KubeRay", "Scheduler", "Autoscaler", "Kubelet", "Ray"):
        expect(
            timeline.locator(".source", has_text=re.compile(rf"^{source}$")).first
        ).to_be_attached()
    assert page.evaluate("performance.timeOrigin") == loaded, (
        "all of it came without loading the page again"
    )
    assert product.objects(uid_of(page)) == []


@pytest.mark.parametrize("moment", ["Waiting", "Running"])
def test_stop_gives_everything_back_within_half_a_minute(
    page: Page, product: Product, moment: str
) -> None:
    sign_in(page, product)
    page.goto("/t/research/new/?template=slice-check")
    page.get_by_label("Script").fill("import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    page.get_by_role("button", name="Submit job").click()
    status = page.locator("#workload-status")
    expect(status.locator(".state")).to_have_text(moment, timeout=90_000)
    if moment == "Running":
        expect(page.locator(".log")).to_contain_text("here", timeout=30_000)
    began = time.monotonic()
    page.get_by_role("button", name="Stop").click()
    expect(status.locator(".state")).to_have_text("Stopped", timeout=30_000)
    assert time.monotonic() - began < 30
    assert product.objects(uid_of(page)) == []
