"""The whole product as its users start it: `python -m launcher up` with state and ports of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from kubernetes import client, config

from launcher.smoke import FormReader

ROOT = Path(__file__).parents[1]
UP_S, DOWN_S = 90, 60


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class Product:
    state: Path
    max_hosts: int = 16
    ports: dict[str, int] = field(
        default_factory=lambda: {name: free_port() for name in ("WEB", "BROKER", "DEVCLUSTER")}
    )
    process: subprocess.Popen[str] | None = None
    said: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports['WEB']}"

    def start(self) -> None:
        """Returns when it says that it is up; fails with all that it said."""
        env = os.environ | {
            "SLIPWAY_STATE_DIR": str(self.state),
            "SLIPWAY_PORT": str(self.ports["WEB"]),
            "SLIPWAY_BROKER_PORT": str(self.ports["BROKER"]),
            "SLIPWAY_DEVCLUSTER_PORT": str(self.ports["DEVCLUSTER"]),
            "SLIPWAY_MAX_HOSTS": str(self.max_hosts),
        }
        for name in (
            "DJANGO_SETTINGS_MODULE",
            "SLIPWAY_SECRET_KEY",
            "SLIPWAY_ENCRYPTION_KEYS",
            "SLIPWAY_BROKER_URL",
        ):
            env.pop(name, None)
        self.said = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "launcher", "up"],
            cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        threading.Thread(target=self._listen, daemon=True).start()
        until = time.monotonic() + UP_S
        while not any("Slipway is up" in line for line in self.said):
            assert self.process.poll() is None, "".join(self.said)
            assert time.monotonic() < until, "".join(self.said)
            time.sleep(0.1)

    def _listen(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.said += iter(self.process.stdout.readline, "")

    def stop(self, number: int = signal.SIGINT) -> None:
        """Ctrl-C, and nothing is left of it."""
        if self.process is None:
            return
        self.process.send_signal(number)
        assert self.process.wait(DOWN_S) == 0 or number != signal.SIGINT, "".join(self.said)
        self.process = None
        assert self.left() == []

    def left(self) -> list[str]:
        """Command lines of live processes that know this state directory."""
        marks = (
            str(self.state).encode(),
            *(b"127.0.0.1:%d" % port for port in self.ports.values()),
        )
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                text = (place / "environ").read_bytes() + (place / "cmdline").read_bytes()
            except OSError:
                continue
            if int(place.name) != os.getpid() and any(mark in text for mark in marks):
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
        return found

    def children(self) -> dict[str, int]:
        """The pid of each process by name."""
        names = ("broker", "devcluster", "web", "worker", "scheduler", "watcher")
        rows = json.loads((self.state / "run" / "pids.json").read_text())
        return dict(zip(names, (pid for pid, _ in rows), strict=True))

    def password(self, username: str) -> str:
        rows = json.loads((self.state / "sign-ins.json").read_text())
        return next(row["password"] for row in rows if row["username"] == username)

    def kube(self) -> client.ApiClient:
        return config.new_client_from_config(str(self.state / "devcluster" / "kubeconfig"))

    def objects(self, uid: str) -> list[str]:
        """Everything that the cluster still has of one workload."""
        api, custom = client.CoreV1Api(self.kube()), client.CustomObjectsApi(self.kube())
        selector = f"slipway.dev/workload={uid}"
        found = []
        for kind in ("rayjobs", "rayclusters"):
            items = custom.list_cluster_custom_object(
                "ray.io", "v1", kind, label_selector=selector
            )["items"]
            found += [f"{kind}/{item['metadata']['name']}" for item in items]
        for kind, listed in (
            ("pods", api.list_pod_for_all_namespaces),
            ("secrets", api.list_secret_for_all_namespaces),
            ("configmaps", api.list_config_map_for_all_namespaces),
        ):
            found += [
                f"{kind}/{item.metadata.name}" for item in listed(label_selector=selector).items
            ]
        return found

    def session(self, username: str = "dev") -> Session:
        return Session(self, username)


@contextmanager
def running(state: Path, *, max_hosts: int = 16) -> Iterator[Product]:
    """The product, up; whatever happens, it is ended and nothing of it is left."""
    product = Product(state, max_hosts)
    product.start()
    try:
        yield product
    finally:
        product.stop()


class Session:
    """A person at the product, by plain HTTP."""

    def __init__(self, product: Product, username: str) -> None:
        self.http = httpx.Client(base_url=product.url, follow_redirects=True, timeout=20)
        fields = self._form("/accounts/sign-in/", "")
        fields |= {"username": username, "password": product.password(username)}
        assert self.http.post("/accounts/sign-in/", data=fields).status_code == 200

    def submit(self, template: str = "slice-check", **changes: str) -> str:
        """The id of the new workload."""
        fields = self._form(f"/t/research/new/?template={template}", "/submit/") | changes
        answer = self.http.post("/t/research/submit/", data=fields)
        assert answer.status_code == 200, answer.text
        return answer.url.path.split("/")[2]

    def status(self, uid: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/w/{uid}/status.json").json()
        return found

    def stop(self, uid: str) -> None:
        fields = self._form(f"/w/{uid}/", f"/w/{uid}/stop/")
        assert self.http.post(f"/w/{uid}/stop/", data=fields).status_code == 200

    def log(self, uid: str) -> str:
        return self.http.get(f"/w/{uid}/driver.log").text

    def until(self, uid: str, *states: str, seconds: float = 150) -> dict[str, Any]:
        """Waits until the workload is in one of `states`. Answers of a web that is just down are waited for too."""
        deadline, last = time.monotonic() + seconds, None
        while time.monotonic() < deadline:
            try:
                last = self.status(uid)
                if last["state"] in states:
                    return last
            except (httpx.HTTPError, ValueError):
                pass
            time.sleep(0.1)
        raise AssertionError(f"{uid} is not {states} after {seconds} s, but {last}")

    def _form(self, address: str, action: str) -> dict[str, str]:
        reader = FormReader(action)
        reader.feed(self.http.get(address).text)
        return reader.fields
