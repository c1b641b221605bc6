"""Ray's Job API as KubeRay's operator calls it: is the job there, submit it, stop it."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
Endpoint = tuple[str, int]
FindEndpoint = Callable[[str, str, str], Endpoint | None]  # namespace, service, port name

READ_TIMEOUT_S = 5.0
STOP_TIMEOUT_S = 2.0
# Shorter than Ray's own wait for the head's agent (30 s): a deletion of the RayJob must not wait longer for its turn.
SUBMIT_TIMEOUT_S = 15.0


class RayUnreachable(Exception):
    """The dashboard gave no usable answer; the text says which call and why."""


@dataclass(frozen=True)
class RayJobInfo:
    """`status` is Ray's: PENDING, RUNNING, STOPPED, SUCCEEDED, FAILED. Times are in milliseconds, 0 for none."""

    status: str
    message: str
    start_ms: int
    end_ms: int


class RayApi:
    """One RayCluster's dashboard, found through its head service. Loopback only, never through a proxy."""

    def __init__(
        self, find: FindEndpoint, *, namespace: str, service: str, token: str | None
    ) -> None:
        self._find = find
        self._namespace = namespace
        self._service = service
        self._token = token
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def job(self, job_id: str) -> RayJobInfo | None:
        """None when this cluster does not know the job. RayUnreachable."""
        found = self._call("GET", f"/api/jobs/{urllib.parse.quote(job_id)}", READ_TIMEOUT_S)
        if found is None:
            return None
        return RayJobInfo(
            status=str(found.get("status", "")),
            message=str(found.get("message") or ""),
            start_ms=int(found.get("start_time") or 0),
            end_ms=int(found.get("end_time") or 0),
        )

    def submit(self, request: Object) -> None:
        """Start the job. A time-out may have started it: ask `job` before another try. RayUnreachable."""
        self._call("POST", "/api/jobs/", SUBMIT_TIMEOUT_S, request)

    def stop(self, job_id: str) -> None:
        quoted = urllib.parse.quote(job_id)
        self._call("POST", f"/api/jobs/{quoted}/stop", STOP_TIMEOUT_S, {})

    def _call(
        self, method: str, path: str, timeout_s: float, body: Object | None = None
    ) -> Object | None:
        endpoint = self._find(self._namespace, self._service, "dashboard")
        if endpoint is None:
            raise RayUnreachable(f"{self._service} has no running head pod with a dashboard port")
        url = f"http://{endpoint[0]}:{endpoint[1]}{path}"
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["X-Ray-Authorization"] = f"Bearer {self._token}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=timeout_s) as response:
                answer = json.loads(response.read() or b"{}")
        except urllib.error.HTTPError as exc:
            if exc.code == 404:
                return None
            detail = exc.read(2000).decode(errors="replace").strip()[-500:]
            raise RayUnreachable(f"{method} {url}: {exc.code} {detail}") from exc
        except (OSError, ValueError) as exc:
            raise RayUnreachable(f"{method} {url}: {exc}") from exc
        return answer if isinstance(answer, dict) else {}
