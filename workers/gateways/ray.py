"""Ray's Job and log API of one RayCluster, reached through the API server's service proxy.

The proxy needs no route from Slipway to the pods. The API server keeps the Authorization header for itself, so Ray's
token goes in the header that Ray offers for proxies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from workers.gateways.errors import NotFound, Unreachable
from workers.gateways.transport import Transport

# Ray sends what is new in a log this often; also how long a page waits for a line.
FOLLOW_INTERVAL_S = 0.5
# A job may be silent for long; then the follower connects again and goes on where it was.
FOLLOW_SILENCE_S = 60.0


@dataclass(frozen=True)
class Driver:
    """The driver of a job. `run` tells one start of the job from another under the same id."""

    submission_id: str
    node_id: str
    run: str


class RayGateway:
    """`service` is `<cluster>-head-svc`; `token` is what the cluster's auth Secret holds."""

    def __init__(self, transport: Transport, *, namespace: str, service: str, token: str) -> None:
        self._http = transport
        self._base = f"/api/v1/namespaces/{namespace}/services/{service}:dashboard/proxy"
        self._headers = {"X-Ray-Authorization": f"Bearer {token}"}

    def job(self, submission_id: str) -> dict[str, Any] | None:
        """Ray's own record of the job, or None when this cluster never had it."""
        try:
            found = self._http.json(
                "GET", f"{self._base}/api/jobs/{quote(submission_id)}", headers=self._headers
            )
        except NotFound:
            return None
        return found if isinstance(found, dict) else None

    def driver(self, submission_id: str) -> Driver:
        """Where the job's driver runs. Raises NotFound before there is one."""
        job = self.job(submission_id)
        if job is None or not job.get("driver_node_id"):
            raise NotFound(f"Ray has no driver of job {submission_id} yet.")
        return Driver(submission_id, str(job["driver_node_id"]), str(job.get("start_time") or ""))

    def read_log(self, driver: Driver) -> Iterator[bytes]:
        """The whole driver log as it is now, in pieces."""
        return self._log("file", driver, silence_s=15)

    def follow_log(self, driver: Driver) -> Iterator[bytes]:
        """The driver log from its beginning, then what is added. Ends when the line is silent or cut."""
        return self._log("stream", driver, silence_s=FOLLOW_SILENCE_S)

    def _log(self, media: str, driver: Driver, *, silence_s: float) -> Iterator[bytes]:
        from urllib3.exceptions import HTTPError

        query = {
            # Ray 2.60 answers 500 to a submission id alone: it wants to be told the node.
            "node_id": driver.node_id,
            "filename": f"job-driver-{driver.submission_id}.log",
            "lines": "-1",
            "timeout": "10",
        }
        if media == "stream":
            # With a file Ray answers 500 to it.
            query["interval"] = str(FOLLOW_INTERVAL_S)
        with self._http.open(
            "GET",
            f"{self._base}/api/v0/logs/{media}",
            query=query,
            headers=self._headers,
            read_timeout_s=silence_s,
        ) as response:
            try:
                yield from response.stream(65536)
            except (HTTPError, OSError) as exc:
                raise Unreachable(f"The log broke off: {exc}") from exc
