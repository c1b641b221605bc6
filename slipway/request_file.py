"""The request file: what the form asks, as a mapping that somebody wrote. Strict, since a misspelt key would be lost.

docs/reference/request-file.md describes version 1 for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slipway.errors import Complaints
from slipway.request import REQUEST_VERSION, Provisioning, WorkloadRequest

_KEYS = {
    "version", "name", "team", "kind", "compute_class", "shape", "provisioning", "reservation", "slices",
    "entrypoint", "script", "runtime_env", "max_run_seconds", "retries",
}  # fmt: skip
_SHAPE_KEYS = {"generation", "topology", "machine_type"}
_ENVIRONMENT_KEYS = {"pip", "env_vars"}
# Hosts are asked for so often elsewhere that the answer is worth a sentence.
_DERIVED = {"hosts", "num_hosts", "numOfHosts", "chips"}


@dataclass(frozen=True)
class RequestFile:
    """`request.code` is None: the script beside it has to be packed first."""

    request: WorkloadRequest
    script: str | None


def parse_request_file(content: object) -> RequestFile:
    """Raises FieldErrors by the file's own keys (`shape.topology`). Shapes and limits are for `plan` to check."""
    wrong = Complaints()
    if not isinstance(content, Mapping):
        wrong.add("file", "A request file is a mapping with version, name, team and so on.")
        wrong.raise_if_any()
        raise AssertionError("unreachable")
    read = _Reader(content, wrong)
    if "version" not in content:
        wrong.add("version", f"Say version: {REQUEST_VERSION} first.")
    elif content["version"] != REQUEST_VERSION or isinstance(content["version"], bool):
        wrong.add(
            "version",
            f"Only version {REQUEST_VERSION} is known, not {str(content['version'])[:20]}.",
        )
    read.no_others(_KEYS, "")
    shape = _Reader(read.mapping("shape"), wrong, "shape.")
    shape.no_others(_SHAPE_KEYS, "shape.")
    environment = _Reader(read.mapping("runtime_env"), wrong, "runtime_env.")
    environment.no_others(_ENVIRONMENT_KEYS, "runtime_env.")
    if "shape" in content and content.get("compute_class") is not None:
        wrong.add(
            "shape",
            "Give either a shape or a compute_class, not both: the class says which shapes are tried.",
        )
    request = WorkloadRequest(
        name=read.text("name") or "",
        team=read.text("team") or "",
        kind=read.text("kind") or "job",
        compute_class=read.text("compute_class"),
        generation=shape.text("generation"),
        topology=shape.text("topology"),
        machine_type=shape.text("machine_type"),
        provisioning=read.provisioning("provisioning"),
        reservation=read.text("reservation"),
        slices=read.number("slices", 1),
        entrypoint=read.text("entrypoint") or "",
        code=None,
        pip=environment.texts("pip"),
        env=environment.pairs("env_vars"),
        max_run_seconds=read.number("max_run_seconds", 3600),
        retries=read.number("retries", 0),
    )
    script = read.text("script")
    wrong.raise_if_any()
    return RequestFile(request, script)


class _Reader:
    """Takes values of the right type out of a mapping, and complains about the others."""

    def __init__(
        self, content: Mapping[object, object], wrong: Complaints, prefix: str = ""
    ) -> None:
        self._content = content
        self._wrong = wrong
        self._prefix = prefix

    def no_others(self, known: set[str], prefix: str) -> None:
        for key in self._content:
            if key in known:
                continue
            if key in _DERIVED:
                message = "Hosts and chips follow from topology and machine type. Remove this line."
            else:
                message = f"This key is not known. Known are {', '.join(sorted(known))}."
            self._wrong.add(f"{prefix}{str(key)[:40]}", message)

    def text(self, key: str) -> str | None:
        value = self._content.get(key)
        if value is None or isinstance(value, str):
            return value
        self._complain(key, "Write text.", value)
        return None

    def number(self, key: str, default: int) -> int:
        value = self._content.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._complain(key, "Write a whole number.", value)
        return default

    def mapping(self, key: str) -> Mapping[object, object]:
        value = self._content.get(key)
        if value is None:
            return {}
        if isinstance(value, Mapping):
            return value
        self._complain(key, "Write a mapping.", value)
        return {}

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._content.get(key)
        if value is None:
            return ()
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        self._complain(key, "Write a list of texts.", value)
        return ()

    def pairs(self, key: str) -> tuple[tuple[str, str], ...]:
        value = self._content.get(key)
        if value is None:
            return ()
        if isinstance(value, Mapping) and all(
            isinstance(name, str) and isinstance(text, str) for name, text in value.items()
        ):
            return tuple(value.items())
        self._complain(key, 'Write names with texts, quoting numbers: STEPS: "30".', value)
        return ()

    def provisioning(self, key: str) -> Provisioning | None:
        value = self.text(key)
        if value is None:
            return None
        try:
            return Provisioning(value)
        except ValueError:
            names = ", ".join(Provisioning)
            self._wrong.add(
                self._prefix + key, f"{value[:40]!r} is no provisioning. Choose one of {names}."
            )
            return None

    def _complain(self, key: str, message: str, value: object) -> None:
        self._wrong.add(
            self._prefix + key, f"{message} This is {type(value).__name__}: {str(value)[:40]}."
        )
