"""Which pod answers for a service: selector, readiness, named ports. What kube-proxy and DNS do."""

from __future__ import annotations

from typing import Any

from devcluster.controllers.cluster_status import is_ready
from devcluster.errors import NotFound
from devcluster.objects import is_deleting
from devcluster.resources import PODS, SERVICES
from devcluster.store import Store

Object = dict[str, Any]


def backend(
    store: Store, namespace: str, service: str, port: str | int
) -> tuple[Object, int] | None:
    """A pod behind the service and the pod's port number; None when there is no service, port or running pod.

    `port` is a port's name or number in the service.
    """
    try:
        found = store.get(SERVICES, namespace, service)
    except NotFound:
        return None
    spec = found["spec"]
    number = _target(spec.get("ports") or [], str(port))
    selector = spec.get("selector") or {}
    if number is None or not selector:
        return None
    pods = [pod for pod in store.view(PODS, namespace)[0] if _matches(pod, selector)]
    # Ready ones first; KubeRay's head service publishes the others too.
    pods.sort(key=lambda pod: not is_ready(pod))
    for pod in pods:
        if is_ready(pod) or spec.get("publishNotReadyAddresses"):
            return pod, number
    return None


def _target(ports: list[Object], wanted: str) -> int | None:
    for port in ports:
        if wanted in (port.get("name"), str(port["port"])):
            target = port.get("targetPort") or port["port"]
            return int(str(target)) if str(target).isdigit() else int(port["port"])
    return int(ports[0]["port"]) if not wanted and len(ports) == 1 else None


def _matches(pod: Object, selector: dict[str, str]) -> bool:
    labels = pod["metadata"].get("labels") or {}
    running = (pod.get("status") or {}).get("phase") == "Running"
    has_all = all(labels.get(key) == value for key, value in selector.items())
    return running and has_all and not is_deleting(pod)
