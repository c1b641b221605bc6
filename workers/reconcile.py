"""Cluster against database: what is ours and should not be there any more.

The other way round, rows whose RayJob vanished, is seen by the watcher's lists.
"""

from __future__ import annotations

import logging

from django.conf import settings

from slipway.naming import ATTEMPT_LABEL, INSTANCE_LABEL, WORKLOAD_LABEL
from webapp.clusters.models import Cluster
from webapp.workloads.models import Attempt
from workers.connections import kube_for
from workers.drive import put_token_back
from workers.gateways.errors import GatewayError
from workers.gateways.kube import KubeGateway, Object

log = logging.getLogger(__name__)

KINDS = ("RayJob", "ConfigMap", "Secret")


def reconcile() -> None:
    for cluster in Cluster.objects.all():
        try:
            remove_leftovers(kube_for(cluster))
        except GatewayError as exc:
            log.warning("Cluster %s is not reconciled: %s", cluster.slug, exc)


def remove_leftovers(kube: KubeGateway) -> None:
    """Delete objects of attempts that are over: a driver that was cut off may have created one after the end.

    Objects of attempts that this database does not know are left alone and reported: it may be a restored one.
    """
    for kind in KINDS:
        for obj in kube.list(kind, selector=f"{INSTANCE_LABEL}={settings.INSTANCE}").items:
            attempt = _attempt_of(obj)
            metadata = obj["metadata"]
            name = f"{metadata['namespace']}/{metadata['name']}"
            if attempt is None:
                log.warning("%s %s carries our label but no attempt here made it.", kind, name)
            elif attempt.ended_at is not None and _may_go(kube, kind, attempt):
                log.warning("%s %s outlived its attempt; deleting it.", kind, name)
                ours = {INSTANCE_LABEL: settings.INSTANCE}
                if kind == "RayJob":
                    put_token_back(attempt, kube)
                kube.delete(kind, metadata["namespace"], metadata["name"], owner_labels=ours)


def _may_go(kube: KubeGateway, kind: str, attempt: Attempt) -> bool:
    """What a RayJob needs goes after it: KubeRay cannot end the job without its token."""
    if kind == "RayJob":
        return True
    return kube.get("RayJob", attempt.namespace, attempt.object_name) is None


def _attempt_of(obj: Object) -> Attempt | None:
    labels = obj["metadata"].get("labels", {})
    number = labels.get(ATTEMPT_LABEL, "")
    if not number.isdecimal():
        return None
    return Attempt.objects.filter(
        workload__uid=labels.get(WORKLOAD_LABEL, ""), number=int(number)
    ).first()
