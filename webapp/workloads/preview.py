"""What would be applied for a request: the one road to a manifest, for the form, the file and the submit alike."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from ruamel.yaml import YAML

from slipway.catalog import CATALOG
from slipway.compute_class import ComputeClassSpec
from slipway.manifests import manifest_for
from slipway.naming import Target
from slipway.plan import Plan, Rung, plan
from slipway.request import WorkloadRequest
from webapp.accounts.models import Team
from webapp.clusters.models import Cluster


@dataclass(frozen=True)
class Preview:
    plan: Plan
    manifest: dict[str, object]

    @property
    def yaml(self) -> str:
        return as_yaml(self.manifest)


def preview(
    *,
    request: WorkloadRequest,
    team: Team,
    owner: str,
    cluster: Cluster,
    class_spec: ComputeClassSpec | None,
    uid: str,
) -> Preview:
    """The plan and the RayJob of its first attempt. Raises FieldErrors; changes nothing."""
    planned = plan(request, class_spec, CATALOG)
    target = target_for(team=team, owner=owner, cluster=cluster, uid=uid, attempt=1)
    return Preview(planned, manifest_of(planned, planned.rungs[0], target))


def manifest_of(planned: Plan, rung: Rung, target: Target) -> dict[str, object]:
    return manifest_for(planned, rung, target)


def target_for(*, team: Team, owner: str, cluster: Cluster, uid: str, attempt: int) -> Target:
    return Target(
        instance=settings.INSTANCE,
        namespace=team.namespace,
        team=team.slug,
        owner=owner,
        workload_uid=uid,
        attempt=attempt,
        ray_image=cluster.ray_image,
        ray_version=cluster.ray_version,
    )


def as_yaml(mapping: Mapping[str, object]) -> str:
    """YAML with the keys in our order, long text as blocks."""
    dumper = YAML()
    dumper.default_flow_style = False
    dumper.width = 120
    dumper.indent(mapping=2, sequence=4, offset=2)
    out = io.StringIO()
    dumper.dump(mapping, out)
    return out.getvalue()
