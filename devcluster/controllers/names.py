"""Names, labels and sizes that KubeRay, the TPU webhook and GKE use, each once."""

from __future__ import annotations

import re
import secrets

TPU = "google.com/tpu"
ACCELERATOR = "cloud.google.com/gke-tpu-accelerator"
TOPOLOGY = "cloud.google.com/gke-tpu-topology"
COMPUTE_CLASS = "cloud.google.com/compute-class"

CLUSTER = "ray.io/cluster"
NODE_TYPE = "ray.io/node-type"
GROUP = "ray.io/group"
IDENTIFIER = "ray.io/identifier"
REPLICA_INDEX = "ray.io/worker-group-replica-index"
REPLICA_NAME = "ray.io/worker-group-replica-name"
HOST_INDEX = "ray.io/replica-host-index"
ORIGIN_NAME = "ray.io/originated-from-cr-name"
ORIGIN_KIND = "ray.io/originated-from-crd"
SUBMISSION_MODE = "ray.io/job-submission-mode"
RAYJOB_FINALIZER = "ray.io/rayjob-finalizer"
HEAD_GROUP = "headgroup"

MAX_RAYJOB_NAME = 47
MAX_RAYCLUSTER_NAME = 53
MAX_GENERATED_PREFIX = 50
CLUSTER_DOMAIN = "cluster.local"

# Without any declared port the head gets all of these; with one, only what is declared plus metrics.
DEFAULT_HEAD_PORTS = {
    "client": 10001,
    "gcs-server": 6379,
    "dashboard": 8265,
    "metrics": 8080,
    "serve": 8000,
}

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_SUFFIX_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def is_dns_1035(name: str) -> bool:
    return len(name) <= 63 and _DNS_1035.fullmatch(name) is not None


def suffix() -> str:
    """Five random characters, as Kubernetes' rand.String gives."""
    return "".join(secrets.choice(_SUFFIX_ALPHABET) for _ in range(5))


def check_name(name: str) -> str:
    """KubeRay's CheckName: the last 50 characters, never starting with a digit or a dash."""
    if len(name) > MAX_GENERATED_PREFIX:
        name = name[-MAX_GENERATED_PREFIX:]
    if name and (name[0].isdigit() or name[0] == "-"):
        name = "r" + name[1:]
    return name


def pod_prefix(text: str) -> str:
    """The front of a generated pod name, cut as KubeRay's PodName cuts it."""
    return check_name(text[:MAX_GENERATED_PREFIX])


def head_service(owner: str) -> str:
    """`<cluster>-head-svc`, or `<rayjob>-head-svc`."""
    return check_name(f"{owner}-head-svc")


def headless_service(cluster: str) -> str:
    return f"{cluster}-headless"
