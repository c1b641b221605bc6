"""Every rule finds what it is for, where it is, and nothing in a class beside."""

from __future__ import annotations

import json

import pytest

from slipway.catalog import CATALOG
from slipway.class_rules import RULES, Finding, check
from tests.slipway.class_rules.examples import EXAMPLES, Example

IDS = [rule.id for rule in RULES]


def failing(example: Example) -> tuple[Finding, ...]:
    return check(example.failing, name=example.name, old=example.old, catalog=CATALOG)


def passing(example: Example) -> tuple[Finding, ...]:
    return check(example.passing, name=example.passing_name, old=example.old, catalog=CATALOG)


def test_every_rule_has_one_id_and_one_example() -> None:
    assert len(set(IDS)) == len(IDS)
    assert set(IDS) == set(EXAMPLES)


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_what_breaks_a_rule_is_found_where_it_is(rule) -> None:
    found = [finding for finding in failing(EXAMPLES[rule.id]) if finding.rule == rule.id]
    assert EXAMPLES[rule.id].path in [finding.path for finding in found]
    for finding in found:
        assert (finding.level, finding.source) == (rule.level, rule.source)
        assert finding.message.endswith(".")


@pytest.mark.parametrize("rule", RULES, ids=IDS)
def test_what_keeps_a_rule_is_not_found_and_nothing_refuses_it(rule) -> None:
    found = passing(EXAMPLES[rule.id])
    assert rule.id not in [finding.rule for finding in found]
    assert [finding for finding in found if finding.level == "error"] == []


def test_examples_are_json_and_stay_as_they_are() -> None:
    for example in EXAMPLES.values():
        before = json.dumps([example.failing, example.passing, example.old])
        failing(example), passing(example)
        assert json.dumps([example.failing, example.passing, example.old]) == before
