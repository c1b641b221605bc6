"""From a request to the rungs it can run on, in order. Every wrong field is named at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from slipway.catalog import Catalog
from slipway.compute_class import ClassRule, ComputeClassSpec, check_reservation
from slipway.errors import Complaints, FieldErrors
from slipway.request import Provisioning, WorkloadRequest
from slipway.topology import Shape, resolve_shape

MAX_NAME = 63
MAX_SLICES = 256
# One RayCluster. Ray's own tests stop near here; more hosts are a question for Ray, not for a form.
MAX_HOSTS = 4096
MAX_ENTRYPOINT = 4096
MAX_PIP_LINES = 100
MAX_ENV_BYTES = 32 * 1024
RUN_SECONDS = (60, 30 * 86_400)
MAX_RETRIES = 10
KINDS = ("job",)

# How long a rung may wait for its slices: short where another shape follows, long where nothing does.
WAIT_BEFORE_NEXT_RUNG_S = 900
WAIT_ON_LAST_RUNG_S = 3600

RESERVED_ENV = ("TPU_", "RAY_", "SLIPWAY_", "MEGASCALE_", "KUBERNETES_")
_ENV_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_SECRET_LIKE = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|CREDENTIAL", re.IGNORECASE)
_FLEX_START_LONGEST_S = 7 * 86_400


@dataclass(frozen=True)
class Rung:
    """One shape to try. GKE moves between `provisionings` by itself; `wait_s` is how long all of them together get."""

    index: int
    shape: Shape
    provisionings: tuple[Provisioning, ...]
    slices: int
    compute_class: str | None
    reservation: str | None
    wait_s: int

    @property
    def hosts(self) -> int:
        """TPU hosts of all slices."""
        return self.shape.hosts * self.slices

    @property
    def chips(self) -> int:
        """Chips of all slices."""
        return self.shape.chips * self.slices


@dataclass(frozen=True)
class Plan:
    request: WorkloadRequest
    rungs: tuple[Rung, ...]
    warnings: tuple[str, ...]


def plan(
    request: WorkloadRequest, compute_class: ComputeClassSpec | None, catalog: Catalog
) -> Plan:
    """The rungs for `request`, the first to be tried first.

    `compute_class` is the class that the request names. Raises FieldErrors with every field at fault. Does not know
    quotas, nor who may use the class.
    """
    wrong = Complaints()
    _check_texts(request, wrong)
    _check_numbers(request, wrong)
    _check_environment(request, wrong)
    try:
        rungs = _rungs(request, compute_class, catalog)
    except FieldErrors as exc:
        wrong.merge(exc)
        rungs = ()
    if "slices" not in wrong:
        _check_size(rungs, wrong)
    wrong.raise_if_any()
    return Plan(request, rungs, tuple(_warnings(request, rungs)))


def _rungs(
    request: WorkloadRequest, compute_class: ComputeClassSpec | None, catalog: Catalog
) -> tuple[Rung, ...]:
    if request.compute_class is None:
        return (_own_rung(request, catalog),)
    if compute_class is None or compute_class.name != request.compute_class:
        message = (
            f"There is no compute class {request.compute_class[:60]!r}. Choose one of the list."
        )
        raise FieldErrors({"compute_class": (message,)})
    # GKE tries every rule of the shape that the pods select, wherever it stands in the class.
    by_shape: dict[Shape, list[ClassRule]] = {}
    for rule in compute_class.rules:
        by_shape.setdefault(rule.shape(catalog), []).append(rule)
    last = len(by_shape) - 1
    return tuple(
        Rung(
            index=index,
            shape=shape,
            provisionings=tuple(dict.fromkeys(rule.provisioning for rule in rules)),
            slices=request.slices,
            compute_class=compute_class.name,
            reservation=None,
            wait_s=WAIT_ON_LAST_RUNG_S if index == last else WAIT_BEFORE_NEXT_RUNG_S,
        )
        for index, (shape, rules) in enumerate(by_shape.items())
    )


def _own_rung(request: WorkloadRequest, catalog: Catalog) -> Rung:
    wrong = Complaints()
    shape = None
    if not request.generation:
        wrong.add("generation", "Choose a compute class, or a generation and a topology.")
    elif not request.topology:
        wrong.add(
            "topology",
            f"Choose a {request.generation[:20]} topology, such as {_example(request, catalog)}.",
        )
    else:
        try:
            shape = resolve_shape(
                catalog, request.generation, request.topology, request.machine_type
            )
        except FieldErrors as exc:
            wrong.merge(exc)
    if request.provisioning is None:
        wrong.add("provisioning", "Choose spot, flex-start, on-demand or reservation.")
    elif request.provisioning is Provisioning.RESERVATION:
        check_reservation(request.reservation, wrong)
    elif request.reservation:
        wrong.add("reservation", "Only provisioning from a reservation names one. Empty the field.")
    if (
        shape
        and request.provisioning is Provisioning.FLEX_START
        and not shape.generation.flex_start
    ):
        wrong.add(
            "provisioning",
            f"There is no flex-start for {shape.generation.name}. Choose spot or on-demand.",
        )
    wrong.raise_if_any()
    assert shape is not None
    assert request.provisioning is not None
    return Rung(
        index=0,
        shape=shape,
        provisionings=(request.provisioning,),
        slices=request.slices,
        compute_class=None,
        reservation=request.reservation,
        wait_s=WAIT_ON_LAST_RUNG_S,
    )


def _example(request: WorkloadRequest, catalog: Catalog) -> str:
    known = request.generation in catalog.generations
    return (
        str(catalog.shapes(request.generation)[-1].topology)
        if known and request.generation
        else "4x4"
    )


def _check_texts(request: WorkloadRequest, wrong: Complaints) -> None:
    if not request.name.strip():
        wrong.add("name", "Give the workload a name.")
    elif len(request.name) > MAX_NAME:
        wrong.add(
            "name",
            f"The name has {len(request.name)} characters; {MAX_NAME} is the most. Shorten it.",
        )
    elif not request.name.isprintable():
        wrong.add("name", "The name holds a control character or a line break. Remove it.")
    if request.kind not in KINDS:
        wrong.add("kind", f"There is no kind {request.kind[:40]!r}. Choose {', '.join(KINDS)}.")
    if not request.entrypoint.strip():
        wrong.add("entrypoint", "Say which command to run, such as python main.py.")
    elif len(request.entrypoint) > MAX_ENTRYPOINT:
        wrong.add(
            "entrypoint",
            f"The command has more than {MAX_ENTRYPOINT} characters. Put it into the script.",
        )
    elif _has_control(request.entrypoint):
        wrong.add(
            "entrypoint",
            "The command holds a control character. Write it as one line of plain text.",
        )


def _check_numbers(request: WorkloadRequest, wrong: Complaints) -> None:
    if not 1 <= request.slices <= MAX_SLICES:
        wrong.add(
            "slices",
            f"{_shown(request.slices)} slices are not possible. Ask for 1 to {MAX_SLICES}.",
        )
    least, most = RUN_SECONDS
    if not least <= request.max_run_seconds <= most:
        wrong.add(
            "max_run_seconds",
            f"A run lasts {least} seconds to {most} (30 days), not {_shown(request.max_run_seconds)}.",
        )
    if not 0 <= request.retries <= MAX_RETRIES:
        wrong.add(
            "retries", f"0 to {MAX_RETRIES} retries are possible, not {_shown(request.retries)}."
        )


def _check_environment(request: WorkloadRequest, wrong: Complaints) -> None:
    if len(request.pip) > MAX_PIP_LINES:
        wrong.add(
            "pip",
            f"{len(request.pip)} packages are listed; {MAX_PIP_LINES} is the most. Build an image.",
        )
    for line in request.pip[:MAX_PIP_LINES]:
        if (
            not line.strip()
            or line.lstrip().startswith("-")
            or _has_control(line)
            or len(line) > 300
        ):
            wrong.add(
                "pip",
                f"{line[:60]!r} is not a requirement. Write one a line, such as optax==0.2.5.",
            )
    names = [name for name, _ in request.env]
    for name, value in request.env:
        if not _ENV_NAME.fullmatch(name) or len(name) > 200:
            wrong.add(
                "env",
                f"{name[:60]!r} is not a variable's name. Use letters, digits and _, as in STEPS=30.",
            )
        elif name.upper().startswith(RESERVED_ENV):
            wrong.add(
                "env",
                f"{name[:60]} is set by Slipway, Ray or GKE. Choose a name without that prefix.",
            )
        if "\x00" in value:
            wrong.add("env", f"The value of {name[:60]} holds a NUL character. Remove it.")
    for name in sorted({name for name in names if names.count(name) > 1}):
        wrong.add("env", f"{name[:60]} is set twice. Keep one.")
    if (
        sum(len(name) + len(value.encode("utf-8", "replace")) for name, value in request.env)
        > MAX_ENV_BYTES
    ):
        wrong.add(
            "env",
            f"The variables have more than {MAX_ENV_BYTES // 1024} KiB. Put data into the code.",
        )


def _check_size(rungs: Iterable[Rung], wrong: Complaints) -> None:
    for rung in rungs:
        if rung.hosts > MAX_HOSTS:
            most = MAX_HOSTS // rung.shape.hosts
            wrong.add(
                "slices",
                f"{rung.slices} slices of {rung.shape} are {rung.hosts} hosts; one workload has {MAX_HOSTS} at most. "
                f"Ask for {most} or fewer.",
            )
            return


def _warnings(request: WorkloadRequest, rungs: Iterable[Rung]) -> Iterable[str]:
    for rung in rungs:
        yield from _shape_warnings(rung)
    provisionings = {provisioning for rung in rungs for provisioning in rung.provisionings}
    if Provisioning.SPOT in provisionings and request.retries == 0:
        yield "Spot hosts can be taken away at any time, and no retry is set: the job would then fail."
    if Provisioning.FLEX_START in provisionings and request.max_run_seconds > _FLEX_START_LONGEST_S:
        yield "A flex-start lease ends after 7 days at the latest, before the longest run that is asked for."
    for name, _ in request.env:
        if _SECRET_LIKE.search(name):
            yield f"{name} looks like a secret. Variables are stored and shown as they are: leave secrets out."
    if request.code is None:
        yield "No script or zip is given: the command must exist in the image."


def _shape_warnings(rung: Rung) -> Iterable[str]:
    shape = rung.shape
    if shape.generation.note:
        yield f"{shape.generation.title}: {shape.generation.note}"
    if str(shape.topology) == "2x4" and shape.is_multi_host:
        yield (
            f"{shape} on {shape.machine.name} is 2 hosts of 4 chips. Ray takes a 2x4 for one host of 8 unless it is "
            "told: pass chips_per_vm=4 when reserving slices, or choose the machine type with 8 chips."
        )


def _has_control(text: str) -> bool:
    return any(ord(char) < 32 or ord(char) == 127 for char in text)


def _shown(number: int) -> str:
    return f"{number:,}" if abs(number) < 10**15 else "so many"
