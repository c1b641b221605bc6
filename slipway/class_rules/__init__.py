"""What GKE would say to a ComputeClass, said before it is applied.

`check` judges the `.spec` of a cloud.google.com/v1 ComputeClass by every rule of `RULES`: the 68 CEL rules and the
field bounds of the official CRD, what the autoscaler refuses later, and traps that GKE accepts. A rule is one small
function; a file is one subject.

Not judged, because the spec does not say: which namespaces use the class, the kind and age of a reservation, the
cluster's version, and what the pods select and tolerate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slipway.catalog import Catalog
from slipway.class_rules import (
    autopilot,
    capacity,
    confidential,
    machines,
    metadata,
    naming,
    nodes,
    order,
    reservations,
    structure,
    system,
    tpu,
)
from slipway.class_rules.reading import Place, Subject
from slipway.class_rules.rule import Finding, Level, Rule

__all__ = ["RULES", "Finding", "Level", "Rule", "check"]

RULES: tuple[Rule, ...] = (
    *naming.RULES,
    *structure.RULES,
    *order.RULES,
    *capacity.RULES,
    *tpu.RULES,
    *reservations.RULES,
    *machines.RULES,
    *nodes.RULES,
    *system.RULES,
    *metadata.RULES,
    *autopilot.RULES,
    *confidential.RULES,
)


def check(
    spec: Mapping[str, Any], *, name: str, old: Mapping[str, Any] | None, catalog: Catalog
) -> tuple[Finding, ...]:
    """Everything that is wrong with the class, in the order of `RULES`; nothing at all when GKE will take and serve it.

    `old` is the live spec that this one replaces, None for a new class. Never raises for JSON, whatever it holds.
    """
    before = Place(old, "") if old is not None else None
    subject = Subject(name, Place(spec, ""), before, catalog)
    return tuple(finding for rule in RULES for finding in rule.findings(subject))
