"""Where things are, and the ports they listen on. All state is under `var/`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import Stop

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
VAR = Path(os.environ.get("SLIPWAY_STATE_DIR", ROOT / "var")).absolute()
LOGS = VAR / "log"
DEVCLUSTER = VAR / "devcluster"
KUBECONFIG = DEVCLUSTER / "kubeconfig"
SIGN_INS = VAR / "sign-ins.json"


@dataclass(frozen=True)
class Port:
    name: str
    variable: str
    number: int


def ports() -> dict[str, Port]:
    """Raises Stop for a variable that is no port."""
    wanted = (
        ("web", "SLIPWAY_PORT", 8000),
        ("broker", "SLIPWAY_BROKER_PORT", 8002),
        ("devcluster", "SLIPWAY_DEVCLUSTER_PORT", 8003),
    )
    found = {}
    for name, variable, default in wanted:
        text = os.environ.get(variable, str(default))
        if not text.isdecimal() or not 1024 <= int(text) <= 65535:
            raise Stop(f"{variable}={text} is not a port. Choose a number from 1024 to 65535.")
        found[name] = Port(name, variable, int(text))
    return found
