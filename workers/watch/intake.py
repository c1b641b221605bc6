"""From raw objects to `actions.record`: whose they are, and what the domain sees in them."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import datetime

from django.db.models import QuerySet

from slipway.naming import ATTEMPT_LABEL, WORKLOAD_LABEL
from slipway.observe import seen_cluster, seen_event, seen_job, seen_pod
from webapp.clusters.models import Cluster
from webapp.workloads import actions
from webapp.workloads.models import Attempt
from workers.gateways.kube import Object

# Objects made by KubeRay carry our name first: <slug>-<uid>-<number>[-more].
_NAMED = re.compile(r"-([a-z][a-z2-7]{7})-(\d{1,3})(?:-|$)")


class Intake:
    """The objects of one cluster. Keeps the ids of attempts that it met."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._ids: dict[tuple[str, str, int], int] = {}

    def job_changed(self, obj: Object, is_gone: bool) -> None:
        attempt_id = self._attempt_id(obj)
        if attempt_id is not None:
            actions.record(attempt_id, job=seen_job(obj), job_gone=is_gone)

    def jobs_listed(self, items: list[Object], began: datetime) -> None:
        """Besides what is there: an attempt whose RayJob was created before the list and is not in it lost its job."""
        for obj in items:
            self.job_changed(obj, is_gone=False)
        listed = {(obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in items}
        for attempt in self._open().filter(applied_at__lt=began):
            if (attempt.namespace, attempt.object_name) not in listed:
                actions.record(attempt.pk, job_gone=True)

    def cluster_changed(self, obj: Object, is_gone: bool) -> None:
        attempt_id = self._attempt_id(obj)
        if attempt_id is not None and not is_gone:
            actions.record(attempt_id, cluster=seen_cluster(obj))

    def clusters_listed(self, items: list[Object], began: datetime) -> None:
        del began
        for obj in items:
            self.cluster_changed(obj, is_gone=False)

    def pod_changed(self, obj: Object, is_gone: bool) -> None:
        attempt_id = self._attempt_id(obj)
        if attempt_id is None:
            return
        if is_gone:
            actions.record(attempt_id, pods_gone=[obj["metadata"]["name"]])
        else:
            actions.record(attempt_id, pods=[seen_pod(obj)])

    def pods_listed(self, items: list[Object], began: datetime) -> None:
        """Every attempt's pods at once; a pod that was seen before and is not listed is gone."""
        del began
        by_attempt: dict[int, list[Object]] = defaultdict(list)
        for obj in items:
            attempt_id = self._attempt_id(obj)
            if attempt_id is not None:
                by_attempt[attempt_id].append(obj)
        known = {row.pk: set(row.seen.get("pods", {})) for row in self._open()}
        for attempt_id in known.keys() | by_attempt.keys():
            pods = [seen_pod(obj) for obj in by_attempt.get(attempt_id, [])]
            gone = known.get(attempt_id, set()) - {pod.name for pod in pods}
            actions.record(attempt_id, pods=pods, pods_gone=gone)

    def event_changed(self, obj: Object, is_gone: bool) -> None:
        if is_gone:
            return
        about = obj.get("involvedObject") or obj.get("regarding") or {}
        attempt_id = self._by_name(about.get("namespace", ""), about.get("name", ""))
        if attempt_id is not None:
            actions.record(attempt_id, events=[seen_event(obj)])

    def events_listed(self, items: list[Object], began: datetime) -> None:
        del began
        for obj in items:
            self.event_changed(obj, is_gone=False)

    def _open(self) -> QuerySet[Attempt]:
        return Attempt.objects.open().filter(workload__cluster=self._cluster)

    def _attempt_id(self, obj: Object) -> int | None:
        metadata = obj["metadata"]
        labels = metadata.get("labels") or {}
        number = labels.get(ATTEMPT_LABEL, "")
        if not number.isdecimal():
            return None
        return self._find(
            metadata.get("namespace", ""), labels.get(WORKLOAD_LABEL, ""), int(number)
        )

    def _by_name(self, namespace: str, name: str) -> int | None:
        found = _NAMED.search(name)
        return self._find(namespace, found[1], int(found[2])) if found else None

    def _find(self, namespace: str, uid: str, number: int) -> int | None:
        key = (namespace, uid, number)
        if key not in self._ids:
            attempt = Attempt.objects.filter(
                namespace=namespace,
                workload__uid=uid,
                number=number,
                workload__cluster=self._cluster,
            ).first()
            if attempt is None:
                return None
            self._ids[key] = attempt.pk
        return self._ids[key]
