from __future__ import annotations


class Stop(Exception):
    """Ends the command with one line that says what is wrong and what to do."""
