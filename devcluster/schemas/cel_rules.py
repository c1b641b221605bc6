"""Cross-field rules in CEL.

What the evaluator can't decide is reported as such, never as passed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from devcluster.errors import Cause
from devcluster.schemas.model import Rule, rules


@dataclass
class Evaluated:
    causes: list[Cause] = field(default_factory=list)
    not_evaluated: list[str] = field(default_factory=list)


def evaluate(struct: str, value: Mapping[str, Any], old: Any, path: str) -> Evaluated:
    """Judge `value` by the rules of `struct`.

    A transition rule needs an old value and is skipped without.
    """
    found = Evaluated()
    before = old if isinstance(old, Mapping) else None
    for rule in rules(struct):
        if rule.field and rule.field not in value:
            continue
        subject = value[rule.field] if rule.field else value
        old_subject = before if not rule.field or before is None else before.get(rule.field)
        if rule.is_transition and old_subject is None:
            continue
        at = ".".join(part for part in (path, rule.field) if part)
        verdict = _judge(rule, subject, old_subject)
        if verdict is None:
            found.not_evaluated.append(f"{at}: rule not evaluated: {rule.rule}")
        elif not verdict:
            shown = "object" if isinstance(subject, dict) else subject
            found.causes.append(Cause(at, f"Invalid value: {json.dumps(shown)}: {rule.message}"))
    return found


def _judge(rule: Rule, subject: Any, old_subject: Any) -> bool | None:
    """True, False, or None when the rule can't be evaluated here."""
    program = _compiled(rule.rule)
    if program is None:
        return None
    try:
        verdict = program.execute({"self": subject, "oldSelf": old_subject})
    except (RuntimeError, TypeError, ValueError):
        return None
    return verdict if isinstance(verdict, bool) else None


@cache
def _compiled(rule: str) -> Any:
    """The program, or None when the rule does not parse.

    Imported late: most objects have no rules.
    """
    import cel

    try:
        return cel.compile(rule)
    except ValueError:
        return None
