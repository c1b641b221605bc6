"""The slice that a rule asks for: type, chips per host and topology, which GKE compares all three."""

from __future__ import annotations

from collections.abc import Iterator

from slipway.catalog import Catalog, MachineType
from slipway.class_rules.reading import Priority, Subject, shown
from slipway.class_rules.rule import AUTOSCALER, DOCUMENTATION, SLIPWAY, Problem, error, warning

_IRONWOOD = "tpu7x"
_DISPUTED_TOPOLOGY, _DISPUTED_CHIPS = "2x4", 4
_TRIPLET = ("type", "count", "topology")


def machines_of(label: str, catalog: Catalog) -> tuple[MachineType, ...]:
    """The machine types whose accelerator label this is."""
    return tuple(
        machine
        for generation in catalog.generations.values()
        for machine in generation.machines
        if machine.accelerator_label == label
    )


def generations_of(priority: Priority, catalog: Catalog) -> frozenset[str]:
    """The generation that the rule's TPU type means: one, or none for an unknown type."""
    label = priority.text("tpu", "type")
    return frozenset(machine.generation for machine in machines_of(label, catalog))


def _topologies(label: str, catalog: Catalog) -> dict[str, set[int]]:
    """The topologies of a TPU type, in order of size, with the chips per host that form them."""
    found: dict[str, set[int]] = {}
    for name in {machine.generation for machine in machines_of(label, catalog)}:
        for shape in catalog.shapes(name):
            if shape.machine.accelerator_label == label:
                found.setdefault(str(shape.topology), set()).add(shape.chips_per_host)
    return found


def _is_incomplete(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        if priority.has("tpu"):
            for field in _TRIPLET:
                if not priority.has("tpu", field):
                    yield (
                        priority.at("tpu", field).path,
                        f"{priority.title} asks for TPUs without saying their {field}. GKE compares type, count and "
                        "topology, so it would never match a node pool. Add it.",
                    )


def _is_no_type(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        label = priority.text("tpu", "type")
        if label and not label.startswith("tpu"):
            yield (
                priority.at("tpu", "type").path,
                f"{priority.title}: {shown(label)} is no TPU type of GKE. Choose {_labels(subject.catalog)}.",
            )


def _is_unknown_type(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        label = priority.text("tpu", "type")
        if label.startswith("tpu") and not machines_of(label, subject.catalog):
            yield (
                priority.at("tpu", "type").path,
                f"{priority.title}: Slipway does not know the TPU type {shown(label)}, so it cannot check the rule. "
                f"It knows {_labels(subject.catalog)}.",
            )


def _labels(catalog: Catalog) -> str:
    labels = dict.fromkeys(
        machine.accelerator_label
        for generation in catalog.generations.values()
        for machine in generation.machines
    )
    return ", ".join(labels)


def _is_no_topology(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        label, topology = priority.text("tpu", "type"), priority.text("tpu", "topology")
        known = _topologies(label, subject.catalog)
        if topology and known and topology not in known:
            offers = ", ".join(list(known)[:8])
            yield (
                priority.at("tpu", "topology").path,
                f"{priority.title}: {shown(topology)} is no topology of {label}. "
                f"Choose {offers}{' or a larger one' if len(known) > 8 else ''}.",
            )


def _is_no_machine(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        label, count = priority.text("tpu", "type"), priority.number("tpu", "count")
        chips = sorted({machine.chips for machine in machines_of(label, subject.catalog)})
        if chips and count is not None and count not in chips:
            offers = " or ".join(str(number) for number in chips)
            yield (
                priority.at("tpu", "count").path,
                f"{priority.title}: no machine with {label} has {count} chips. The count is that of one host, "
                f"not of the slice: {offers}.",
            )


def _does_not_divide(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        label, topology = priority.text("tpu", "type"), priority.text("tpu", "topology")
        count = priority.number("tpu", "count")
        fitting = _topologies(label, subject.catalog).get(topology, set())
        chips = {machine.chips for machine in machines_of(label, subject.catalog)}
        if fitting and count in chips and count not in fitting:
            offers = " or ".join(str(number) for number in sorted(fitting))
            yield (
                priority.at("tpu", "count").path,
                f"{priority.title}: hosts of {count} chips do not form a {topology} of {label}. "
                f"Take {offers}.",
            )


def _is_two_hosts(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        is_disputed = priority.text("tpu", "topology") == _DISPUTED_TOPOLOGY
        count = priority.number("tpu", "count")
        fitting = _topologies(priority.text("tpu", "type"), subject.catalog)
        if is_disputed and count == _DISPUTED_CHIPS and 8 in fitting.get(_DISPUTED_TOPOLOGY, ()):
            yield (
                priority.at("tpu", "count").path,
                f"{priority.title}: a 2x4 with 4 chips per host is two hosts, and Ray takes it for one of eight. "
                "Set count to 8 for one host, or see that your workloads ask for two.",
            )


def _has_no_policy(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        is_multi_host = (priority.hosts or 0) > 1
        if priority.text("tpu", "type") == _IRONWOOD and is_multi_host:
            place = priority.at("placement", "policyName")
            if place.value is None:
                yield (
                    place.path,
                    f"{priority.title}: a {_IRONWOOD} slice of several hosts needs a workload policy. Name it in "
                    "placement.policyName, unless the pods name one.",
                )


def _is_another_machine(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        machine = _tpu_machine(priority, subject.catalog)
        label, count = priority.text("tpu", "type"), priority.number("tpu", "count")
        if machine is None or not label or count is None:
            continue
        if (machine.accelerator_label, machine.chips) != (label, count):
            yield (
                priority.at("machineType").path,
                f"{priority.title}: {machine.name} has {machine.chips} chips of {machine.accelerator_label}, "
                f"and the rule wants {count} of {shown(label)}. Make them agree, or take the machine type away.",
            )


def _is_machine_without_slice(subject: Subject) -> Iterator[Problem]:
    for priority in subject.priorities:
        machine = _tpu_machine(priority, subject.catalog)
        if machine is not None and not priority.has("tpu"):
            yield (
                priority.at("tpu").path,
                f"{priority.title} names the TPU machine {machine.name} and no slice, so no pod that wants a "
                "topology finds it. Add tpu with type, count and topology.",
            )


def _tpu_machine(priority: Priority, catalog: Catalog) -> MachineType | None:
    named = priority.text("machineType")
    machines = (m for generation in catalog.generations.values() for m in generation.machines)
    return next((machine for machine in machines if machine.name == named), None)


RULES = (
    error("tpu-triplet", SLIPWAY, "A slice is a type, a count and a topology.", _is_incomplete),
    error("tpu-type", AUTOSCALER, "TPU types are GKE's labels.", _is_no_type),
    error("tpu-topology", AUTOSCALER, "The topology is one of the type.", _is_no_topology),
    error("tpu-count", AUTOSCALER, "The count is that of a machine.", _is_no_machine),
    error(
        "tpu-count-topology", AUTOSCALER, "Hosts of this count form the slice.", _does_not_divide
    ),
    error("tpu-machine-type", SLIPWAY, "The machine is that of the slice.", _is_another_machine),
    warning("tpu-type-unknown", SLIPWAY, "Slipway knows the type.", _is_unknown_type),
    warning("tpu-2x4", SLIPWAY, "A 2x4 is one host or two.", _is_two_hosts),
    warning("tpu7x-policy", DOCUMENTATION, "TPU7x slices have a policy.", _has_no_policy),
    warning(
        "tpu-machine-alone", SLIPWAY, "A TPU machine comes with a slice.", _is_machine_without_slice
    ),
)
