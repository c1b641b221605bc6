"""A container's environment as the kubelet resolves it: values, references, `$(NAME)`."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from devcluster.errors import NotFound
from devcluster.pods.base import CannotStart
from devcluster.resources import CONFIGMAPS, SECRETS, Resource
from devcluster.store import Store

Object = dict[str, Any]

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_METADATA_MAP = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")


def resolve(store: Store, pod: Object, container: Object, ip: str, host_ip: str) -> dict[str, str]:
    """Name to value. CannotStart (CreateContainerConfigError) when a Secret, ConfigMap or key is missing."""
    namespace = pod["metadata"]["namespace"]
    found: dict[str, str] = {}
    for source in container.get("envFrom") or []:
        prefix = source.get("prefix", "")
        for field, resource in (("configMapRef", CONFIGMAPS), ("secretRef", SECRETS)):
            if reference := source.get(field):
                for key, value in _data(store, resource, namespace, reference).items():
                    found[prefix + key] = value
    for entry in container.get("env") or []:
        if "valueFrom" in entry:
            value_from = _from_source(store, pod, entry["valueFrom"], ip, host_ip)
            if value_from is not None:
                found[entry["name"]] = value_from
        else:
            found[entry["name"]] = expand(entry.get("value") or "", found)
    return found


def expand(text: str, known: Mapping[str, str]) -> str:
    """`$(NAME)` becomes its value, stays as it is when unknown; `$$` is a dollar."""

    def replace(found: re.Match[str]) -> str:
        if found[1] is None:
            return "$"
        return known.get(found[1], found[0])

    return _REFERENCE.sub(replace, text)


def _from_source(store: Store, pod: Object, source: Object, ip: str, host_ip: str) -> str | None:
    namespace = pod["metadata"]["namespace"]
    for field, resource, kind in (
        ("secretKeyRef", SECRETS, "Secret"),
        ("configMapKeyRef", CONFIGMAPS, "ConfigMap"),
    ):
        if reference := source.get(field):
            data = _data(store, resource, namespace, reference)
            if reference["key"] in data:
                return data[reference["key"]]
            if reference.get("optional"):
                return None
            where = f"{kind} {namespace}/{reference['name']}"
            text = f"couldn't find key {reference['key']} in {where}"
            raise CannotStart("CreateContainerConfigError", text)
    if reference := source.get("fieldRef"):
        return _field(pod, reference["fieldPath"], ip, host_ip)
    return None  # resourceFieldRef: the emulated hosts have no such limits


def _data(store: Store, resource: Resource, namespace: str, reference: Object) -> dict[str, str]:
    try:
        found = store.get(resource, namespace, reference["name"])
    except NotFound as exc:
        if reference.get("optional"):
            return {}
        text = f'{resource.singular} "{reference["name"]}" not found'
        raise CannotStart("CreateContainerConfigError", text) from exc
    data = found.get("data") or {}
    if resource is SECRETS:
        return {
            key: base64.b64decode(value).decode(errors="replace") for key, value in data.items()
        }
    return dict(data)


def _field(pod: Object, path: str, ip: str, host_ip: str) -> str:
    metadata = pod["metadata"]
    if found := _METADATA_MAP.fullmatch(path):
        return str((metadata.get(found[1]) or {}).get(found[2], ""))
    return str(
        {
            "metadata.name": metadata["name"],
            "metadata.namespace": metadata["namespace"],
            "metadata.uid": metadata["uid"],
            "spec.nodeName": pod["spec"].get("nodeName", ""),
            "spec.serviceAccountName": pod["spec"].get("serviceAccountName", "default"),
            "status.podIP": ip,
            "status.podIPs": ip,
            "status.hostIP": host_ip,
            "status.hostIPs": host_ip,
        }.get(path, "")
    )
