"""How nodes are set up: image, workload type, draining, taints."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slipway.class_rules.durations import seconds_of
from slipway.class_rules.reading import Place, Subject, duration_s
from slipway.class_rules.rule import DOCUMENTATION, Judge, Problem, cel, error

_CUSTOM = "custom_containerd"
_CLASS_KEY = "cloud.google.com/compute-class"


def _high_throughput_alone(subject: Subject) -> Iterator[Problem]:
    place = subject.spec.at("nodePoolConfig", "workloadType")
    if place.value is None or subject.spec.has("nodePoolGroup"):
        return
    if place.value != "HIGH_AVAILABILITY":
        yield (
            place.path,
            "HIGH_THROUGHPUT is for slices that work together, so it needs nodePoolGroup.name. "
            "Add it, or choose HIGH_AVAILABILITY.",
        )


def _image_missing(subject: Subject) -> Iterator[Problem]:
    config = subject.spec.at("nodePoolConfig")
    if config.text("imageType") == _CUSTOM and not config.has("customImageConfig"):
        yield (
            config.at("customImageConfig").path,
            f"With {_CUSTOM} GKE must know which image. Add customImageConfig, or choose another image type.",
        )


def _image_unused(subject: Subject) -> Iterator[Problem]:
    config = subject.spec.at("nodePoolConfig")
    if config.has("customImageConfig") and config.text("imageType") != _CUSTOM:
        yield (
            config.at("customImageConfig").path,
            f"An image of your own is named, and imageType is not {_CUSTOM}. Set it, or take the image away.",
        )


def _negative(field: str) -> Judge:
    def judge(subject: Subject) -> Iterator[Problem]:
        place = subject.spec.at("nodePoolConfig", "nodeDrainConfig", field)
        seconds = seconds_of(place.value)
        if seconds is not None and seconds < 0:
            yield place.path, f"{field} is less than no time. Give it 0s or more."

    return judge


def _longer(field: str, limit_s: int) -> Judge:
    def judge(subject: Subject) -> Iterator[Problem]:
        place = subject.spec.at("nodePoolConfig", "nodeDrainConfig", field)
        seconds = seconds_of(place.value)
        if seconds is not None and seconds > limit_s:
            yield (
                place.path,
                f"{field} is more than GKE waits. Give it {limit_s}s ({duration_s(limit_s)}) or less.",
            )

    return judge


def _taint(is_wrong: Callable[[str], bool], advice: str) -> Judge:
    """Judges the taints of the class and of each rule by their keys."""

    def judge(subject: Subject) -> Iterator[Problem]:
        holders: tuple[Place, ...] = (subject.spec.at("nodePoolConfig"), *subject.priorities)
        for holder in holders:
            for taint in holder.items("taints"):
                if is_wrong(taint.text("key")):
                    yield taint.at("key").path, advice

    return judge


RULES = (
    cel(6, "workload-type", "HIGH_THROUGHPUT needs a node pool group.", _high_throughput_alone),
    cel(25, "custom-image-missing", "A custom image is named.", _image_missing),
    cel(26, "custom-image-unused", "A named image is used.", _image_unused),
    cel(
        30,
        "drain-grace-negative",
        "Draining takes some time.",
        _negative("graceTerminationDuration"),
    ),
    cel(
        31,
        "drain-grace-long",
        "Pods get a day at most.",
        _longer("graceTerminationDuration", 86400),
    ),
    cel(32, "drain-budget-negative", "Waiting takes some time.", _negative("pdbTimeoutDuration")),
    cel(
        33,
        "drain-budget-long",
        "Budgets hold for a week at most.",
        _longer("pdbTimeoutDuration", 604800),
    ),
    error(
        "taint-class",
        DOCUMENTATION,
        "The class's own taint is GKE's to set.",
        _taint(
            lambda key: key == _CLASS_KEY,
            f"GKE sets the taint {_CLASS_KEY} on the nodes that it makes for a class. Take it away.",
        ),
    ),
    error(
        "taint-kubernetes",
        DOCUMENTATION,
        "Taints stay out of kubernetes.io.",
        _taint(
            lambda key: "kubernetes.io" in key,
            "Taint keys with kubernetes.io belong to Kubernetes. Choose a key of your own domain.",
        ),
    ),
)
