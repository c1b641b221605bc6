"""The `ray start` of one emulated host: arguments and environment."""

from __future__ import annotations

import json
import os
import socket
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster.controllers.cluster_pods import head_ports, ray_resources
from devcluster.controllers.names import GROUP, NODE_TYPE
from devcluster.pods.base import CannotStart, Launch
from devcluster.pods.processes import MARK

Object = dict[str, Any]

# Small enough for sixteen hosts on a laptop; Ray refuses less than 75 MB.
OBJECT_STORE_BYTES = 100_000_000
# A GKE host has 180; Ray would start as many idle workers. Two run a trainer's worker and a task beside it.
CPUS_PER_HOST = 2
FIRST_PORT, PORTS = 20000, 10000
# What a job may need of the caller's environment (pip's index and proxies for runtime_env). Nothing else is handed on:
# devcluster's own environment may hold Slipway's secrets.
_KEPT = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "TZ",
    "USER",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
)
_KEPT_PREFIXES = ("PIP_", "UV_")


@dataclass(frozen=True)
class Head:
    """What workers must know of their head."""

    ip: str
    gcs_port: int
    client_port: int
    dashboard_port: int
    token: str | None


def head_of(launch: Launch, taken: Iterable[int]) -> Head:
    """Ports for a head that is about to start.

    The dashboard has the manifest's port on the pod's own address. Ray's GCS and client server listen beyond
    it (on every address, on 127.0.0.1), where the manifest's ports could serve one head per machine only:
    each head gets its own.
    """
    gcs = _free_port(launch.uid, taken)
    return Head(
        ip=launch.ip,
        gcs_port=gcs,
        client_port=_free_port(launch.uid, [*taken, gcs]),
        dashboard_port=head_ports(_cluster(launch)).get("dashboard", 8265),
        token=launch.env.get("RAY_AUTH_TOKEN"),
    )


def command(python: str, launch: Launch, head: Head, temp_dir: Path) -> list[str]:
    """The argument list. CannotStart when the pod is no Ray node of a known group."""
    labels = launch.pod["metadata"].get("labels") or {}
    is_head = labels.get(NODE_TYPE) == "head"
    group = _group(launch, labels.get(GROUP, ""), is_head)
    params = group.get("rayStartParams") or {}
    arguments = [
        python,
        "-m",
        "ray.scripts.scripts",
        "start",
        "--block",
        "--disable-usage-stats",
        "--log-style=record",
        "--log-color=false",
        f"--temp-dir={temp_dir}",
        f"--node-ip-address={launch.ip}",
        f"--object-store-memory={OBJECT_STORE_BYTES}",
        f"--num-cpus={_cpus(params)}",
        "--min-worker-port=0",
        "--max-worker-port=0",
        # A fixed agent port would be taken on 127.0.0.1 too, by whichever node is first; the others' agents die of it.
        "--dashboard-agent-listen-port=0",
    ]
    if resources := ray_resources(group):
        arguments.append(f"--resources={json.dumps(resources)}")
    if group_labels := group.get("labels"):
        pairs = ",".join(f"{key}={value}" for key, value in sorted(group_labels.items()))
        arguments.append(f"--labels={pairs}")
    if is_head:
        arguments += [
            "--head",
            f"--port={head.gcs_port}",
            "--include-dashboard=true",
            f"--dashboard-host={launch.ip}",
            f"--dashboard-port={head.dashboard_port}",
            f"--ray-client-server-port={head.client_port}",
        ]
    else:
        arguments.append(f"--address={head.ip}:{head.gcs_port}")
    return arguments


def environment(python: str, launch: Launch, head: Head, mark: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_PREFIXES)
    }
    if any(name.lower().endswith("_proxy") for name in kept):
        # Only then: JAX warns of a possible hang wherever it sees one of these set.
        kept["NO_PROXY"] = kept["no_proxy"] = "localhost,127.0.0.0/8"
    folder = str(Path(python).parent)
    return {
        **kept,
        "PATH": f"{folder}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONUNBUFFERED": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        # KubeRay sets it too. Here it also keeps Ray from looking around and finding the neighbours' clusters.
        "RAY_ADDRESS": f"{head.ip}:{head.gcs_port}",
        **launch.env,
        MARK: mark,
    }


def cluster_key(launch: Launch) -> str:
    """Which RayCluster a pod belongs to, by uid. CannotStart for a pod of none."""
    return str(_cluster(launch)["metadata"]["uid"])


def _cluster(launch: Launch) -> Object:
    if launch.cluster is None:
        raise CannotStart(
            "CreateContainerError",
            "devcluster runs the pods of RayClusters only; this pod belongs to none.",
        )
    return launch.cluster


def _group(launch: Launch, name: str, is_head: bool) -> Object:
    spec = _cluster(launch)["spec"]
    if is_head:
        head: Object = spec["headGroupSpec"]
        return head
    for group in spec.get("workerGroupSpecs") or []:
        if group["groupName"] == name:
            found: Object = group
            return found
    raise CannotStart("CreateContainerError", f"the RayCluster has no worker group {name}")


def _cpus(params: Mapping[str, str]) -> int:
    try:
        return min(int(params.get("num-cpus", CPUS_PER_HOST)), CPUS_PER_HOST)
    except ValueError:
        return CPUS_PER_HOST


def _free_port(seed: str, taken: Iterable[int]) -> int:
    """A free port below the ephemeral ones, at a place of its own for each pod, so that two rarely try the same."""
    used = set(taken)
    first = zlib.crc32(seed.encode())
    for step in range(PORTS):
        port = FIRST_PORT + (first + step) % PORTS
        if port not in used and _is_free(port):
            return port
    raise CannotStart("CreateContainerError", f"no port is free from {FIRST_PORT} on")


def _is_free(port: int) -> bool:
    """Nobody listens on it on any address: Ray's servers ask for all of them."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
