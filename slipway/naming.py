"""Names and labels of the objects we write: functions of a row, so that a repeated create is no second object.

KubeRay and the TPU webhook disagree about cluster names above 41 characters, and KubeRay appends six to ours; so an
object's name has 35 at most.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

MAX_OBJECT_NAME = 35
INSTANCE_LABEL = "slipway.dev/instance"
TEAM_LABEL = "slipway.dev/team"
WORKLOAD_LABEL = "slipway.dev/workload"
ATTEMPT_LABEL = "slipway.dev/attempt"
MANAGED_BY = {"app.kubernetes.io/managed-by": "slipway"}

# Without l and o, which look like digits.
_LETTERS = "abcdefghijkmnpqrstuvwxyz"
_ALPHABET = _LETTERS + "234567"
_UID = re.compile(r"^[a-z][a-z2-7]{7}$")
_SLUG_LENGTH = 20


@dataclass(frozen=True)
class Target:
    """Where and as whose an attempt is written."""

    instance: str
    namespace: str
    team: str
    owner: str
    workload_uid: str
    attempt: int
    ray_image: str
    ray_version: str

    def labels(self) -> dict[str, str]:
        return {
            **MANAGED_BY,
            INSTANCE_LABEL: self.instance,
            TEAM_LABEL: self.team,
            WORKLOAD_LABEL: self.workload_uid,
            ATTEMPT_LABEL: str(self.attempt),
        }


def new_workload_uid(random: Callable[[int], bytes]) -> str:
    """Eight characters that are a DNS label by themselves. `random(n)` gives n bytes, such as os.urandom."""
    first, *rest = random(8)
    return _LETTERS[first % len(_LETTERS)] + "".join(
        _ALPHABET[byte % len(_ALPHABET)] for byte in rest
    )


def is_workload_uid(text: str) -> bool:
    return bool(_UID.fullmatch(text))


def object_name(name: str, uid: str, attempt: int) -> str:
    """`<slug>-<uid>-<attempt>`: a DNS-1035 label of at most 35 characters, unique by uid and attempt."""
    made = f"{slug(name)}-{uid}-{attempt}"
    assert len(made) <= MAX_OBJECT_NAME, made
    return made


def slug(name: str) -> str:
    """What of a display name can stand in an object's name; `job` when nothing can."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    cut = re.sub(r"^[^a-z]+", "", words)[:_SLUG_LENGTH].strip("-")
    return cut or "job"


def annotation_value(text: str) -> str:
    """Annotations hold any text; control characters are taken out, since people read them in terminals."""
    return "".join(char for char in text if char.isprintable())[:200]
