"""The resources devcluster serves.

One row each, everything else (discovery, routes, storage) is made from them.
"""

from __future__ import annotations

from dataclasses import dataclass

ALL_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)
READ_VERBS = ("get", "list", "watch")


@dataclass(frozen=True)
class Resource:
    """One served resource.

    `storage` is the bucket in the store: two versions of one thing share it.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    has_status: bool
    short_names: tuple[str, ...]
    singular: str
    categories: tuple[str, ...] = ()
    has_generation: bool = False
    custom: bool = False
    verbs: tuple[str, ...] = ALL_VERBS

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def storage(self) -> str:
        return "events" if self.plural == "events" else self.qualified

    @property
    def qualified(self) -> str:
        """`rayjobs.ray.io`, `pods`: how the API server names a resource in its messages."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def qualified_kind(self) -> str:
        """`RayJob.ray.io`, `Pod`: how it names a kind in validation messages."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


def _core(plural: str, kind: str, *short: str, status: bool = False, **more: bool) -> Resource:
    return Resource(
        "",
        "v1",
        plural,
        kind,
        more.get("namespaced", True),
        status,
        short,
        kind.lower(),
        categories=("all",) if plural in ("pods", "services") else (),
        has_generation=more.get("generation", False),
    )


def _ray(plural: str, kind: str) -> Resource:
    return Resource(
        "ray.io",
        "v1",
        plural,
        kind,
        True,
        True,
        (),
        kind.lower(),
        categories=("all",),
        has_generation=True,
        custom=True,
    )


NAMESPACES = _core("namespaces", "Namespace", "ns", status=True, namespaced=False)
NODES = _core("nodes", "Node", "no", status=True, namespaced=False)
PODS = _core("pods", "Pod", "po", status=True, generation=True)
SERVICES = _core("services", "Service", "svc", status=True)
CONFIGMAPS = _core("configmaps", "ConfigMap", "cm")
SECRETS = _core("secrets", "Secret")
EVENTS = _core("events", "Event", "ev")
SERVICEACCOUNTS = _core("serviceaccounts", "ServiceAccount", "sa")
EVENTS_V1 = Resource("events.k8s.io", "v1", "events", "Event", True, False, ("ev",), "event")
JOBS = Resource(
    "batch", "v1", "jobs", "Job", True, True, (), "job", categories=("all",), has_generation=True
)
RAYCLUSTERS = _ray("rayclusters", "RayCluster")
RAYJOBS = _ray("rayjobs", "RayJob")
RAYSERVICES = _ray("rayservices", "RayService")
COMPUTECLASSES = Resource(
    "cloud.google.com",
    "v1",
    "computeclasses",
    "ComputeClass",
    False,
    True,
    ("cc", "ccs"),
    "computeclass",
    has_generation=True,
    custom=True,
)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    False,
    True,
    ("crd", "crds"),
    "customresourcedefinition",
    categories=("api-extensions",),
    has_generation=True,
    verbs=READ_VERBS,
)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io",
    "v1",
    "selfsubjectaccessreviews",
    "SelfSubjectAccessReview",
    False,
    False,
    (),
    "selfsubjectaccessreview",
    verbs=("create",),
)

RESOURCES: tuple[Resource, ...] = (
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
    CONFIGMAPS,
    SECRETS,
    EVENTS,
    SERVICEACCOUNTS,
    EVENTS_V1,
    JOBS,
    RAYCLUSTERS,
    RAYJOBS,
    RAYSERVICES,
    COMPUTECLASSES,
    CRDS,
    ACCESS_REVIEWS,
)

_BY_PATH = {(r.group, r.version, r.plural): r for r in RESOURCES}


def find(group: str, version: str, plural: str) -> Resource | None:
    return _BY_PATH.get((group, version, plural))


def by_plural(plural: str) -> Resource:
    """The first resource of that plural (core before any group). KeyError when there is none."""
    for resource in RESOURCES:
        if resource.plural == plural:
            return resource
    raise KeyError(plural)


def by_kind(kind: str, api_version: str | None = None) -> Resource:
    """The resource of a kind, of any version unless one is named. KeyError when there is none."""
    for resource in RESOURCES:
        if resource.kind == kind and api_version in (None, resource.api_version):
            return resource
    raise KeyError(kind)
