"""Ray's HTTP API of all simulated heads: one loopback port per head, one thread for all of them."""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from devcluster.pods.sim_ray import TERMINAL, SimRay

FOLLOW_S = 0.05
RAY_VERSION = "2.60.0"


class SimServer:
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._lock = threading.Lock()
        self._listeners: dict[str, socket.socket] = {}
        self._closed = threading.Event()
        self._wake_in, self._wake_out = socket.socketpair()
        self._selector.register(self._wake_out, selectors.EVENT_READ, None)
        self._thread: threading.Thread | None = None

    def open(self, uid: str, ray: SimRay) -> int:
        """Serve `ray`; the port on 127.0.0.1."""
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        with self._lock:
            self._listeners[uid] = listener
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="sim-ray", daemon=True)
                self._thread.start()
        self._selector.register(listener, selectors.EVENT_READ, ray)
        self._wake_in.send(b".")
        return int(listener.getsockname()[1])

    def close(self, uid: str) -> None:
        with self._lock:
            listener = self._listeners.pop(uid, None)
        if listener is not None:
            with contextlib.suppress(KeyError):
                self._selector.unregister(listener)
            listener.close()

    def shut_down(self) -> None:
        for uid in list(self._listeners):
            self.close(uid)
        self._closed.set()
        self._wake_in.send(b".")
        if self._thread is not None:
            self._thread.join(2)
        self._selector.close()
        self._wake_in.close()
        self._wake_out.close()

    def _serve(self) -> None:
        while not self._closed.is_set():
            for key, _ in self._selector.select():
                if key.data is None:
                    self._wake_out.recv(64)
                    continue
                with contextlib.suppress(OSError):  # closed meanwhile
                    connection, peer = key.fileobj.accept()  # type: ignore[union-attr]
                    connection.setblocking(True)
                    threading.Thread(
                        target=_answer, args=(connection, peer, key.data), daemon=True
                    ).start()


def _answer(connection: socket.socket, peer: Any, ray: SimRay) -> None:
    with contextlib.suppress(OSError), connection:
        _Handler(connection, peer, ray)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def __init__(self, connection: socket.socket, peer: Any, ray: SimRay) -> None:
        self._ray = ray
        super().__init__(connection, peer, None)  # type: ignore[arg-type]

    def log_message(self, format: str, *args: Any) -> None:
        return

    def do_GET(self) -> None:
        if not self._may_pass():
            return
        url = urlsplit(self.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        match parts:
            case ["api", "version"]:
                self._json({"version": "4", "ray_version": RAY_VERSION, "ray_commit": "simulated"})
            case ["api", "v0", "nodes"]:
                nodes = self._ray.nodes()
                self._json({"result": True, "data": {"result": {"result": nodes}}})
            case ["api", "v0", "logs", media]:
                self._log(parse_qs(url.query), follow=media == "stream")
            case ["api", "jobs"]:
                self._json([self._ray.view(job_id) for job_id in self._ray.ids()])
            case ["api", "jobs", job_id]:
                view = self._ray.view(job_id)
                self._no_job(job_id) if view is None else self._json(view)
            case ["api", "jobs", job_id, "logs"]:
                log = self._ray.log(job_id)
                if log is None:
                    self._no_job(job_id)
                else:
                    self._json({"logs": log.decode(errors="replace")})
            case _:
                self._text(404, "404: Not Found")

    def do_POST(self) -> None:
        if not self._may_pass():
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        match parts:
            case ["api", "jobs"]:
                try:
                    job_id = self._ray.submit(json.loads(body))
                except ValueError as exc:
                    self._text(500, f"ValueError: {exc}")
                else:
                    self._json({"job_id": job_id, "submission_id": job_id})
            case ["api", "jobs", job_id, "stop"]:
                stopped = self._ray.stop(job_id)
                self._no_job(job_id) if stopped is None else self._json({"stopped": stopped})
            case _:
                self._text(404, "404: Not Found")

    def _may_pass(self) -> bool:
        wanted = self._ray.token
        given = self.headers.get("Authorization") or self.headers.get("X-Ray-Authorization") or ""
        if wanted is None or given == f"Bearer {wanted}":
            return True
        if given:
            self._text(403, "Forbidden: Invalid authentication token")
        else:
            self._text(401, "Unauthorized: Missing authentication token")
        return False

    def _log(self, query: dict[str, list[str]], *, follow: bool) -> None:
        """A driver's log. As in Ray 2.60, a submission id alone is an error: the node must be named too."""
        named = query.get("node_ip", [""])[0], query.get("node_id", [""])[0]
        # An interval is for streams; Ray 2.60 asserts that a file has none.
        if named == ("", "") or ("interval" in query and not follow):
            self._text(500, "500 Internal Server Error\n\nServer got itself in trouble")
            return
        if named[0] != self._ray.node_ip and named[1] != self._ray.node_id:
            self._text(500, f"Given node id {named[1]} or ip {named[0]} is not available.")
            return
        file_name = query.get("filename", [""])[0]
        job_id = query.get("submission_id", [""])[0]
        job_id = job_id or file_name.removeprefix("job-driver-").removesuffix(".log")
        if self._ray.log(job_id) is None:
            self._text(500, f"A file is not found at: logs/job-driver-{job_id}.log")
            return
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Connection", "close")
        self.end_headers()
        sent = 0
        while True:
            view = self._ray.view(job_id)
            log = self._ray.log(job_id) or b""
            self.wfile.write(log[sent:])
            self.wfile.flush()
            sent = len(log)
            if not follow or view is None or view["status"] in TERMINAL:
                return
            time.sleep(FOLLOW_S)

    def _no_job(self, job_id: str) -> None:
        self._text(404, f"Job {job_id} does not exist")

    def _json(self, value: Any) -> None:
        self._send(200, "application/json", json.dumps(value).encode())

    def _text(self, status: int, text: str) -> None:
        self._send(status, "text/plain", text.encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
