"""The RayJob of one attempt.

It gives its slice back even when Slipway is dead: KubeRay removes the cluster after the job and at both deadlines.
Every
field that the CRD would default is written out, so that the stored object equals this one.
"""

from __future__ import annotations

import json
from typing import Any

from slipway.manifests.worker_group import code_mount, code_volume, worker_group
from slipway.naming import Target, annotation_value, object_name
from slipway.plan import Plan, Rung

# Long enough to bring the log home after an end that Slipway saw late.
KEEP_FINISHED_CLUSTER_S = 600
HEAD_CPUS, HEAD_MEMORY = "4", "16Gi"
# All of them or none: KubeRay drops its defaults as soon as one port is declared.
HEAD_PORTS = (
    ("gcs-server", 6379),
    ("dashboard", 8265),
    ("client", 10001),
    ("metrics", 8080),
    ("serve", 8000),
)


def manifest_for(plan: Plan, rung: Rung, target: Target) -> dict[str, Any]:
    """The RayJob that runs `plan`'s request on `rung`."""
    request = plan.request
    name = object_name(request.name, target.workload_uid, target.attempt)
    annotations = {
        "slipway.dev/owner": annotation_value(target.owner),
        "slipway.dev/request-version": "1",
        "slipway.dev/workload-name": annotation_value(request.name),
    }
    if request.code:
        annotations["slipway.dev/code-sha256"] = request.code.sha256
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {
            "name": name,
            "namespace": target.namespace,
            "labels": target.labels(),
            "annotations": annotations,
        },
        "spec": {
            # Without a submitter pod there is nothing between KubeRay and Ray that can fail by itself.
            "submissionMode": "HTTPMode",
            "jobId": name,
            "entrypoint": request.entrypoint,
            "runtimeEnvYAML": _runtime_env(plan, rung, target, name),
            # A retry is an attempt of ours: KubeRay's own renames the cluster and resets both deadlines.
            "backoffLimit": 0,
            "shutdownAfterJobFinishes": True,
            "ttlSecondsAfterFinished": KEEP_FINISHED_CLUSTER_S,
            "preRunningDeadlineSeconds": rung.wait_s,
            "activeDeadlineSeconds": rung.wait_s + request.max_run_seconds,
            "rayClusterSpec": {
                "rayVersion": target.ray_version,
                "authOptions": {"mode": "token", "secretName": f"{name}-auth"},
                "headGroupSpec": _head(plan, target, name),
                "workerGroupSpecs": [worker_group(plan, rung, target, name)],
            },
        },
    }


def _head(plan: Plan, target: Target, name: str) -> dict[str, Any]:
    has_code = plan.request.code is not None
    container: dict[str, Any] = {
        "name": "ray-head",
        "image": target.ray_image,
        "ports": [
            {"name": port, "containerPort": number, "protocol": "TCP"}
            for port, number in HEAD_PORTS
        ],
        "resources": {
            "requests": {"cpu": HEAD_CPUS, "memory": HEAD_MEMORY},
            "limits": {"cpu": HEAD_CPUS, "memory": HEAD_MEMORY},
        },
    }
    spec: dict[str, Any] = {"containers": [container]}
    if has_code:
        container["volumeMounts"] = [code_mount(name)]
        spec["volumes"] = [code_volume(name)]
    return {
        # Tasks belong on the slice; the head runs the driver and Ray's own services.
        "rayStartParams": {"num-cpus": "0"},
        "template": {"metadata": {"labels": target.labels()}, "spec": spec},
    }


def _runtime_env(plan: Plan, rung: Rung, target: Target, name: str) -> str:
    """JSON, which is YAML. The user's variables first; names of ours are refused in `plan`."""
    request, shape = plan.request, rung.shape
    environment = dict(request.env) | {
        "SLIPWAY_WORKLOAD": target.workload_uid,
        "SLIPWAY_ATTEMPT": str(target.attempt),
        "SLIPWAY_GENERATION": shape.generation.name,
        "SLIPWAY_TOPOLOGY": str(shape.topology),
        "SLIPWAY_ACCELERATOR_TYPE": shape.generation.ray_accelerator_type,
        "SLIPWAY_POD_TYPE": shape.pod_type,
        "SLIPWAY_SLICES": str(rung.slices),
        "SLIPWAY_HOSTS_PER_SLICE": str(shape.hosts),
        "SLIPWAY_CHIPS_PER_HOST": str(shape.chips_per_host),
        "SLIPWAY_PROVISIONING": ",".join(rung.provisionings),
    }
    runtime: dict[str, Any] = {"env_vars": environment}
    if request.code:
        runtime["working_dir"] = f"file://{code_mount(name)['mountPath']}/code.zip"
    if request.pip:
        runtime["pip"] = list(request.pip)
    return json.dumps(runtime, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
