"""What the operator sends to Ray when it submits a RayJob's entrypoint."""

from __future__ import annotations

import json
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import AliasEvent

Object = dict[str, Any]


class BadRuntimeEnv(Exception):
    """spec.runtimeEnvYAML is no YAML mapping."""


def runtime_env(text: str) -> Object:
    """The mapping that `runtimeEnvYAML` holds. BadRuntimeEnv."""
    if not text.strip():
        return {}
    try:
        loaded = _load(text)
    except YAMLError as exc:
        raise BadRuntimeEnv(f"failed to unmarshal RuntimeEnvYAML: {exc}") from exc
    if not isinstance(loaded, dict):
        raise BadRuntimeEnv("failed to unmarshal RuntimeEnvYAML: it is not a mapping")
    found: Object = json.loads(json.dumps(loaded, default=str))
    return found


def _load(text: str) -> object:
    try:
        return json.loads(text)  # JSON is YAML, and read a hundred times faster
    except ValueError:
        pass
    if any(isinstance(event, AliasEvent) for event in YAML(typ="safe", pure=True).parse(text)):
        raise BadRuntimeEnv("failed to unmarshal RuntimeEnvYAML: aliases are not supported")
    return YAML(typ="safe", pure=True).load(text)


def submission(job: Object, job_id: str) -> Object:
    """The body of POST /api/jobs/."""
    spec = job["spec"]
    body: Object = {
        "entrypoint": spec.get("entrypoint", ""),
        "submission_id": job_id,
        "metadata": spec.get("metadata") or {},
    }
    if env := runtime_env(spec.get("runtimeEnvYAML") or ""):
        body["runtime_env"] = env
    if spec.get("entrypointNumCpus"):
        body["entrypoint_num_cpus"] = spec["entrypointNumCpus"]
    if spec.get("entrypointNumGpus"):
        body["entrypoint_num_gpus"] = spec["entrypointNumGpus"]
    if spec.get("entrypointResources"):
        body["entrypoint_resources"] = json.loads(spec["entrypointResources"])
    return body
