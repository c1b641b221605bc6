"""A compute class as GKE's ComputeClass: each rule is a priority, in order."""

from __future__ import annotations

from typing import Any

from slipway.catalog import Catalog
from slipway.compute_class import ClassRule, ComputeClassSpec
from slipway.naming import MANAGED_BY
from slipway.request import Provisioning


def compute_class_manifest(spec: ComputeClassSpec, catalog: Catalog) -> dict[str, Any]:
    return {
        "apiVersion": "cloud.google.com/v1",
        "kind": "ComputeClass",
        "metadata": {"name": spec.name, "labels": dict(MANAGED_BY)},
        "spec": {
            "priorities": [_priority(rule, catalog) for rule in spec.rules],
            "nodePoolAutoCreation": {"enabled": True},
            # Anything else would give the pods a node without TPUs.
            "whenUnsatisfiable": "DoNotScaleUp",
        },
    }


def _priority(rule: ClassRule, catalog: Catalog) -> dict[str, Any]:
    shape = rule.shape(catalog)
    priority: dict[str, Any] = {
        "tpu": {
            "type": shape.machine.accelerator_label,
            # Chips per node, not per slice.
            "count": shape.chips_per_host,
            "topology": str(shape.topology),
        }
    }
    if rule.zones:
        priority["location"] = {"zones": list(rule.zones)}
    match rule.provisioning:
        case Provisioning.SPOT:
            priority["spot"] = True
        case Provisioning.FLEX_START:
            priority["flexStart"] = {"enabled": True}
            if rule.max_run_seconds:
                priority["maxRunDurationSeconds"] = rule.max_run_seconds
        case Provisioning.ON_DEMAND:
            priority["spot"] = False
        case Provisioning.RESERVATION:
            priority["reservations"] = {
                "affinity": "Specific",
                "specific": [{"name": rule.reservation}],
            }
    return priority
