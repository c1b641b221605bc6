"""Make docs/screenshots: every page, wide and narrow, light and dark. `python -m tests.browser.screenshots`"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS, sign_in
from tests.product import Product, running

OUT = Path(__file__).parents[2] / "docs" / "screenshots"
WIDTHS, THEMES = (1440, 360), ("light", "dark")
TITLES = {
    "sign-in": "Sign in",
    "list-empty": "Workloads, before the first",
    "list": "Workloads",
    "new-job": "New job from a template, with its plan",
    "new-job-errors": "New job, refused",
    "detail-waiting": "A workload that waits for a host",
    "detail-running": "A workload that runs",
    "detail": "A workload that succeeded",
    "classes": "Compute classes",
    "class-edit": "A compute class",
    "style-guide": "Style guide",
    "not-found": "Not found",
}
WAITS = "import time; time.sleep(600)"


def shoot(
    browser: Browser,
    product: Product,
    name: str,
    address: str,
    prepare: Callable[[Page], None] | None = None,
) -> None:
    for width in WIDTHS:
        for theme in THEMES:
            context = browser.new_context(
                base_url=product.url,
                viewport={"width": width, "height": 900 if width > 600 else 740},
                color_scheme=theme,
                reduced_motion="reduce",
            )
            page = context.new_page()
            if name != "sign-in":
                sign_in(page, product, "ada" if name == "class-edit" else "dev")
            page.goto(address)
            if prepare:
                prepare(page)
            page.wait_for_timeout(500)
            page.screenshot(path=OUT / f"{name}-{width}-{theme}.png", full_page=True)
            context.close()


def refuse(page: Page) -> None:
    page.get_by_label("Topology").fill("3x5")
    page.get_by_label("Slices", exact=True).fill("0")
    page.get_by_role("button", name="Submit job").click()
    page.get_by_text("This job is not submitted yet").wait_for()


def waiting(browser: Browser, product: Product) -> None:
    """With five hosts in the cluster a second slice of four lacks three."""
    person = product.session()
    first = person.submit(script=WAITS, name="first come", topology="4x4", machine_type="")
    person.until(first, "running")
    second = person.submit(script=WAITS, name="second in line", topology="4x4", machine_type="")
    person.until(second, "waiting")
    deadline = time.monotonic() + 60
    while (
        "Insufficient" not in person.status(second)["reason"]["sentence"]
        and time.monotonic() < deadline
    ):
        time.sleep(0.5)
    time.sleep(15)
    shoot(browser, product, "detail-waiting", f"/w/{second}/")
    for uid in (second, first):
        person.stop(uid)
        person.until(uid, "stopped", seconds=30)


def example(browser: Browser, product: Product) -> None:
    person = product.session()
    uid = person.submit("jax-spmd", env="STEPS=400")
    person.until(uid, "running")
    deadline = time.monotonic() + 90
    while "step" not in person.log(uid) and time.monotonic() < deadline:
        time.sleep(0.5)
    shoot(browser, product, "detail-running", f"/w/{uid}/")
    person.until(uid, "succeeded")
    shoot(browser, product, "detail", f"/w/{uid}/")
    shoot(browser, product, "list", "/")


def page_of_all() -> str:
    lines = ["# Every page", "", "Made by `python -m tests.browser.screenshots`."]
    for name, title in TITLES.items():
        lines += ["", f"## {title}", ""]
        lines += [
            f"![{title}, {width} px, {theme}]({name}-{width}-{theme}.png)"
            for width in WIDTHS
            for theme in THEMES
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        running(Path(folder) / "var", max_hosts=5) as product,
    ):
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        shoot(browser, product, "sign-in", "/accounts/sign-in/")
        shoot(browser, product, "list-empty", "/")
        shoot(browser, product, "new-job", "/t/research/new/?template=jax-spmd")
        shoot(browser, product, "new-job-errors", "/t/research/new/?template=jax-spmd", refuse)
        shoot(browser, product, "classes", "/classes/")
        shoot(browser, product, "class-edit", "/classes/v6e-16-thrifty/")
        shoot(browser, product, "style-guide", "/ui/")
        shoot(browser, product, "not-found", "/w/aaaaaaaa/")
        waiting(browser, product)
        example(browser, product)
    (OUT / "README.md").write_text(page_of_all())


if __name__ == "__main__":
    main()
