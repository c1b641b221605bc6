"""`make test`: everything that CI runs, step by step, each with its seconds."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from dataclasses import dataclass

from launcher import install
from launcher.errors import Stop
from launcher.places import ROOT, VENV

CODE = (
    "slipway",
    "webapp",
    "workers",
    "devcluster",
    "launcher",
    "tests",
    "examples",
    "manage.py",
    "benchmarks",
)


@dataclass(frozen=True)
class Check:
    name: str
    command: tuple[str, ...]


def _checks() -> tuple[Check, ...]:
    code = tuple(place for place in CODE if (ROOT / place).exists())
    return (
        Check("lint", ("ruff", "check", "--quiet", *code)),
        Check("format", ("ruff", "format", "--check", "--quiet", *code)),
        Check("directions", ("lint-imports",)),
        Check("types", ("mypy",)),
        Check("migrations", ("python", "manage.py", "makemigrations", "--check", "--settings=tests.settings")),
        Check("tests", ("pytest", "-q", "-n", "2", "--dist", "loadfile", "-m", SELF_CONTAINED, "--durations=5")),
        Check("real Ray", ("pytest", "-q", "-m", "ray and not browser", "--durations=5")),
        Check("browser", ("pytest", "-q", "-m", "browser", "--durations=5")),
    )  # fmt: skip


SELF_CONTAINED = "not ray and not browser"
NAMES = ("lint", "format", "directions", "types", "migrations", "tests", "real Ray", "browser")


def run(only: list[str]) -> int:
    """Run the steps, all of them even after a failure, and say which failed."""
    unknown = [name for name in only if name not in NAMES]
    if unknown:
        raise Stop(f"There is no step {unknown[0]!r}. Steps are {', '.join(NAMES)}.")
    install.install(install.DEV)
    if not shutil.which("chromium") and not os.environ.get("SLIPWAY_CHROMIUM"):
        if os.environ.get("SLIPWAY_REQUIRE_BROWSER") == "1":
            raise Stop(
                "There is no chromium, and SLIPWAY_REQUIRE_BROWSER=1. Install it: apt-get install chromium"
            )
        print(
            "  Browser tests are skipped: there is no chromium. Install it: apt-get install chromium"
        )
    failed = [
        check.name for check in _checks() if (not only or check.name in only) and not _passes(check)
    ]
    print(f"\nFailed: {', '.join(failed)}" if failed else "\nAll passed.", flush=True)
    return 1 if failed else 0


def _passes(check: Check) -> bool:
    print(f"\n== {check.name}", flush=True)
    began = time.monotonic()
    program, *arguments = check.command
    env = os.environ | {"PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    code = subprocess.run(
        [str(VENV / "bin" / program), *arguments], cwd=ROOT, env=env, check=False
    ).returncode
    print(
        f"== {check.name}: {'passed' if code == 0 else f'failed ({code})'}, {time.monotonic() - began:.0f} s",
        flush=True,
    )
    return code == 0
