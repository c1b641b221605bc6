"""A RayJob's own RayCluster: made when it is missing, reached through its head service."""

from __future__ import annotations

import base64
import contextlib
from typing import Any

from devcluster.controllers import cluster_pods, names, webhook
from devcluster.controllers.events import RAYJOB, Recorder
from devcluster.controllers.ray_api import FindEndpoint, RayApi
from devcluster.errors import AlreadyExists, NotFound, StoreError
from devcluster.objects import json_copy
from devcluster.resources import RAYCLUSTERS, SECRETS, SERVICES
from devcluster.store import Store

Object = dict[str, Any]


class NoToken(Exception):
    """The Secret with Ray's token is missing: the operator can't even make a client."""


class JobClusters:
    def __init__(self, store: Store, events: Recorder, find_endpoint: FindEndpoint) -> None:
        self._store = store
        self._events = events
        self._find_endpoint = find_endpoint

    def get_or_create(self, job: Object, name: str) -> Object | None:
        """None when it can't be created (yet); an event says why."""
        namespace = job["metadata"]["namespace"]
        try:
            return self._store.get(RAYCLUSTERS, namespace, name)
        except NotFound:
            pass
        where = f"{namespace}/{name}"
        if job["spec"].get("clusterSelector"):
            text = (
                f"RayCluster {where} set in the clusterSelector is not found. "
                "It must be created manually"
            )
            self._warn(job, "RayClusterNotFound", text)
            return None
        cluster = _cluster_of(job, name)
        why = webhook.refusal(cluster)
        if why is None:
            try:
                created = self._store.create(RAYCLUSTERS, cluster)
            except StoreError as exc:
                why = exc.message
            else:
                text = f"Created RayCluster {where}"
                self._events.emit(RAYJOB, job, "CreatedRayCluster", text, action="Create")
                return created
        self._warn(job, "FailedToCreateRayCluster", f"Failed to create RayCluster {where}: {why}")
        return None

    def ensure_head_service(self, job: Object, cluster: Object) -> None:
        """`<rayjob>-head-svc`, pointed at the cluster of this attempt."""
        service = cluster_pods.job_head_service(job, cluster)
        metadata = service["metadata"]
        where = f"{metadata['namespace']}/{metadata['name']}"
        try:
            self._store.create(SERVICES, service)
        except AlreadyExists:

            def repoint(obj: Object) -> None:
                obj["spec"]["selector"] = service["spec"]["selector"]

            with contextlib.suppress(NotFound):
                self._store.mutate(SERVICES, metadata["namespace"], metadata["name"], repoint)
        except StoreError as exc:
            text = f"Failed to create the service {where}, {exc.message}"
            self._warn(job, "FailedToCreateService", text)
        else:
            text = f"Created the service {where}"
            self._events.emit(RAYJOB, job, "CreatedService", text, action="Create")

    def api(self, cluster: Object) -> RayApi:
        """NoToken when the Secret is missing."""
        namespace = cluster["metadata"]["namespace"]
        token = None
        if cluster_pods.uses_token(cluster):
            name = cluster_pods.auth_secret_name(cluster)
            try:
                secret = self._store.get(SECRETS, namespace, name)
                token = base64.b64decode(secret["data"]["auth_token"]).decode()
            except (NotFound, KeyError, ValueError) as exc:
                raise NoToken(f"secret {namespace}/{name} has no auth_token") from exc
        service = names.head_service(cluster["metadata"]["name"])
        return RayApi(self._find_endpoint, namespace=namespace, service=service, token=token)

    def _warn(self, job: Object, reason: str, text: str) -> None:
        self._events.emit(RAYJOB, job, reason, text, type_="Warning", action="Create")


def _cluster_of(job: Object, name: str) -> Object:
    metadata, spec = job["metadata"], job["spec"]
    return {
        "metadata": {
            "name": name,
            "namespace": metadata["namespace"],
            "labels": {
                **(metadata.get("labels") or {}),
                names.ORIGIN_NAME: metadata["name"],
                names.ORIGIN_KIND: "RayJob",
                names.SUBMISSION_MODE: spec.get("submissionMode", "K8sJobMode"),
            },
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [cluster_pods.owner_reference(job)],
        },
        "spec": json_copy(spec["rayClusterSpec"]),
    }
