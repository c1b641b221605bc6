"""What the API server fills in for built-in kinds.

Custom resources have their defaults in the type files.
"""

from __future__ import annotations

import base64
import uuid

from devcluster.objects import Object
from devcluster.resources import PODS, SECRETS, SERVICES, Resource


def fill_defaults(resource: Resource, obj: Object) -> None:
    """In place."""
    if resource is PODS:
        _fill_pod(obj)
    elif resource is SERVICES:
        _fill_service(obj)
    elif resource is SECRETS:
        _fill_secret(obj)


def initial_status(resource: Resource) -> Object | None:
    """The status of a new object of a kind whose controller the API server itself is."""
    return {"phase": "Pending", "qosClass": "BestEffort"} if resource is PODS else None


def _fill_pod(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})
    spec.setdefault("serviceAccountName", "default")
    for container in [*spec.get("initContainers", []), *spec.get("containers", [])]:
        container.setdefault("terminationMessagePath", "/dev/termination-log")
        container.setdefault("terminationMessagePolicy", "File")
        container.setdefault("resources", {})
        image = container.get("image", "")
        is_moving = ":" not in image.rpartition("/")[2] or image.endswith(":latest")
        container.setdefault("imagePullPolicy", "Always" if is_moving else "IfNotPresent")


def _fill_service(obj: Object) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("type", "ClusterIP")
    spec.setdefault("sessionAffinity", "None")
    for port in spec.get("ports", []):
        port.setdefault("targetPort", port.get("port"))
    if spec["type"] != "ExternalName" and "clusterIP" not in spec:
        # Never reached: the service proxy asks the world where a service's pod listens.
        low, high = uuid.uuid4().bytes[:2]
        spec["clusterIP"] = f"10.96.{low}.{high}"
        spec["clusterIPs"] = [spec["clusterIP"]]


def _fill_secret(obj: Object) -> None:
    obj.setdefault("type", "Opaque")
    for key, value in (obj.pop("stringData", None) or {}).items():
        obj.setdefault("data", {})[key] = base64.b64encode(value.encode()).decode()
