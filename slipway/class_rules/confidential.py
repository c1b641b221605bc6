"""Confidential nodes: which machines and GPUs each technique has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slipway.class_rules.reading import Priority, Subject
from slipway.class_rules.rule import Judge, Problem, cel

_SEV_FAMILIES = ("n2d", "c2d", "c3d", "c4d", "g4")
_SEV_SNP_FAMILIES = ("n2d",)
_TDX_FAMILIES = ("c3", "c4", "a3", "a4")
_TDX_PREFIXES = ("c3-standard-", "c4-standard-")
_TDX_MACHINES = ("a3-highgpu-1g", "a4-highgpu-8g")
_RTX, _H100, _B200 = "nvidia-rtx-pro-6000", "nvidia-h100-80gb", "nvidia-b200"
_SEV_G4_MACHINE = "g4-standard-48"

_KIND = ("nodePoolConfig", "confidentialNodeType")


def _has_no_machine(subject: Subject) -> Iterator[Problem]:
    if subject.spec.has(*_KIND):
        for priority in subject.priorities:
            if not priority.has("machineFamily") and not priority.has("machineType"):
                yield (
                    priority.path,
                    f"Nodes are to be confidential, and {priority.title.lower()} names no machine. "
                    "Give it a machineFamily or a machineType that can be.",
                )


def _each(kind: str, is_wrong: Callable[[Priority], bool], advice: str) -> Judge:
    """Judges every rule of a class of this confidential kind."""

    def judge(subject: Subject) -> Iterator[Problem]:
        if subject.spec.text(*_KIND) == kind:
            for priority in subject.priorities:
                if is_wrong(priority):
                    yield priority.path, f"{priority.title} cannot be {kind}: {advice}"

    return judge


def _is_of(priority: Priority, families: tuple[str, ...]) -> bool:
    return (
        priority.text("machineFamily") in families
        or priority.text("machineType").split("-")[0] in families
    )


def _is_no_sev(priority: Priority) -> bool:
    return not _is_of(priority, _SEV_FAMILIES)


def _is_no_sev_snp(priority: Priority) -> bool:
    return not _is_of(priority, _SEV_SNP_FAMILIES)


def _is_no_sev_g4(priority: Priority) -> bool:
    machine = priority.text("machineType")
    if priority.text("machineFamily") == "g4":
        return True
    return machine.startswith("g4-") and not (
        machine == _SEV_G4_MACHINE and _has_gpu_or_none(priority, _RTX)
    )


def _is_no_tdx(priority: Priority) -> bool:
    machine = priority.text("machineType")
    return not (
        priority.text("machineFamily") in _TDX_FAMILIES
        or machine.startswith(_TDX_PREFIXES)
        or machine in _TDX_MACHINES
    )


def _has_another_gpu(family: str, machine: str, gpu: str) -> Callable[[Priority], bool]:
    """Whether a rule for this family has a GPU other than the one that it may have.

    `machine` is a machine type, or the beginning of several when it ends with a dash.
    """

    def is_wrong(priority: Priority) -> bool:
        named = priority.text("machineType")
        fits = named.startswith(machine) if machine.endswith("-") else named == machine
        is_meant = fits or priority.text("machineFamily") == family
        return is_meant and not _has_gpu_or_none(priority, gpu)

    return is_wrong


def _has_gpu_or_none(priority: Priority, gpu: str) -> bool:
    kind = priority.at("gpu", "type").value
    return kind is None or kind == gpu


def _has_gpu_anywhere(subject: Subject) -> Iterator[Problem]:
    if not subject.spec.has(*_KIND) or not any(p.has("gpu") for p in subject.priorities):
        return
    if subject.spec.has("priorityDefaults", "location", "zones"):
        return
    for priority in subject.priorities:
        if not priority.has("location", "zones"):
            yield (
                priority.at("location", "zones").path,
                f"Confidential GPUs are in few zones, and {priority.title.lower()} names none. "
                "Name zones in every rule or in priorityDefaults.",
            )


def _families(names: tuple[str, ...]) -> str:
    return f"take a machine of {', '.join(names)}."


RULES = (
    cel(8, "confidential-machine", "Confidential rules name a machine.", _has_no_machine),
    cel(
        9,
        "confidential-sev-family",
        "SEV is for some machine families.",
        _each("SEV", _is_no_sev, _families(_SEV_FAMILIES)),
    ),
    cel(
        10,
        "confidential-sev-g4",
        "SEV on G4 has one machine and one GPU.",
        _each("SEV", _is_no_sev_g4, f"of g4 take {_SEV_G4_MACHINE}, with {_RTX} if any GPU."),
    ),
    cel(
        11,
        "confidential-sev-snp-family",
        "SEV_SNP is for N2D.",
        _each("SEV_SNP", _is_no_sev_snp, _families(_SEV_SNP_FAMILIES)),
    ),
    cel(
        12,
        "confidential-tdx-family",
        "TDX is for some machines.",
        _each(
            "TDX",
            _is_no_tdx,
            f"take a c3-standard or c4-standard machine, {' or '.join(_TDX_MACHINES)}.",
        ),
    ),
    *(
        cel(
            number,
            f"confidential-tdx-{family}-gpu",
            f"TDX on {family.upper()} has one kind of GPU.",
            _each("TDX", _has_another_gpu(family, machine, gpu), f"its GPU on {family} is {gpu}."),
        )
        for number, family, machine, gpu in (
            (13, "c3", "c3-standard-", _H100),
            (14, "c4", "c4-standard-", _H100),
            (15, "a3", "a3-highgpu-1g", _H100),
            (16, "a4", "a4-highgpu-8g", _B200),
        )
    ),
    cel(17, "confidential-gpu-zones", "Confidential GPUs need zones.", _has_gpu_anywhere),
)
