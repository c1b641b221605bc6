"""What a class in Autopilot mode gives up, and that its mode stays what it was."""

from __future__ import annotations

from collections.abc import Iterator

from slipway.class_rules.reading import Place, Subject
from slipway.class_rules.rule import Problem, cel

_CONGESTION = "net.ipv4.tcp_congestion_control"


def _is_removed(subject: Subject) -> Iterator[Problem]:
    if subject.old and subject.old.has("autopilot") and not subject.spec.has("autopilot"):
        yield (
            "autopilot",
            "The live class says whether it is in Autopilot mode, and that cannot be taken away. "
            "Put autopilot back as it was, or make a class with another name.",
        )


def _is_changed(subject: Subject) -> Iterator[Problem]:
    old = subject.old
    if old and old.has("autopilot") and subject.spec.has("autopilot"):
        was, is_now = old.is_on("autopilot", "enabled"), subject.is_autopilot
        if was != is_now:
            yield (
                "autopilot",
                f"The live class is {'in' if was else 'not in'} Autopilot mode, and that cannot be changed. "
                "Put it back, or make a class with another name.",
            )


def _is_switched(subject: Subject) -> Iterator[Problem]:
    for _, message in _is_changed(subject):
        yield "autopilot.enabled", message


def _has_node_pools(subject: Subject) -> Iterator[Problem]:
    if subject.is_autopilot:
        for priority in subject.priorities:
            if priority.has("nodepools"):
                yield (
                    priority.at("nodepools").path,
                    f"{priority.title} names node pools, and in Autopilot mode GKE makes them all. "
                    "Say what nodes the rule wants, or switch Autopilot off.",
                )


def _creates_nothing(subject: Subject) -> Iterator[Problem]:
    # Absent counts as off: the CRD fills in `enabled: false` before it judges.
    if subject.is_autopilot and not subject.spec.is_on("nodePoolAutoCreation", "enabled"):
        yield (
            "nodePoolAutoCreation.enabled",
            "A class in Autopilot mode creates its node pools; left out, this switch is off. Set it to true.",
        )


def _has_another_image(subject: Subject) -> Iterator[Problem]:
    image = subject.spec.at("nodePoolConfig", "imageType")
    if subject.is_autopilot and image.value is not None and image.value != "cos_containerd":
        yield (
            image.path,
            "In Autopilot mode nodes run cos_containerd only. Choose it, or leave the image type out.",
        )


def _has_another_logging(subject: Subject) -> Iterator[Problem]:
    at = ("nodePoolConfig", "loggingConfig", "loggingVariantConfig", "variant")
    variant = subject.spec.at(*at)
    if subject.is_autopilot and variant.value is not None and variant.value != "DEFAULT":
        yield (
            variant.path,
            "In Autopilot mode the logging variant is DEFAULT. Choose it, or leave it out.",
        )


def _has_pod_family(subject: Subject) -> Iterator[Problem]:
    if not subject.is_autopilot:
        for priority in subject.priorities:
            if priority.has("podFamily"):
                yield (
                    priority.at("podFamily").path,
                    f"{priority.title} asks for a pod family, which only Autopilot mode has. "
                    "Set autopilot.enabled, or choose a machine family.",
                )


def _sets_congestion_control(subject: Subject) -> Iterator[Problem]:
    if not subject.is_autopilot:
        return
    holders: tuple[Place, ...] = (subject.spec.at("priorityDefaults"), *subject.priorities)
    for holder in holders:
        place = holder.at("nodeSystemConfig", "linuxNodeConfig", "sysctls", _CONGESTION)
        if place.value is not None:
            yield place.path, f"In Autopilot mode {_CONGESTION} is not yours to set. Take it away."


RULES = (
    cel(1, "autopilot-removed", "autopilot stays once it is there.", _is_removed),
    cel(2, "autopilot-node-pools", "Autopilot takes no node pools by name.", _has_node_pools),
    cel(3, "autopilot-auto-creation", "Autopilot creates node pools.", _creates_nothing),
    cel(4, "autopilot-image", "Autopilot's image is cos_containerd.", _has_another_image),
    cel(5, "autopilot-logging", "Autopilot's logging is DEFAULT.", _has_another_logging),
    cel(7, "pod-family", "Pod families are Autopilot's.", _has_pod_family),
    cel(22, "autopilot-congestion-control", "Autopilot keeps its TCP.", _sets_congestion_control),
    cel(23, "autopilot-changed", "The mode stays what it was.", _is_changed),
    cel(24, "autopilot-switched", "Its switch stays as it was.", _is_switched),
)
