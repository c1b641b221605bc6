"""The pods and services that KubeRay makes of a RayCluster's spec."""

from __future__ import annotations

import json
from typing import Any

from devcluster.controllers import names, webhook
from devcluster.objects import json_copy

Object = dict[str, Any]


def head_ports(cluster: Object) -> dict[str, int]:
    """Ports of the head service by name: what the head container declares plus metrics, or KubeRay's defaults."""
    containers = cluster["spec"]["headGroupSpec"]["template"]["spec"]["containers"]
    declared = {
        port.get("name", str(port["containerPort"])): int(port["containerPort"])
        for port in containers[0].get("ports") or []
    }
    if not declared:
        return dict(names.DEFAULT_HEAD_PORTS)
    return {**declared, "metrics": declared.get("metrics", names.DEFAULT_HEAD_PORTS["metrics"])}


def head_pod(cluster: Object) -> Object:
    group = cluster["spec"]["headGroupSpec"]
    return _pod(cluster, group, "head", names.HEAD_GROUP, f"{cluster['metadata']['name']}-head")


def worker_pod(
    cluster: Object, group: Object, replica_index: int, replica_name: str, host_index: int
) -> Object:
    """One host. `replica_name` and `host_index` are used by groups of several hosts only, as in KubeRay."""
    name = group["groupName"]
    pod = _pod(cluster, group, "worker", name, f"{cluster['metadata']['name']}-{name}-worker")
    hosts = group.get("numOfHosts", 1)
    labels = pod["metadata"]["labels"]
    labels[names.REPLICA_INDEX] = str(replica_index)
    if hosts > 1:
        labels[names.REPLICA_NAME] = replica_name
        labels[names.HOST_INDEX] = str(host_index)
    webhook.fill_in(pod, hosts)
    return pod


