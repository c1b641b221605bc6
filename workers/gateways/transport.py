"""Signed requests to one API server. The official client brings the credentials; bodies are plain data.

Every call has a time-out. Foreign errors become ours here and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import urllib3

from workers.gateways.errors import Conflict, GatewayError, Gone, NotFound, Refused, Unreachable

CONNECT_TIMEOUT_S = 3.0
READ_TIMEOUT_S = 8.0


class Transport:
    """Credentials and connections for one cluster. Safe to share between threads."""

    def __init__(
        self, *, kubeconfig_file: str = "", kubeconfig: str = "", context: str = ""
    ) -> None:
        # The client takes seconds and tens of megabytes to import, so only who calls a cluster pays.
        from kubernetes import config
        from ruamel.yaml import YAML

        try:
            if kubeconfig:
                self._api = config.new_client_from_config_dict(
                    YAML(typ="safe").load(kubeconfig), context=context or None, persist_config=False
                )
            else:
                self._api = config.new_client_from_config(
                    kubeconfig_file, context=context or None, persist_config=False
                )
        except (config.ConfigException, OSError, ValueError) as exc:
            raise Unreachable(f"The cluster's kubeconfig cannot be used: {exc}") from exc

    def json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> Any:
        """One request, one JSON answer (or text where the server sends none). Raises GatewayError."""
        data = None if body is None else json.dumps(body).encode()
        with self.open(
            method,
            path,
            query=query,
            body=data,
            content_type=content_type,
            headers=headers,
            read_timeout_s=read_timeout_s,
        ) as response:
            with _translated(path):
                raw = response.read()
        text = raw.decode("utf-8", errors="replace")
        if "json" in response.headers.get("content-type", ""):
            try:
                return json.loads(text)
            except ValueError as exc:
                raise Unreachable(f"{path} answered with broken JSON.") from exc
        return text

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
        content_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        read_timeout_s: float = READ_TIMEOUT_S,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """A response to be read piece by piece; the connection ends with the block."""
        url = self._api.configuration.host + path + ("?" + urlencode(query) if query else "")
        all_headers = {
            "Accept": "application/json, */*",
            "User-Agent": "slipway",
            **(headers or {}),
        }
        if body is not None:
            all_headers["Content-Type"] = content_type
        self._api.update_params_for_auth(all_headers, [], ["BearerToken"], path, method, body)
        with _translated(path):
            response = self._api.rest_client.pool_manager.request(
                method,
                url,
                body=body,
                headers=all_headers,
                preload_content=False,
                retries=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=read_timeout_s),
            )
        try:
            if response.status >= 400:
                with _translated(path):
                    text = response.read().decode("utf-8", errors="replace")
                raise _error(response.status, text, path)
            yield response
        finally:
            # Not release_conn: an unfinished stream must not go back into the pool.
            response.close()


@contextmanager
def _translated(path: str) -> Iterator[None]:
    try:
        yield
    except (urllib3.exceptions.HTTPError, OSError) as exc:
        raise Unreachable(f"No answer from {path}: {exc}") from exc


def _error(status: int, text: str, path: str) -> GatewayError:
    reason, message = "", text.strip()[:2000]
    try:
        body = json.loads(text)
        if isinstance(body, dict):
            reason, message = str(body.get("reason", "")), str(body.get("message", message))
    except ValueError:
        pass
    message = message or f"{path} answered {status}."
    if status == 404:
        return NotFound(message)
    if status == 409:
        return Conflict(message)
    if status == 410 or reason == "Expired":
        return Gone(message)
    if status in (408, 429) or status >= 500 or status == 401:
        # 401 counts as trouble, not as a no: tokens expire and are renewed under running workers.
        return Unreachable(message)
    return Refused(message)
