"""The sentence of a rule: read, echoed exactly, and refused with the reason."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.guardrails.rule import (
    EXAMPLE,
    Action,
    Comparison,
    Condition,
    Metric,
    Misunderstood,
    Rule,
    Scope,
    free_name,
    parse,
)
from shared.text.sanitize import visible

names = st.text(min_size=1, max_size=20).filter(lambda t: t.strip() and visible(t) == t)
BROKEN = Condition(metric=Metric.DNS, test=Comparison.BROKEN)


@pytest.mark.parametrize(
    "sentence",
    ["notify about domain when dns is broken", "tell domains if DNS broken", "notify when dns is broken"],
)
def test_a_rule_about_dns_is_understood(sentence: str) -> None:
    rule = parse(sentence)
    assert (rule.scope, rule.condition) == (Scope.DOMAIN, BROKEN)
    assert str(rule) == "notify about domain when dns is broken"
    assert free_name(rule, {}) == "dns-broken"


WORDS = 'pause suggest tell sequence domain inbox when bounces health no replies < > 5% 50 sends in 24h of at least except " , for baseline'


@given(text=st.text(max_size=200) | st.lists(st.sampled_from(WORDS.split())).map(" ".join))
def test_any_text_is_a_rule_or_refused(text: str) -> None:
    try:
        sentence = str(parse(text))
    except Misunderstood:
        sentence = EXAMPLE
    assert str(parse(sentence)).startswith(sentence)


LONG = (
    'pause domain "acme.com" for 4h when bounces > 5% of at least 50 sends in 24h, at most 1 a day, '
    'at most 3 sequences at once, except "Q3 founders", except "VIP", except 20:00-08:00 Europe/Berlin'
)


@pytest.mark.parametrize(
    ("given", "echoed"),
    [
        (
            "pause sequence when bounces > 5% of at least 50 sends in 24h",
            "pause sequence when bounces > 5% of at least 50 sends in 24h, at most 3 a day, at most 2 sequences at once",
        ),
        (
            "Suggest pausing domain when opt-outs above 1 % of 200 sends within 7 days",
            "suggest pausing domain when opt-outs > 1% of at least 200 sends in 7d, at most 5 a day",
        ),
        (
            "tell when health is below 60",
            "notify about inbox when health < 60",
        ),
        (
            "notify about inbox when health falls by 10 points in 3d",
            "notify about inbox when health falls 10 in 3d",
        ),
        (
            "suggest pausing sequence when no replies after 200 sends in 7d",
            "suggest pausing sequence when no replies after 200 sends in 7d, at most 5 a day",
        ),
        (
            "tell when positive replies < 50% of its own baseline over at least 300 sends in 7d",
            "notify about sequence when positive replies < 50% of baseline over at least 300 sends in 7d",
        ),
        (
            "tell when ooo more than 30 in 4h",
            "notify about sequence when out-of-office > 30 in 4h",
        ),
        (
            "tell when out of office > 30 in 4h",
            "notify about sequence when out-of-office > 30 in 4h",
        ),
        (
            "tell when reply rate < 1% of 300 sends in 7d",
            "notify about sequence when replies < 1% of at least 300 sends in 7d",
        ),
        (
            LONG.replace('"', "“", 1).replace(" of at least 50 sends", ""),
            LONG,
        ),
    ],
)
def test_a_parsed_rule_is_repeated_exactly(given: str, echoed: str) -> None:
    assert str(parse(given)) == echoed
    assert parse(echoed) == parse(given)


@given(only=names, excepted=st.lists(names, max_size=3), minutes=st.integers(60, 30 * 1440))
def test_a_rule_with_any_names_is_read_back_from_its_own_sentence(
    only: str, excepted: list[str], minutes: int
) -> None:
    window = timedelta(minutes=minutes)
    condition = Condition(metric=Metric.BOUNCES, test=Comparison.COUNT_ABOVE, limit=3, window=window)
    rule = Rule(
        action=Action.ACT,
        scope=Scope.SEQUENCE,
        condition=condition,
        only=only,
        duration=window,
        at_once=1,
        except_names=tuple(excepted),
    )
    assert parse(str(rule)) == rule


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            "stop sequence when bounces > 5% in 24h",
            "“stop sequence when bounces > 5% in 24h” isn't understood",
        ),
        ("pause sequence when bounced > 4% in 12h", "“bounced > 4% in 12h” isn't understood here"),
        ("tell when opt-outs > 2% of at least 100 sends", "“opt-outs > 2% 100 sends” isn't understood here"),
        # A comma ends a clause: a decimal one must not be read as a limit of 5.
        ("tell when bounces > 5,5% in 24h", "“bounces > 5 5% in 24h” isn't understood here"),
        ("suggest pausing domain for 7 moons when bounces > 5 in 1h", "isn't understood here"),
        ("tell when replies > 2% of at least 100 sends in 24h", "isn't understood here"),
        ("tell when bounces > 5% of baseline over 50 sends in 1h", "isn't understood here"),
        ("tell when health > 60", "“health > 60” isn't understood here"),
        ("tell when bounces > 5 in 1h, but not “VIP”", '“but not "VIP"” isn\'t understood here'),
        ("tell when bounces > 5 in 1h, except 9-9", "“9-9” isn't understood here"),
        ("pause sequence for 4h when bounces > 20 in 1h for 2h", "The same limit is set twice."),
        ("tell when bounces > 20 in 1h, at most 3 a day, at most 5 a day", "The same limit is set twice."),
        ('tell when bounces > 5 in 1h, except " "', "The name in quotes is empty."),
        ("pause inbox when health < 60", "can't pause one inbox"),
        ("pause sequence when bounces > 500% in 24h", "A percentage must be between 0% and 100%."),
        ("notify about sequence when dns is broken", "DNS belongs to domains."),
        ('pause workspace "Q3" when bounces > 5 in 1h', "A workspace needs no name here."),
        ("pause sequence for 0h when bounces > 5 in 1h", "“0h” isn't understood here"),
        ("tell when bounces > 5 in 59m", "A window must be between 1h and 30d."),
        ("tell when bounces > 5 in 31d", "A window must be between 1h and 30d."),
        ("notify about sequence when health < 60", "Health belongs to inboxes and domains"),
        ("tell for 4h when bounces > 5 in 1h", "Only a pause can have a length."),
        ("tell when bounces > 5 in 1h, at most 1 sequence at once", "Only a rule that pauses can limit"),
        ("tell when health < 101", "A health score must be between 0 and 100."),
        (
            f'pause sequence "{"x" * 500}" when bounces > 5% in 24h',
            "Written in full, that is longer than 600 characters.",
        ),
    ],
)
def test_an_invalid_sentence_is_refused_with_a_reason(given: str, problem: str) -> None:
    with pytest.raises(Misunderstood) as caught:
        parse(given)
    assert problem in caught.value.problem


def test_invisible_characters_are_no_part_of_a_name() -> None:
    rule = parse(
        'tell about sequence "Q3\u202e \u200bfounders\x1b[31m" when bounces > 5 in 1h, except "VIP\u2066"'
    )
    assert (rule.only, rule.except_names) == ("Q3 founders", ("VIP",))
    assert rule.excepts("V\u200bip")
