"""docker-compose.yml against the settings, the launcher and the image: no container engine runs where tests do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from launcher import processes

ROOT = Path(__file__).parents[2]
OURS = ("migrate", "web", "worker", "scheduler", "watcher")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def variables_of_settings() -> set[str]:
    return set(re.findall(r'"(SLIPWAY_[A-Z_]+)"', (ROOT / "webapp" / "settings.py").read_text()))


def test_every_variable_that_is_given_is_read_and_every_required_one_is_given(
    services: dict[str, Any],
) -> None:
    required = set(
        re.findall(
            r'required\(\s*"(SLIPWAY_[A-Z_]+)"', (ROOT / "webapp" / "settings.py").read_text()
        )
    )
    for name in OURS:
        given = set(services[name]["environment"])
        assert given <= variables_of_settings()
        assert required <= given


def test_the_commands_are_the_supervisors(services: dict[str, Any]) -> None:
    for name, command in (
        ("web", processes.WEB),
        ("worker", processes.WORKER),
        ("scheduler", processes.SCHEDULER),
        ("watcher", processes.WATCHER),
    ):
        assert tuple(services[name]["command"][: len(command)]) == command


def test_the_image_starts_the_web_by_itself() -> None:
    last = (ROOT / "Dockerfile").read_text().strip().splitlines()[-1]
    assert last.startswith("CMD")
    assert all(f'"{word}"' in last for word in processes.WEB)


def test_no_secret_stands_in_the_file(services: dict[str, Any]) -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    for name in ("SLIPWAY_SECRET_KEY", "SLIPWAY_ENCRYPTION_KEYS", "POSTGRES_PASSWORD"):
        for value in re.findall(rf"{name}: +(.+)", text):
            assert value.startswith("${" + name + ":?")
    assert re.search(r"postgres://slipway:\$\{POSTGRES_PASSWORD:\?", text)


def test_env_example_lists_what_compose_asks_for_and_holds_no_secret() -> None:
    asked = set(
        re.findall(r"\$\{((?:SLIPWAY|POSTGRES)_[A-Z_]+)", (ROOT / "docker-compose.yml").read_text())
    )
    rows = dict(
        line.split("=", 1)
        for line in (ROOT / ".env.example").read_text().splitlines()
        if line and not line.startswith("#")
    )
    assert asked == set(rows)
    assert not any(rows[name] for name in rows if "KEY" in name or "PASSWORD" in name)


def test_every_service_is_watched_and_ours_run_without_rights(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert name == "migrate" or "healthcheck" in service
    for name in OURS:
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
    assert re.search(r"^USER slipway$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)


def test_only_the_web_is_reachable_and_only_from_this_machine(services: dict[str, Any]) -> None:
    assert {
        name: service.get("ports") for name, service in services.items() if service.get("ports")
    } == {"web": ["127.0.0.1:8000:8000"]}


def test_what_the_image_copies_exists() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert copied
    assert all((ROOT / place).exists() for place in copied)


def production_env(**changes: str) -> dict[str, str]:
    keys = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("SLIPWAY_", "DJANGO_"))
    }
    return {
        **keys,
        "SLIPWAY_STATE_DIR": "/nonexistent",
        "SLIPWAY_SECRET_KEY": "a-long-key-for-the-check-" + "abcdefghijk0123456789" * 3,
        "SLIPWAY_ENCRYPTION_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        "SLIPWAY_BROKER_URL": "redis://valkey:6379/0",
        "SLIPWAY_DATABASE_URL": "postgres://slipway:x@postgres:5432/slipway",
        "SLIPWAY_ALLOWED_HOSTS": "slipway.example.com",
        "SLIPWAY_HTTPS": "1",
        **changes,
    }


def manage(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT, env=production_env(**changes), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_check_deploy_is_clean_with_production_settings() -> None:
    done = manage("check", "--deploy", "--fail-level", "WARNING")
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout


@pytest.mark.parametrize(
    "name", ["SLIPWAY_SECRET_KEY", "SLIPWAY_ENCRYPTION_KEYS", "SLIPWAY_BROKER_URL"]
)
def test_a_missing_variable_stops_the_start_by_name(name: str) -> None:
    done = manage("check", **{name: ""})
    assert done.returncode != 0
    assert f"{name} is not set" in done.stderr
