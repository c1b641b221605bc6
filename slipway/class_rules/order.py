"""The list of rules as a whole: how many, with which scores, and what happens after the last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from slipway.class_rules.reading import Place, Subject
from slipway.class_rules.rule import DOCUMENTATION, SLIPWAY, Problem, cel, error, warning

_MOST_OF_ONE_SCORE = 3
# GKE leaves a failed rule alone for five minutes: with more rules, the first comes back before the last is tried.
_MOST_RULES_IN_TIME = 10


def _some_without_score(subject: Subject) -> Iterator[Problem]:
    if any(priority.has("priorityScore") for priority in subject.priorities):
        for priority in subject.priorities:
            if not priority.has("priorityScore"):
                yield (
                    priority.at("priorityScore").path,
                    f"{priority.title} has no score, and others have. Give every rule one, or none.",
                )


def _shared_score(subject: Subject) -> Iterator[Problem]:
    counted: Counter[int] = Counter()
    for priority in subject.priorities:
        score = priority.number("priorityScore")
        if score is None:
            continue
        counted[score] += 1
        if counted[score] > _MOST_OF_ONE_SCORE:
            yield (
                priority.at("priorityScore").path,
                f"{priority.title} is one of more than {_MOST_OF_ONE_SCORE} rules with the score {score}, "
                "and GKE takes no more. Give it another.",
            )


def _too_many_to_try(subject: Subject) -> Iterator[Problem]:
    count = len(subject.priorities)
    if count > _MOST_RULES_IN_TIME:
        yield (
            "priorities",
            f"There are {count} rules. GKE leaves a failed rule alone for five minutes, so with more than "
            f"{_MOST_RULES_IN_TIME} it starts again at the top before it has tried the last. Keep fewer.",
        )


def _no_rules(subject: Subject) -> Iterator[Problem]:
    if not subject.priorities and not subject.is_autopilot:
        yield "priorities", "The class has no rule, so it describes no node. Add one."


def _scales_up_anyway(subject: Subject) -> Iterator[Problem]:
    has_tpu = any(priority.has("tpu") for priority in subject.priorities)
    if has_tpu and subject.spec.text("whenUnsatisfiable") == "ScaleUpAnyway":
        yield (
            "whenUnsatisfiable",
            "When no rule gives nodes, ScaleUpAnyway makes ordinary ones without TPUs, on which TPU pods cannot run. "
            "Choose DoNotScaleUp.",
        )


def _creates_no_pools(subject: Subject) -> Iterator[Problem]:
    creates = subject.spec.is_on("nodePoolAutoCreation", "enabled")
    if not creates and not subject.is_autopilot and any(p.has("tpu") for p in subject.priorities):
        yield (
            "nodePoolAutoCreation.enabled",
            "GKE makes no node pools for this class, so its slices come only from pools that exist already. "
            "Set it to true unless somebody makes them.",
        )


def _counts_unnamed_nodes(subject: Subject) -> Iterator[Problem]:
    if subject.spec.has("minimumCapacity", "targetNodeCount"):
        for priority in subject.priorities:
            if not _says_which_nodes(priority):
                yield (
                    priority.path,
                    f"The class keeps a number of nodes ready, and {priority.title.lower()} does not say which. "
                    "Give it a machineType, gpu, tpu or a specific reservation.",
                )


def _rule_counts_unnamed_nodes(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        place = priority.at("minimumCapacity", "targetNodeCount")
        if place.value is not None and not _says_which_nodes(priority):
            yield (
                place.path,
                f"{priority.title} keeps a number of nodes ready and does not say which. "
                "Give it a machineType, gpu, tpu or a specific reservation.",
            )


def _says_which_nodes(priority: Place) -> bool:
    return (
        any(priority.has(field) for field in ("machineType", "gpu", "tpu"))
        or priority.text("reservations", "affinity") == "Specific"
    )


RULES = (
    cel(18, "score-all-or-none", "All rules have scores, or none.", _some_without_score),
    cel(21, "minimum-nodes", "Nodes kept ready are named by every rule.", _counts_unnamed_nodes),
    cel(
        43,
        "rule-minimum-nodes",
        "A rule names the nodes it keeps ready.",
        _rule_counts_unnamed_nodes,
    ),
    error("score-shared", DOCUMENTATION, "Three rules share a score at most.", _shared_score),
    warning("many-rules", DOCUMENTATION, "Ten rules can be tried in time.", _too_many_to_try),
    warning("no-rules", SLIPWAY, "A class has a rule.", _no_rules),
    warning(
        "scale-up-anyway", DOCUMENTATION, "TPU classes do not scale up anyway.", _scales_up_anyway
    ),
    warning("auto-creation-off", SLIPWAY, "A TPU class makes its pools.", _creates_no_pools),
)
