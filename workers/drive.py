"""Bring one attempt forward: ask the domain for the next step, do it, write down that it is done.

Safe to run twice and to be killed between any two lines. A claim in the database keeps two drivers of one attempt
apart; it lapses if its driver dies. Nothing here waits for the cluster: what must come true later is seen by the
watcher or the next sweep.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from slipway.catalog import CATALOG
from slipway.lifecycle import Step
from slipway.manifests import companions_for, compute_class_manifest
from slipway.naming import ATTEMPT_LABEL, INSTANCE_LABEL, WORKLOAD_LABEL
from slipway.plan import plan
from webapp.workloads import actions
from webapp.workloads.models import Attempt
from webapp.workloads.preview import target_for
from workers import archive
from workers.connections import kube_for, ray_token
from workers.gateways.errors import Conflict, GatewayError, NotFound, Refused
from workers.gateways.kube import KubeGateway

log = logging.getLogger(__name__)

# Bounds one run; an attempt needs at most apply, archive, remove, confirm, close.
MAX_STEPS = 8


class ClaimLost(Exception):
    """Another driver took over, so this one must not touch the cluster any more."""


def due() -> list[int]:
    """Attempts that may need a driver and have none."""
    due_now: QuerySet[Attempt] = Attempt.objects.due_for_drive(timezone.now())
    return list(due_now.values_list("pk", flat=True)[:500])


def drive(attempt_id: int) -> None:
    token = str(uuid.uuid4())
    if not Attempt.objects.claim(attempt_id, token, timezone.now()):
        return

    def renew() -> None:
        if not Attempt.objects.renew(attempt_id, token, timezone.now()):
            raise ClaimLost

    try:
        for _ in range(MAX_STEPS):
            attempt = Attempt.objects.select_related(
                "workload__team", "workload__owner", "workload__cluster", "workload__code"
            ).get(pk=attempt_id)
            if attempt.ended_at is not None or not _act(attempt, renew):
                break
    except ClaimLost:
        log.warning("Attempt %d was taken over by another driver.", attempt_id)
    except GatewayError as exc:
        log.warning("Attempt %d stays where it is: %s", attempt_id, exc)
        actions.troubled(attempt_id, message=exc.message)
    finally:
        Attempt.objects.release(attempt_id, token)


def _act(attempt: Attempt, renew: Callable[[], None]) -> bool:
    """Do the next step. True when another may follow at once."""
    step = attempt.next_step()
    if step is Step.NOTHING:
        return False
    kube = kube_for(attempt.workload.cluster)
    match step:
        case Step.APPLY:
            return _apply(attempt, kube, renew)
        case Step.ARCHIVE:
            renew()
            return archive.archive(attempt)
        case Step.REMOVE:
            return _remove(attempt, kube, renew)


def _apply(attempt: Attempt, kube: KubeGateway, renew: Callable[[], None]) -> bool:
    """Create the RayJob and what it needs. Our intent is stored before the first call."""
    if not actions.applying(attempt.pk):
        return True
    spec, code = attempt.workload.as_class_spec(), attempt.workload.code
    companions = _companions(attempt, bytes(code.data) if code else None)
    try:
        renew()
        kube.ensure_namespace(attempt.namespace, {INSTANCE_LABEL: settings.INSTANCE})
        if spec is not None:
            kube.apply(compute_class_manifest(spec, CATALOG))
        for companion in companions:
            renew()
            kube.ensure(companion, owner_labels=_labels(attempt))
        renew()
        created = kube.ensure(attempt.manifest, owner_labels=_labels(attempt))
        for companion in companions:
            renew()
            _own(kube, companion, created)
    except NotFound:
        # A companion was taken away between create and patch: the next round makes it again.
        return False
    except (Refused, Conflict) as exc:
        actions.refused(attempt.pk, message=exc.message)
        return True
    actions.applied(attempt.pk, uid=created["metadata"]["uid"])
    return True


def _companions(attempt: Attempt, code_zip: bytes | None) -> list[dict[str, Any]]:
    workload = attempt.workload
    return companions_for(
        plan(workload.as_request(), workload.as_class_spec(), CATALOG),
        target_for(
            team=workload.team,
            owner=workload.owner.username,
            cluster=workload.cluster,
            uid=workload.uid,
            attempt=attempt.number,
        ),
        token=ray_token(attempt.object_name),
        code_zip=code_zip,
    )


def _own(kube: KubeGateway, companion: Mapping[str, object], job: Mapping[str, object]) -> None:
    """Let the cluster remove the companion with the RayJob, even when Slipway is dead by then."""
    metadata = companion["metadata"]
    job_metadata = job["metadata"]
    assert isinstance(metadata, Mapping)
    assert isinstance(job_metadata, Mapping)
    owner = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "name": job_metadata["name"],
        "uid": job_metadata["uid"],
    }
    kube.patch(
        str(companion["kind"]),
        str(metadata["namespace"]),
        str(metadata["name"]),
        {"metadata": {"ownerReferences": [owner]}},
    )


# What an attempt may leave in the cluster.
OURS = ("RayJob", "RayCluster", "ConfigMap", "Secret", "Pod")


def _remove(attempt: Attempt, kube: KubeGateway, renew: Callable[[], None]) -> bool:
    """Delete what is there, and look whether all is gone."""
    ours = _labels(attempt)
    job = "RayJob", attempt.namespace, attempt.object_name
    if kube.get_ours(*job, ours) is not None:
        put_token_back(attempt, kube)
        renew()
        kube.delete(*job, owner_labels=ours)
    if kube.get_ours(*job, ours) is None:
        # Only now: KubeRay needs the token to stop the job, and without it keeps the RayJob for ever.
        for kind, suffix in (("ConfigMap", "-code"), ("Secret", "-auth")):
            renew()
            kube.delete(kind, attempt.namespace, attempt.object_name + suffix, owner_labels=ours)
    if not _is_gone(attempt, kube):
        return False
    renew()
    actions.close(attempt.pk)
    return False


def put_token_back(attempt: Attempt, kube: KubeGateway) -> None:
    """Before a RayJob is deleted: KubeRay cannot end it without its token, and would keep it for ever.

    The token is missing when a driver slept between two calls, and made the RayJob after another had removed the rest.
    """
    [secret] = _companions(attempt, code_zip=None)
    if kube.get("Secret", attempt.namespace, secret["metadata"]["name"]) is None:
        kube.ensure(secret, owner_labels=_labels(attempt))


def _is_gone(attempt: Attempt, kube: KubeGateway) -> bool:
    selector = ",".join(f"{key}={value}" for key, value in _labels(attempt).items())
    return not any(
        kube.list(kind, namespace=attempt.namespace, selector=selector).items for kind in OURS
    )


def _labels(attempt: Attempt) -> dict[str, str]:
    metadata = attempt.manifest["metadata"]
    return {key: metadata["labels"][key] for key in (INSTANCE_LABEL, WORKLOAD_LABEL, ATTEMPT_LABEL)}
