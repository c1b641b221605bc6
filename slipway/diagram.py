"""The state diagram as text, from the transition table: `python -m slipway.diagram > docs/reference/states.md`."""

from __future__ import annotations

from slipway.lifecycle import TERMINAL, TRANSITIONS, State

_HEAD = """# The states of an attempt

Made from `slipway.lifecycle.TRANSITIONS` by `python -m slipway.diagram`; a test compares the two.

"""


def states_mermaid() -> str:
    lines = ["stateDiagram-v2", f"    [*] --> {State.QUEUED}"]
    lines += [f"    {row.source} --> {row.target}: {row.signal}" for row in TRANSITIONS]
    lines += [f"    {state} --> [*]" for state in State if state in TERMINAL]
    return "\n".join(lines)


def page() -> str:
    return f"{_HEAD}```mermaid\n{states_mermaid()}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
