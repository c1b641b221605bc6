"""What a class may be called."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slipway.class_rules.reading import Subject, shown
from slipway.class_rules.rule import DOCUMENTATION, SLIPWAY, Problem, error, warning

_TAKEN_PREFIXES = ("gke", "autopilot")

# An object's name that is also the value of the label cloud.google.com/compute-class on every node.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_LABEL_VALUE = 63


def _is_taken(subject: Subject) -> Iterator[Problem]:
    for prefix in _TAKEN_PREFIXES:
        if subject.name.startswith(prefix):
            yield (
                "",
                f"{shown(subject.name)} starts with {prefix}, which GKE keeps for its own. Choose another name.",
            )


def _is_no_name(subject: Subject) -> Iterator[Problem]:
    if not _NAME.fullmatch(subject.name) or len(subject.name) > _LONGEST_LABEL_VALUE:
        yield (
            "",
            f"{shown(subject.name)} cannot be the name of a class. Take lower-case letters, digits, - and ., "
            f"{_LONGEST_LABEL_VALUE} at most, with a letter or digit at both ends.",
        )


def _is_cluster_default(subject: Subject) -> Iterator[Problem]:
    if subject.name == "default":
        yield (
            "",
            "A class named default serves every pod of the cluster that selects no class. "
            "Choose another name unless that is what you want.",
        )


RULES = (
    error("name-syntax", SLIPWAY, "The name is one for objects and for labels.", _is_no_name),
    error(
        "name-prefix", DOCUMENTATION, "Names with gke or autopilot in front are GKE's.", _is_taken
    ),
    warning(
        "name-default", DOCUMENTATION, "default is the whole cluster's class.", _is_cluster_default
    ),
)
