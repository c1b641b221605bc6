"""Every page: accessible, within its width, silent in the console, and readable without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import sign_in
from tests.product import Product

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
HOSTILE = "print('</script><img src=x onerror=alert(1)>\\x1b[31mred\\x1b[0m \\x00 end')\n"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]


@dataclass(frozen=True)
class Made:
    """Workloads that the pages show: one is over, one waits for more hosts than there are."""

    over: str
    waiting: str


@pytest.fixture(scope="module")
def made(product: Product) -> Iterator[Made]:
    person = product.session()
    over = person.submit(
        script=HOSTILE, topology="2x2", machine_type="", name="Größe ✓ " + "long-name-" * 5
    )
    person.until(over, "succeeded", "failed")
    waiting = person.submit(topology="16x16", machine_type="", name="needs 64 hosts")
    person.until(waiting, "waiting")
    yield Made(over, waiting)
    person.stop(waiting)
    person.until(waiting, "stopped", seconds=30)


def pages(made: Made) -> dict[str, str]:
    return {
        "list": "/",
        "list filtered to nothing": "/?text=nothing-like-this",
        "new job": "/t/research/new/",
        "new job from a template": "/t/research/new/?template=jax-spmd",
        "detail of one that is over": f"/w/{made.over}/",
        "detail of one that waits": f"/w/{made.waiting}/",
        "clone": f"/w/{made.over}/clone/",
        "classes": "/classes/",
        "class": "/classes/v6e-16-thrifty/",
        "new class": "/classes/new/",
        "style guide": "/ui/",
        "not found": "/w/aaaaaaaa/",
    }


def violations(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    found = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)["violations"]
    return [
        f"{v['id']}: {v['help']}: {[node['html'][:160] for node in v['nodes']][:4]}" for v in found
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 360])
def test_pages_are_accessible_and_fit(
    browser: Browser, product: Product, made: Made, axe: str, theme: str, width: int
) -> None:
    context = browser.new_context(
        base_url=product.url, viewport={"width": width, "height": 800}, color_scheme=theme, reduced_motion="reduce"
    )  # fmt: skip
    page = context.new_page()
    wrong: dict[str, object] = {}
    page.goto("/accounts/sign-in/")
    wrong["sign-in"] = violations(page, axe)
    sign_in(page, product, "ada")
    for name, address in pages(made).items():
        page.goto(address)
        wrong[name] = violations(page, axe)
        too_wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if too_wide > 0:
            wrong[f"{name} is too wide"] = too_wide
    page.goto("/t/research/new/?template=slice-check")
    page.get_by_label("Topology").fill("3x5")
    page.get_by_role("button", name="Submit job").click()
    page.get_by_text("This job is not submitted yet").wait_for()
    wrong["new job with errors"] = violations(page, axe)
    context.close()
    assert {name: found for name, found in wrong.items() if found} == {}


def test_a_hostile_log_is_text(page: Page, product: Product, made: Made) -> None:
    sign_in(page, product)
    page.goto(f"/w/{made.over}/")
    log = page.locator(".log")
    expect(log).to_contain_text("</script><img src=x onerror=alert(1)>")
    expect(log.locator(".ansi-31")).to_have_text("red")
    assert log.locator("img").count() == 0
    expect(log).to_contain_text("\ufffd end")


def test_everything_is_read_and_submitted_without_javascript(
    browser: Browser, product: Product, made: Made
) -> None:
    context = browser.new_context(base_url=product.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, product)
    page.get_by_role("link", name="Größe").first.click()
    expect(page.locator("#workload-status")).to_contain_text("The job succeeded")
    expect(page.locator(".log")).to_contain_text("<img src=x onerror=alert(1)>")
    page.get_by_role("link", name="Clone").click()
    page.get_by_label("Topology").fill("16x16")
    page.get_by_label("Name", exact=True).fill("without-javascript")
    page.get_by_role("button", name="Submit job").click()
    expect(page.get_by_role("heading", name="without-javascript")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#workload-status .state")).to_have_text("Stopping")
    context.close()
    product.session().until(page.url.rstrip("/").rpartition("/")[2], "stopped", seconds=30)


def test_the_list_filters_as_one_types_and_its_rows_are_live(
    page: Page, product: Product, made: Made
) -> None:
    sign_in(page, product)
    rows = page.locator("#workload-rows")
    page.get_by_label("Text").fill("needs 64")
    expect(rows.locator("tbody tr")).to_have_count(1)
    page.get_by_label("Text").fill("")
    page.get_by_label("Text").press("Enter")
    uid = product.session().submit(topology="16x16", machine_type="", name="appears by itself")
    expect(rows).to_contain_text("appears by itself", timeout=10_000)
    person = product.session()
    person.stop(uid)
    person.until(uid, "stopped", seconds=30)


def test_the_keyboard_reaches_everything(page: Page, product: Product) -> None:
    sign_in(page, product)
    page.goto("/t/research/new/?template=slice-check")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.name === 'script'"):
            page.keyboard.press("Escape")
        reached.add(
            page.evaluate(
                "document.activeElement.name || document.activeElement.textContent.trim()"
            )
        )
    assert {"topology", "slices", "submit", "entrypoint"} <= reached


def test_the_theme_button_is_remembered(page: Page, product: Product) -> None:
    sign_in(page, product)
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.evaluate(ground)
    page.get_by_role("button", name="Theme").click()
    after = page.evaluate(ground)
    assert after != before
    page.reload()
    assert page.evaluate(ground) == after
