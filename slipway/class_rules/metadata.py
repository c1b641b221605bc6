"""Instance metadata, of the class and of each rule."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from slipway.class_rules.reading import Place, Subject, shown
from slipway.class_rules.rule import Judge, Problem, cel

_KEY = re.compile(r"[a-zA-Z0-9_-]+")
_SHORTER_THAN, _LONGEST_VALUE = 128, 32768
_RESERVED = frozenset(
    {
        "cluster-location",
        "cluster-name",
        "cluster-uid",
        "configure-sh",
        "containerd-configure-sh",
        "enable-os-login",
        "gci-ensure-gke-docker",
        "gci-metrics-enabled",
        "gci-update-strategy",
        "instance-template",
        "kube-env",
        "startup-script",
        "user-data",
        "disable-address-manager",
        "windows-startup-script-ps1",
        "common-psm1",
        "k8s-node-setup-psm1",
        "install-ssh-psm1",
        "user-profile-psm1",
    }
)

Entry = Callable[[str, Place], Iterator[Problem]]


def _key(key: str, place: Place) -> Iterator[Problem]:
    if not _KEY.fullmatch(key) or len(key) >= _SHORTER_THAN:
        yield (
            place.path,
            f"{shown(key)} cannot be a metadata key. Take letters, digits, - and _, "
            f"fewer than {_SHORTER_THAN} of them.",
        )


def _value(key: str, place: Place) -> Iterator[Problem]:
    if isinstance(place.value, str) and len(place.value) > _LONGEST_VALUE:
        yield (
            place.path,
            f"The metadata value of {shown(key)} has {len(place.value)} characters. "
            f"Cut it to {_LONGEST_VALUE}.",
        )


def _reserved(key: str, place: Place) -> Iterator[Problem]:
    if key in _RESERVED:
        yield place.path, f"GKE sets the metadata key {key} itself. Take it away."


def _of_class(entry: Entry) -> Judge:
    def judge(subject: Subject) -> Iterator[Problem]:
        for key, place in subject.spec.entries("nodePoolConfig", "instanceMetadata"):
            yield from entry(key, place)

    return judge


def _of_rules(entry: Entry) -> Judge:
    def judge(subject: Subject) -> Iterator[Problem]:
        for priority in subject.priorities:
            for key, place in priority.entries("instanceMetadata"):
                yield from entry(key, place)

    return judge


RULES = (
    cel(27, "metadata-key", "The class's metadata keys are well formed.", _of_class(_key)),
    cel(28, "metadata-value", "The class's metadata values are not too long.", _of_class(_value)),
    cel(29, "metadata-reserved", "The class's metadata leaves GKE its keys.", _of_class(_reserved)),
    cel(46, "rule-metadata-key", "A rule's metadata keys are well formed.", _of_rules(_key)),
    cel(47, "rule-metadata-value", "A rule's metadata values are not too long.", _of_rules(_value)),
    cel(
        48, "rule-metadata-reserved", "A rule's metadata leaves GKE its keys.", _of_rules(_reserved)
    ),
)
