"""What a person asks for, and what a compute class offers. Frozen values that travel as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

REQUEST_VERSION = 1


class Provisioning(StrEnum):
    SPOT = "spot"
    FLEX_START = "flex-start"
    ON_DEMAND = "on-demand"
    RESERVATION = "reservation"


@dataclass(frozen=True)
class CodeRef:
    """A developer's code by its digest; the bytes travel beside."""

    sha256: str
    size_bytes: int
    files: tuple[str, ...]


@dataclass(frozen=True)
class WorkloadRequest:
    """One request. Either `compute_class`, or a shape with a provisioning; `slipway.plan.plan` checks all of it."""

    name: str
    team: str
    kind: str
    compute_class: str | None
    generation: str | None
    topology: str | None
    machine_type: str | None
    provisioning: Provisioning | None
    reservation: str | None
    slices: int
    entrypoint: str
    code: CodeRef | None
    pip: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    max_run_seconds: int
    retries: int

    def to_mapping(self) -> dict[str, Any]:
        return {
            "version": REQUEST_VERSION,
            "name": self.name,
            "team": self.team,
            "kind": self.kind,
            "compute_class": self.compute_class,
            "generation": self.generation,
            "topology": self.topology,
            "machine_type": self.machine_type,
            "provisioning": self.provisioning.value if self.provisioning else None,
            "reservation": self.reservation,
            "slices": self.slices,
            "entrypoint": self.entrypoint,
            "code": {
                "sha256": self.code.sha256,
                "size_bytes": self.code.size_bytes,
                "files": list(self.code.files),
            }
            if self.code
            else None,
            "pip": list(self.pip),
            "env": [list(pair) for pair in self.env],
            "max_run_seconds": self.max_run_seconds,
            "retries": self.retries,
        }

    @classmethod
    def from_mapping(cls, stored: Mapping[str, Any]) -> Self:
        """Read back what `to_mapping` gave. Trusts it: what people write goes through `parse_request_file`."""
        code, provisioning = stored["code"], stored["provisioning"]
        return cls(
            name=stored["name"],
            team=stored["team"],
            kind=stored["kind"],
            compute_class=stored["compute_class"],
            generation=stored["generation"],
            topology=stored["topology"],
            machine_type=stored["machine_type"],
            provisioning=Provisioning(provisioning) if provisioning else None,
            reservation=stored["reservation"],
            slices=stored["slices"],
            entrypoint=stored["entrypoint"],
            code=CodeRef(code["sha256"], code["size_bytes"], tuple(code["files"]))
            if code
            else None,
            pip=tuple(stored["pip"]),
            env=tuple((name, value) for name, value in stored["env"]),
            max_run_seconds=stored["max_run_seconds"],
            retries=stored["retries"],
        )
