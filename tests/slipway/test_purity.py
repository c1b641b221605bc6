"""The domain imports the standard library and itself, and nothing that reaches outside."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "slipway"
FORBIDDEN = {"socket", "urllib", "http", "subprocess", "threading", "asyncio", "time", "random"}


@pytest.mark.parametrize(
    "file", sorted(ROOT.rglob("*.py")), ids=lambda file: str(file.relative_to(ROOT))
)
def test_only_the_standard_library(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            assert top == "slipway" or top in sys.stdlib_module_names, name
            assert top not in FORBIDDEN, name
