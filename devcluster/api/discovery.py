"""What the server offers, in the two forms that clients ask for.

Group by group, and all at once.
"""

from __future__ import annotations

from typing import Any

from devcluster.resources import RESOURCES, Resource

VERSION = {
    "major": "1",
    "minor": "33",
    "gitVersion": "v1.33.0-devcluster",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
# Subresources besides status, with the kind they speak and their verbs.
_EXTRA: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "pods": (("log", "Pod", ("get",)),),
    "services": (("proxy", "ServiceProxyOptions", ("create", "delete", "get", "patch", "update")),),
}
_STATUS_VERBS = ("get", "patch", "update")


def groups() -> list[str]:
    """Named API groups in the order of the resources."""
    return list(dict.fromkeys(r.group for r in RESOURCES if r.group))


def _versions(group: str) -> list[str]:
    return list(dict.fromkeys(r.version for r in RESOURCES if r.group == group))


def of_version(group: str, version: str) -> list[Resource]:
    return [r for r in RESOURCES if (r.group, r.version) == (group, version)]


def subresources(resource: Resource) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    status = (("status", resource.kind, _STATUS_VERBS),) if resource.has_status else ()
    return (*status, *_EXTRA.get(resource.plural, ()))


def core_versions(address: str) -> dict[str, Any]:
    where = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": where}


def group_list() -> dict[str, Any]:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group(g) for g in groups()]}


def group(name: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{name}/{v}", "version": v} for v in _versions(name)]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": name,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def resource_list(group_name: str, version: str) -> dict[str, Any] | None:
    """None for a version that is not served."""
    found = of_version(group_name, version)
    if not found:
        return None
    rows: list[dict[str, Any]] = []
    for resource in found:
        row: dict[str, Any] = {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": list(resource.verbs),
        }
        if resource.short_names:
            row["shortNames"] = list(resource.short_names)
        if resource.categories:
            row["categories"] = list(resource.categories)
        rows.append(row)
        rows.extend(
            {
                "name": f"{resource.plural}/{name}",
                "singularName": "",
                "namespaced": resource.namespaced,
                "kind": kind,
                "verbs": list(verbs),
            }
            for name, kind, verbs in subresources(resource)
        )
    version_name = f"{group_name}/{version}" if group_name else version
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version_name}
    return {**head, "resources": rows}


def aggregated(names: list[str], schema_version: str) -> dict[str, Any]:
    """`apidiscovery.k8s.io`: every group with its versions and resources in one answer."""
    items = []
    for name in names:
        versions = [
            {
                "version": version,
                "resources": [_aggregated_resource(r) for r in of_version(name, version)],
                "freshness": "Current",
            }
            for version in _versions(name)
        ]
        metadata: dict[str, Any] = {"creationTimestamp": None, **({"name": name} if name else {})}
        items.append({"metadata": metadata, "versions": versions})
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{schema_version}",
        "metadata": {},
        "items": items,
    }


def _aggregated_resource(resource: Resource) -> dict[str, Any]:
    row: dict[str, Any] = {
        "resource": resource.plural,
        "responseKind": _gvk(resource, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        row["shortNames"] = list(resource.short_names)
    if resource.categories:
        row["categories"] = list(resource.categories)
    below = [
        {"subresource": name, "responseKind": _gvk(resource, kind), "verbs": list(verbs)}
        for name, kind, verbs in subresources(resource)
    ]
    if below:
        row["subresources"] = below
    return row


def _gvk(resource: Resource, kind: str) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": kind}
