"""Gateways for a cluster row, made once per process."""

from __future__ import annotations

import hmac
from functools import lru_cache
from pathlib import Path

from django.conf import settings

from webapp.clusters.models import Cluster
from webapp.workloads.models import Attempt
from workers.gateways.kube import KubeGateway
from workers.gateways.ray import RayGateway
from workers.gateways.transport import Transport


def kube_for(cluster: Cluster) -> KubeGateway:
    """Raises Unreachable when the cluster's credentials cannot be used."""
    return KubeGateway(_transport(cluster))


def ray_for(attempt: Attempt, ray_cluster: str) -> RayGateway:
    return RayGateway(
        _transport(attempt.workload.cluster),
        namespace=attempt.namespace,
        service=f"{ray_cluster}-head-svc",
        token=ray_token(attempt.object_name),
    )


def ray_token(object_name: str) -> str:
    """The token of one attempt's Ray cluster: derived, so that it is stored nowhere on our side."""
    key = settings.SECRET_KEY.encode()
    return hmac.new(key, f"ray-token:{object_name}".encode(), "sha256").hexdigest()


def _transport(cluster: Cluster) -> Transport:
    file = cluster.kubeconfig_file
    # A rewritten kubeconfig (new port, new token) gets a new client.
    changed = Path(file).stat().st_mtime_ns if file and Path(file).exists() else 0
    return _cached(file, cluster.kubeconfig(), cluster.kubeconfig_context, changed)


@lru_cache(maxsize=32)
def _cached(file: str, text: str, context: str, changed: int) -> Transport:
    return Transport(kubeconfig_file=file, kubeconfig=text, context=context)
