"""The API server as an object.

Started in a thread, stopped in seconds even while watches are open.
"""

from __future__ import annotations

import base64
import ipaddress
import json
import socket
import threading
import time
from pathlib import Path

import uvicorn

from devcluster import pki
from devcluster.api.app import Api, WorldDoors
from devcluster.api.faults import Faults
from devcluster.files import write_private
from devcluster.rbac import ADMIN, SLIPWAY, Tokens
from devcluster.store import Store

_START_TIMEOUT_S = 20
_DRAIN_S = 2
_KEEP_ALIVE_S = 75


class CannotServe(Exception):
    """The address can't be used. The message is one line for a person."""


class ApiServer:
    """Serves `store` over TLS on loopback. `port` 0 takes a free one."""

    def __init__(
        self,
        store: Store,
        world: WorldDoors | None,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        state_dir: Path | None = None,
    ) -> None:
        """Tokens and certificate are kept in `state_dir`, so that a kubeconfig outlives restarts."""
        self.host = host
        self.port = port
        self.tokens = Tokens.load(state_dir)
        self._api = Api(store, world, self.tokens)
        self._certificate = pki.for_state_dir(state_dir)
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}"

    @property
    def token(self) -> str:
        """The administrator's."""
        return self.tokens.by_role[ADMIN]

    @property
    def ca_file(self) -> Path:
        """For HTTP clients that verify the server."""
        return self._certificate.certificate

    @property
    def faults(self) -> Faults:
        return self._api.faults

    def start(self) -> None:
        """Bind, serve in a thread, return when requests are answered.

        CannotServe when that fails.
        """
        listener = _bind(self.host, self.port)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self._api.app(),
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="on",
            ws="websockets-sansio",
            ssl_certfile=str(self._certificate.certificate),
            ssl_keyfile=str(self._certificate.key),
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_DRAIN_S,
            server_header=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="devcluster-api", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise CannotServe(f"devcluster's API did not come up on {self.url}.")
            time.sleep(0.002)

    def stop(self, timeout: float = 10) -> None:
        """End the watches, let requests finish for a moment, leave. Safe to call twice."""
        server, thread, hub = self._server, self._thread, self._api.hub
        if server is None or thread is None:
            return
        if hub is not None:
            hub.close_from_outside()
        server.should_exit = True
        deadline = time.monotonic() + timeout
        while thread.is_alive() and time.monotonic() < deadline:
            if hub is not None:
                hub.on_loop(lambda: _drop_idle(server))
            thread.join(0.05)
        self._server = None

    def kubeconfig(self) -> str:
        """Two contexts: `devcluster` for people (current), `slipway` with Slipway's own rights."""
        authority = base64.b64encode(self._certificate.pem()).decode()
        users = {"devcluster": self.tokens.by_role[ADMIN], "slipway": self.tokens.by_role[SLIPWAY]}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "devcluster",
            "clusters": [
                {
                    "name": "devcluster",
                    "cluster": {"server": self.url, "certificate-authority-data": authority},
                }
            ],
            "users": [{"name": name, "user": {"token": token}} for name, token in users.items()],
            "contexts": [
                {"name": name, "context": {"cluster": "devcluster", "user": name}} for name in users
            ],
        }
        return json.dumps(config, indent=2) + "\n"  # JSON is YAML

    def write_kubeconfig(self, path: Path) -> None:
        """Atomically, mode 0600: it holds the administrator's token."""
        write_private(path, self.kubeconfig().encode())


def _drop_idle(server: uvicorn.Server) -> None:
    """Cut connections between two requests: over TLS a polite close waits for a peer that may sleep."""
    for connection in list(server.server_state.connections):
        cycle = getattr(connection, "cycle", ...)
        if cycle is None or getattr(cycle, "response_complete", False):
            connection.transport.abort()


def _bind(host: str, port: int) -> socket.socket:
    """A listening socket on loopback.

    Nothing else is offered, since pods run this machine's programs.
    """
    try:
        is_loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    if not is_loopback:
        raise CannotServe(f"devcluster listens on loopback only; {host} is not. Use 127.0.0.1.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as exc:
        listener.close()
        raise CannotServe(
            f"Port {port} on {host} can't be used ({exc.strerror}). Is another devcluster running? "
            "Stop it or choose another --port."
        ) from exc
    return listener
