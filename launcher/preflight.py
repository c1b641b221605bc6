"""What would make the start fail later, said first and in one line."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterable
from pathlib import Path

from launcher.errors import Stop
from launcher.places import VAR, Port

# The environment takes 1.2 GB; Ray warns, then stops working, when the disk is nearly full.
FREE_FIRST_GB, FREE_LATER_GB = 4.0, 1.0


def disk(is_first: bool) -> None:
    """Raises Stop when there is too little room."""
    place = VAR if VAR.exists() else VAR.parent
    free = shutil.disk_usage(place).free / 1e9
    wanted = FREE_FIRST_GB if is_first else FREE_LATER_GB
    if free < wanted:
        raise Stop(
            f"The disk of {place} has {free:.1f} GB free and Slipway needs {wanted:.0f}. Make room, then run it again."
        )


def memory() -> str:
    """A warning, or ""."""
    for line in (
        Path("/proc/meminfo").read_text().splitlines() if Path("/proc/meminfo").exists() else ()
    ):
        if line.startswith("MemAvailable:"):
            gib = int(line.split()[1]) / 1024**2
            if gib < 4:
                return (
                    f"Only {gib:.1f} GiB of memory are free; four emulated hosts take about 3 GiB."
                )
    return ""


def free_ports(ports: Iterable[Port]) -> None:
    """Raises Stop for a port that somebody listens on."""
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port.number))
            except OSError as exc:
                raise Stop(
                    f"Port {port.number}, for the {port.name}, is taken. Free it, or choose another: "
                    f"{port.variable}={port.number + 100} make up"
                ) from exc
