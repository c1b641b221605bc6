"""Durations as CEL and Go write them: 3s, 1h30m, 1.5s, 250ms."""

from __future__ import annotations

import re
from fractions import Fraction

_UNITS = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
_PART = r"(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)"
_WHOLE = re.compile(rf"([+-]?)((?:{_PART})+)", re.ASCII)
# Nobody writes more, and Python refuses to read numbers of thousands of digits.
_LONGEST = 100


def seconds_of(value: object) -> Fraction | None:
    """None for what is no duration."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    if value in ("0", "+0", "-0"):
        return Fraction(0)
    found = _WHOLE.fullmatch(value)
    if found is None:
        return None
    parts = re.findall(_PART, found[2], re.ASCII)
    total = sum((Fraction(f"0{number}") * _UNITS[unit] for number, unit in parts), Fraction(0))
    return -total if found[1] == "-" else total
