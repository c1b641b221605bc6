"""One loopback address per pod: 127.<state dir>.<cluster>.<pod>.

All of 127.0.0.0/8 is up on Linux. The second part comes from the state directory, so that two devclusters on
one machine seldom meet; the third is the RayCluster's, the fourth counts its pods and is not given again
while it is in use.
"""

from __future__ import annotations

import threading

FIRST_NET, NETS = 20, 200
CLUSTERS, PODS = 254, 254


class NoAddress(Exception):
    """More live clusters or pods than there are addresses."""


class Addresses:
    def __init__(self, seed: int) -> None:
        self._net = FIRST_NET + seed % NETS
        self._lock = threading.Lock()
        self._clusters: dict[str, int] = {}
        self._next: dict[str, int] = {}
        self._taken: dict[str, tuple[str, str]] = {}  # pod uid -> (cluster, address)

    def take(self, pod_uid: str, cluster: str) -> str:
        """The pod's address; the same one each time until `free`. NoAddress when all are in use."""
        with self._lock:
            if pod_uid in self._taken:
                return self._taken[pod_uid][1]
            if cluster not in self._clusters:
                used = set(self._clusters.values())
                free = next((n for n in range(1, CLUSTERS + 1) if n not in used), None)
                if free is None:
                    raise NoAddress(f"{CLUSTERS} Ray clusters are live; delete one first.")
                self._clusters[cluster] = free
            third = self._clusters[cluster]
            in_use = {address for _, address in self._taken.values()}
            for _ in range(PODS):
                number = self._next.get(cluster, 0) % PODS + 1
                self._next[cluster] = number
                address = f"127.{self._net}.{third}.{number}"
                if address not in in_use:
                    self._taken[pod_uid] = (cluster, address)
                    return address
        raise NoAddress(f"Cluster {cluster} has {PODS} live pods; that is the most here.")

    def free(self, pod_uid: str) -> None:
        with self._lock:
            cluster, _ = self._taken.pop(pod_uid, ("", ""))
            if cluster and all(owner != cluster for owner, _ in self._taken.values()):
                self._clusters.pop(cluster, None)
                self._next.pop(cluster, None)
