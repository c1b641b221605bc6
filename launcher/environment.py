"""Settings for the embedded product: secrets made once and kept in `var/slipway.env`, readable by the owner only."""

from __future__ import annotations

import base64
import os
import secrets

from launcher.places import VAR, Port

FILE = VAR / "slipway.env"


def prepare(ports: dict[str, Port]) -> dict[str, str]:
    """Write what is missing, and return the environment that every process gets."""
    VAR.mkdir(mode=0o700, parents=True, exist_ok=True)
    stored = read()
    made = {
        "SLIPWAY_SECRET_KEY": secrets.token_urlsafe(50),
        "SLIPWAY_ENCRYPTION_KEYS": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
    }
    values = (
        made
        | stored
        | {
            "SLIPWAY_BROKER_URL": f"redis://127.0.0.1:{ports['broker'].number}/0",
            "SLIPWAY_INSTANCE": "laptop",
        }
    )
    if values != stored:
        _write(values)
    return (
        os.environ
        | values
        | {
            "SLIPWAY_STATE_DIR": str(VAR),
            "PYTHONUNBUFFERED": "1",
            "DJANGO_SETTINGS_MODULE": "webapp.settings",
        }
    )


def read() -> dict[str, str]:
    if not FILE.exists():
        return {}
    pairs = (line.partition("=") for line in FILE.read_text().splitlines() if "=" in line)
    return {name: value for name, _, value in pairs}


def _write(values: dict[str, str]) -> None:
    """Whole or not at all: half a key file would lock everybody out."""
    temporary = FILE.with_suffix(".new")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.writelines(f"{name}={value}\n" for name, value in values.items())
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(FILE)
