"""What a RayJob needs beside it: the Secret with Ray's token, and the ConfigMap with the code."""

from __future__ import annotations

import base64
from typing import Any

from slipway.naming import Target, object_name
from slipway.plan import Plan


def companions_for(
    plan: Plan, target: Target, *, token: str, code_zip: bytes | None
) -> list[dict[str, Any]]:
    """In the order of creation. They are made before the RayJob and given to it as owner once it exists."""
    name = object_name(plan.request.name, target.workload_uid, target.attempt)
    companions = [
        _object(
            "Secret",
            f"{name}-auth",
            target,
            {"type": "Opaque", "data": {"auth_token": _base64(token.encode())}},
        )
    ]
    if code_zip is not None:
        companions.append(
            _object(
                "ConfigMap", f"{name}-code", target, {"binaryData": {"code.zip": _base64(code_zip)}}
            )
        )
    return companions


def _object(kind: str, name: str, target: Target, content: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": name, "namespace": target.namespace, "labels": target.labels()}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **content}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
