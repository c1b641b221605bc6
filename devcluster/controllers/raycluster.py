"""KubeRay's RayCluster controller: services, the auth Secret, the head pod, whole slices of worker pods, status.

What a reader may not expect, all as the operator does it: `state: ready` never falls back when pods die; one
dead host takes its whole slice with it; a replacement slice has a new replica name; a broken spec is an event
only.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable
from typing import Any

from devcluster.clock import Clock
from devcluster.controllers import cluster_pods, cluster_status, names, validation
from devcluster.controllers.base import Controller, Key
from devcluster.controllers.events import RAYCLUSTER, Recorder
from devcluster.controllers.worker_groups import CannotAct, WorkerGroups, pod_summary, should_go
from devcluster.errors import AlreadyExists, NotFound, StoreError
from devcluster.objects import is_deleting, timestamp
from devcluster.resources import PODS, RAYCLUSTERS, SECRETS, SERVICES, Resource
from devcluster.store import Store

Object = dict[str, Any]

ERROR_RETRY_S = 2.0
RESYNC_S = 300.0


class RayClusterController(Controller):
    name = "raycluster"

    def __init__(self, store: Store, clock: Clock, events: Recorder) -> None:
        self._store = store
        self._clock = clock
        self._events = events
        self._groups = WorkerGroups(store, events)

    def concerns(self, resource: Resource, obj: Object) -> Iterable[Key]:
        metadata = obj["metadata"]
        if resource is RAYCLUSTERS:
            yield metadata["namespace"], metadata["name"]
        elif resource in (PODS, SERVICES, SECRETS):
            for owner in metadata.get("ownerReferences") or []:
                if owner.get("kind") == "RayCluster":
                    yield metadata["namespace"], owner["name"]

    def reconcile(self, key: Key) -> float | None:
        try:
            cluster = self._store.get(RAYCLUSTERS, *key)
        except NotFound:
            return None
        if is_deleting(cluster) or self._is_invalid(cluster):
            return None
        failure: tuple[str, str] | None = None
        try:
            if cluster["spec"].get("suspend"):
                self._end_all_pods(cluster)
            else:
                self._ensure_services(cluster)
                self._ensure_secret(cluster)
                self._ensure_head(cluster)
                self._groups.ensure(cluster, self._pods(cluster, "worker"))
        except CannotAct as exc:
            failure = (exc.reason, str(exc))
        self._write_status(cluster, failure)
        return RESYNC_S if failure is None else ERROR_RETRY_S

    def _is_invalid(self, cluster: Object) -> bool:
        where = f"{cluster['metadata']['namespace']}/{cluster['metadata']['name']}"
        checks = (
            ("metadata", "InvalidRayClusterMetadata", validation.raycluster_metadata(cluster)),
            ("spec", "InvalidRayClusterSpec", validation.raycluster_spec(cluster["spec"])),
        )
        for part, reason, why in checks:
            if why:
                text = f"The RayCluster {part} is invalid {where}: {why}"
                self._events.emit(
                    RAYCLUSTER, cluster, reason, text, type_="Warning", action="Validate"
                )
                return True
        return False

    def _pods(self, cluster: Object, node_type: str | None = None) -> list[Object]:
        """Pods of this cluster (by uid: a namesake's pods are not ours), those being deleted too."""
        selector = f"{names.CLUSTER}={cluster['metadata']['name']}"
        if node_type:
            selector += f",{names.NODE_TYPE}={node_type}"
        found, _ = self._store.list(PODS, cluster["metadata"]["namespace"], label_selector=selector)
        uid = cluster["metadata"]["uid"]
        return [
            pod
            for pod in found
            if any(o["uid"] == uid for o in pod["metadata"].get("ownerReferences") or [])
        ]

    def _ensure_services(self, cluster: Object) -> None:
        wanted = [cluster_pods.head_service(cluster)]
        groups = cluster["spec"].get("workerGroupSpecs") or []
        if any(group.get("numOfHosts", 1) > 1 for group in groups):
            wanted.append(cluster_pods.headless_service(cluster))
        for service in wanted:
            where = f"{service['metadata']['namespace']}/{service['metadata']['name']}"
            try:
                self._store.create(SERVICES, service)
            except AlreadyExists:
                continue
            except StoreError as exc:
                raise CannotAct("FailedToCreateService", exc.message) from exc
            self._events.emit(
                RAYCLUSTER, cluster, "CreatedService", f"Created service {where}", action="Create"
            )

    def _ensure_secret(self, cluster: Object) -> None:
        """The operator makes a token only when the spec names no Secret."""
        auth = cluster["spec"].get("authOptions") or {}
        if not cluster_pods.uses_token(cluster) or auth.get("secretName"):
            return
        token = base64.b64encode(secrets.token_bytes(32))
        secret = {
            "metadata": {
                "name": cluster_pods.auth_secret_name(cluster),
                "namespace": cluster["metadata"]["namespace"],
                "labels": {names.CLUSTER: cluster["metadata"]["name"]},
                "ownerReferences": [cluster_pods.owner_reference(cluster)],
            },
            "type": "Opaque",
            "data": {"auth_token": base64.b64encode(token).decode()},
        }
        try:
            self._store.create(SECRETS, secret)
        except AlreadyExists:
            return
        except StoreError as exc:
            raise CannotAct("FailedToCreateAuthSecret", exc.message) from exc

    def _ensure_head(self, cluster: Object) -> None:
        heads = self._pods(cluster, "head")
        namespace = cluster["metadata"]["namespace"]
        if not heads:
            try:
                pod = self._store.create(PODS, cluster_pods.head_pod(cluster))
            except StoreError as exc:
                text = f"Failed to create head Pod {namespace}/, {exc.message}"
                self._warn(cluster, "FailedToCreateHeadPod", text)
                raise CannotAct("FailedCreateHeadPod", exc.message) from exc
            text = f"Created head Pod {namespace}/{pod['metadata']['name']}"
            self._events.emit(RAYCLUSTER, cluster, "CreatedHeadPod", text, action="Create")
        elif not is_deleting(heads[0]) and should_go(heads[0]):
            name = heads[0]["metadata"]["name"]
            self._store.delete(PODS, namespace, name)
            text = f"Deleted head Pod {namespace}/{name}; {pod_summary(heads[0])}"
            self._events.emit(RAYCLUSTER, cluster, "DeletedHeadPod", text, action="Delete")

    def _end_all_pods(self, cluster: Object) -> None:
        live = [pod for pod in self._pods(cluster) if not is_deleting(pod)]
        for pod in live:
            self._store.delete(PODS, pod["metadata"]["namespace"], pod["metadata"]["name"])
        if live:
            metadata = cluster["metadata"]
            text = (
                f"Deleted Pods for RayCluster {metadata['namespace']}/{metadata['name']} "
                "due to suspension"
            )
            self._events.emit(RAYCLUSTER, cluster, "DeletedPod", text, action="Suspend")

    def _warn(self, cluster: Object, reason: str, text: str) -> None:
        self._events.emit(RAYCLUSTER, cluster, reason, text, type_="Warning", action="Create")

    def _write_status(self, cluster: Object, failure: tuple[str, str] | None) -> None:
        metadata = cluster["metadata"]
        pods = self._pods(cluster)
        try:
            self._store.get(SERVICES, metadata["namespace"], names.head_service(metadata["name"]))
            has_service = True
        except NotFound:
            has_service = False

        def change(obj: Object) -> None:
            if obj["metadata"]["uid"] != metadata["uid"]:
                return
            status = cluster_status.compute(
                obj,
                pods,
                failure=failure,
                has_head_service=has_service,
                now=self._clock.now(),
            )
            if status != obj.get("status"):
                status["lastUpdateTime"] = timestamp(self._clock.now())
                obj["status"] = status

        try:
            self._store.mutate(
                RAYCLUSTERS, metadata["namespace"], metadata["name"], change, subresource="status"
            )
        except NotFound:
            return