def _pod(cluster: Object, group: Object, node_type: str, group_name: str, prefix: str) -> Object:
    template: Object = json_copy(group["template"])
    metadata, spec = template.get("metadata") or {}, template["spec"]
    cluster_name = cluster["metadata"]["name"]
    fixed = {
        names.CLUSTER: cluster_name,
        names.NODE_TYPE: node_type,
        names.GROUP: group_name,
    }
    labels = {
        "ray.io/is-ray-node": "yes",
        names.IDENTIFIER: f"{cluster_name}-{node_type}",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
        **(group.get("labels") or {}),
        **(metadata.get("labels") or {}),
        **fixed,
    }
    container = spec["containers"][0]
    env = container.setdefault("env", [])
    _auth_env(cluster, env)
    _set(env, "RAY_CLUSTER_NAME", cluster_name)
    _set(env, "RAY_NODE_TYPE_NAME", group_name)
    _set(env, "RAY_USAGE_STATS_KUBERAY_IN_USE", "1")
    container["args"] = container.get("args") or [_start_command(cluster, group, node_type)]
    container.setdefault("imagePullPolicy", "IfNotPresent")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    return {
        "metadata": {
            "generateName": f"{names.pod_prefix(prefix)}-",
            "namespace": cluster["metadata"]["namespace"],
            "labels": labels,
            "annotations": metadata.get("annotations") or {},
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": spec,
    }


def _auth_env(cluster: Object, env: list[Object]) -> None:
    if not uses_token(cluster):
        return
    _set(env, "RAY_AUTH_MODE", "token")
    reference = {"name": auth_secret_name(cluster), "key": "auth_token"}
    if not any(entry["name"] == "RAY_AUTH_TOKEN" for entry in env):
        env.append({"name": "RAY_AUTH_TOKEN", "valueFrom": {"secretKeyRef": reference}})


def uses_token(cluster: Object) -> bool:
    return (cluster["spec"].get("authOptions") or {}).get("mode") == "token"


def auth_secret_name(cluster: Object) -> str:
    named = (cluster["spec"].get("authOptions") or {}).get("secretName")
    return named or names.check_name(cluster["metadata"]["name"])


def ray_resources(group: Object) -> dict[str, float]:
    """`--resources` of `ray start`: what rayStartParams says, plus TPU from the container's limit."""
    text = (group.get("rayStartParams") or {}).get("resources", "")
    given: dict[str, float] = {}
    if text:
        # Written for a shell: '"{\"TPU\": 4}"'.
        given = json.loads(text.strip("'\"").replace('\\"', '"'))
    limits = (group["template"]["spec"]["containers"][0].get("resources") or {}).get("limits") or {}
    if names.TPU in limits:
        given.setdefault("TPU", int(limits[names.TPU]))
    return given


def _start_command(cluster: Object, group: Object, node_type: str) -> str:
    """The container's argument as KubeRay writes it; for people. The pods read the same facts from the spec."""
    params = dict(group.get("rayStartParams") or {})
    if node_type == "head":
        params.setdefault("dashboard-host", "0.0.0.0")  # noqa: S104 - text of KubeRay's own default
    else:
        params["address"] = f"{fqdn(cluster)}:{head_ports(cluster).get('gcs-server', 6379)}"
    if resources := ray_resources(group):
        params["resources"] = json.dumps(json.dumps(resources))
    if labels := group.get("labels"):
        params["labels"] = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    flags = " ".join(f"--{key}={value} " for key, value in sorted(params.items()))
    head = "--head " if node_type == "head" else ""
    return f"ulimit -n 65536; ray start {head}{flags} --block"


def fqdn(cluster: Object) -> str:
    metadata = cluster["metadata"]
    service = names.head_service(metadata["name"])
    return f"{service}.{metadata['namespace']}.svc.{names.CLUSTER_DOMAIN}"


def head_service(cluster: Object) -> Object:
    name = cluster["metadata"]["name"]
    selector = {
        names.CLUSTER: name,
        names.NODE_TYPE: "head",
        names.IDENTIFIER: f"{name}-head",
        "app.kubernetes.io/name": "kuberay",
        "app.kubernetes.io/created-by": "kuberay-operator",
    }
    return _service(cluster, names.head_service(name), selector, selector, head_ports(cluster))


def headless_service(cluster: Object) -> Object:
    name = cluster["metadata"]["name"]
    selector = {names.CLUSTER: name, names.NODE_TYPE: "worker"}
    labels = {"ray.io/headless-worker-svc": name}
    return _service(cluster, names.headless_service(name), labels, selector, {})


def job_head_service(job: Object, cluster: Object) -> Object:
    """`<rayjob>-head-svc`, which outlives the clusters of a RayJob's retries."""
    service = head_service(cluster)
    service["metadata"]["name"] = names.head_service(job["metadata"]["name"])
    service["metadata"]["labels"] |= {
        names.ORIGIN_NAME: job["metadata"]["name"],
        names.ORIGIN_KIND: "RayJob",
    }
    service["metadata"]["ownerReferences"] = [owner_reference(job)]
    return service


def _service(
    cluster: Object,
    name: str,
    labels: dict[str, str],
    selector: dict[str, str],
    ports: dict[str, int],
) -> Object:
    return {
        "metadata": {
            "name": name,
            "namespace": cluster["metadata"]["namespace"],
            "labels": dict(labels),
            "ownerReferences": [owner_reference(cluster)],
        },
        "spec": {
            "clusterIP": "None",
            "clusterIPs": ["None"],
            "type": "ClusterIP",
            "publishNotReadyAddresses": True,
            "selector": dict(selector),
            "ports": [
                {"name": port, "port": number, "targetPort": number, "protocol": "TCP"}
                for port, number in sorted(ports.items())
            ],
        },
        "status": {"loadBalancer": {}},
    }


def owner_reference(owner: Object) -> Object:
    return {
        "apiVersion": "ray.io/v1",
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _set(env: list[Object], name: str, value: str) -> None:
    if not any(entry["name"] == name for entry in env):
        env.append({"name": name, "value": value})
