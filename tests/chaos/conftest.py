from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.product import Product, running


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full", action="store_true", help="kill every process in every state (about 15 minutes)"
    )


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    with running(tmp_path_factory.mktemp("var")) as product:
        yield product
