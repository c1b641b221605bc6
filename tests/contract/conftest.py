"""The same calls on devcluster and, when SLIPWAY_TEST_KUBECONFIG names one, on a real cluster with KubeRay.

A real cluster gets a namespace of its own that is deleted afterwards. What needs devcluster's doors is marked so.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kubernetes import client, config

from devcluster.testing import DevCluster

REAL = os.environ.get("SLIPWAY_TEST_KUBECONFIG", "")


@dataclass
class Cluster:
    kubeconfig: Path
    namespace: str
    dev: DevCluster | None

    def __post_init__(self) -> None:
        self.api = config.new_client_from_config(str(self.kubeconfig))
        self.core = client.CoreV1Api(self.api)
        self.custom = client.CustomObjectsApi(self.api)

    def settle(self) -> None:
        if self.dev is not None:
            self.dev.settle()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    namespace = f"slipway-contract-{uuid.uuid4().hex[:8]}"
    if REAL:
        real = Cluster(Path(REAL), namespace, None)
        real.core.create_namespace({"metadata": {"name": namespace}})
        yield real
        real.core.delete_namespace(namespace)
        return
    with DevCluster(mode="sim", clock="tick", namespaces=[namespace], max_hosts=64) as dev:
        yield Cluster(dev.kubeconfig_path, namespace, dev)


@pytest.fixture
def dev(cluster: Cluster) -> DevCluster:
    if cluster.dev is None:
        pytest.skip("This needs devcluster's doors, and a real cluster is being tested.")
    return cluster.dev
