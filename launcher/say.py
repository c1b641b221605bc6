"""Progress in words, with seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from launcher.errors import Stop


@contextmanager
def step(text: str) -> Iterator[None]:
    """One line per step: what is done, then how long it took. A failure is told on the same line."""
    began = time.monotonic()
    print(f"  {text} ...", end=" ", flush=True)
    try:
        yield
    except Stop:
        print("no", flush=True)
        raise
    print(f"{time.monotonic() - began:.1f} s", flush=True)
