"""The product as people start it, and a browser whose console must stay silent."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.product import Product, running

CHROMIUM = os.environ.get("SLIPWAY_CHROMIUM") or shutil.which("chromium") or ""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


@pytest.fixture(scope="session")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with running(tmp_path_factory.mktemp("var")) as product:
        yield product


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        if os.environ.get("SLIPWAY_REQUIRE_BROWSER") == "1":
            pytest.fail("There is no chromium, and SLIPWAY_REQUIRE_BROWSER=1.")
        pytest.skip("There is no chromium. Install it: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def context(browser: Browser, product: Product) -> Iterator[BrowserContext]:
    opened = browser.new_context(base_url=product.url, viewport={"width": 1440, "height": 900})
    opened.set_default_timeout(15_000)
    yield opened
    opened.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that fails its test when its console complains, which is also where a broken CSP shows."""
    opened, complaints = context.new_page(), []

    def heard(message: object) -> None:
        if message.type == "error" and "the server responded with a status of" not in message.text:  # type: ignore[attr-defined]
            complaints.append(message.text)  # type: ignore[attr-defined]

    opened.on("console", heard)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    assert complaints == []


def sign_in(page: Page, product: Product, username: str = "dev") -> None:
    page.goto("/accounts/sign-in/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(product.password(username))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Workloads").wait_for()


@pytest.fixture(scope="session")
def axe() -> str:
    return (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
