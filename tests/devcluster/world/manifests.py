"""A RayJob of v6e 4x4 slices as a client would write it, for tests of the world behind the API."""

import base64

from devcluster.resources import RAYJOBS, SECRETS

TOKEN = "a-token-of-32-characters-or-more."


def container(name, *, tpu=0, **more):
    size = {"cpu": "8", "memory": "16Gi"}
    if tpu:
        size["google.com/tpu"] = str(tpu)
    return {
        "name": name,
        "image": "rayproject/ray:2.60.0",
        "resources": {"limits": dict(size), "requests": dict(size)},
        **more,
    }


def group(*, hosts=4, topology="4x4", replicas=1, tpu=4, accelerator="tpu-v6e-slice", **more):
    return {
        "groupName": "tpu",
        "replicas": replicas,
        "minReplicas": replicas,
        "maxReplicas": replicas,
        "numOfHosts": hosts,
        "rayStartParams": {},
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "nodeSelector": {
                    "cloud.google.com/gke-tpu-accelerator": accelerator,
                    "cloud.google.com/gke-tpu-topology": topology,
                },
                "containers": [container("ray-worker", tpu=tpu)],
            }
        },
        **more,
    }


def rayjob(name="train", *, workers=None, token=False, namespace="default", **spec):
    ports = {"gcs-server": 6379, "dashboard": 8265, "client": 10001}
    head = container("ray-head", ports=[{"name": n, "containerPort": p} for n, p in ports.items()])
    cluster = {
        "rayVersion": "2.60.0",
        "headGroupSpec": {
            "rayStartParams": {"num-cpus": "0"},
            "template": {"spec": {"containers": [head]}},
        },
        "workerGroupSpecs": [workers or group()],
    }
    if token:
        cluster["authOptions"] = {"mode": "token", "secretName": f"{name}-auth"}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name, "namespace": namespace, "labels": {"team": "research"}},
        "spec": {
            "entrypoint": "python train.py",
            "submissionMode": "HTTPMode",
            "jobId": name,
            "backoffLimit": 0,
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": cluster,
            **spec,
        },
    }


def submit(store, job):
    return store.create(RAYJOBS, job)


def auth_secret(name="train", namespace="default"):
    return SECRETS, {
        "metadata": {"name": f"{name}-auth", "namespace": namespace},
        "data": {"auth_token": base64.b64encode(TOKEN.encode()).decode()},
    }
