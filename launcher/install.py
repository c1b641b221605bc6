"""The virtual environment, from locked and hashed requirements. Done once per lock."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from launcher.errors import Stop
from launcher.places import PYTHON, ROOT, VENV
from launcher.say import step

RUN, DEV = ("run.txt",), ("run.txt", "dev.txt")


def is_installed(locks: tuple[str, ...]) -> bool:
    return all(
        _stamp(lock).exists() and _stamp(lock).read_text() == _digest(lock) for lock in locks
    )


def install(locks: tuple[str, ...]) -> None:
    """Raises Stop with pip's last words."""
    if not PYTHON.exists():
        with step("Making a virtual environment in .venv"):
            _run([sys.executable, "-m", "venv", str(VENV)])
    for lock in locks:
        if is_installed((lock,)):
            continue
        count = sum(
            1 for line in (ROOT / "requirements" / lock).read_text().splitlines() if "==" in line
        )
        with step(
            f"Installing {count} locked packages of requirements/{lock} (once; a minute or two)"
        ):
            _run([
                str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                "--require-hashes", "-r", str(ROOT / "requirements" / lock),
            ])  # fmt: skip
            _stamp(lock).write_text(_digest(lock))


def _stamp(lock: str) -> Path:
    return VENV / f"installed-{lock}"


def _digest(lock: str) -> str:
    return hashlib.sha256((ROOT / "requirements" / lock).read_bytes()).hexdigest()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise Stop(f"{' '.join(command[:4])} failed: {lines[-1] if lines else 'it said nothing'}")
