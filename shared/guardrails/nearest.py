"""The nearest valid rule for a sentence that isn't one. Pure."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta
from itertools import pairwise

from shared.guardrails.rule import Action, Comparison, Condition, Metric, Rule, Scope
from shared.guardrails.words import (
    ACTIONS,
    COUNT,
    ENOUGH_SENDS,
    LONGEST_WINDOW,
    METRICS,
    NUMBER,
    PER_DAY,
    PER_DAY_ACT,
    SCOPES,
    SEQUENCES_AT_ONCE,
    SHORTEST_WINDOW,
    Word,
)
from shared.text.tokenize import parse_duration

EXAMPLE = Rule(
    action=Action.SUGGEST,
    scope=Scope.SEQUENCE,
    condition=Condition(
        metric=Metric.BOUNCES,
        test=Comparison.RATE_ABOVE,
        limit=5,
        sends=ENOUGH_SENDS,
        window=timedelta(hours=24),
    ),
)


def nearest(tokens: list[Word]) -> Rule:
    """A rule that uses as much of the words as it can; what is missing or wrong is filled in."""
    words = [token.text for token in tokens if not token.quoted]
    action = ACTIONS.get(_closest(words[:1], ACTIONS) or "", Action.SUGGEST)
    scope = SCOPES.get(_closest(words, SCOPES) or "")
    condition = _nearest_condition(words)
    if condition.metric is Metric.HEALTH and scope in {None, Scope.SEQUENCE}:
        scope = Scope.INBOX
    if condition.metric is Metric.DNS or (action is not Action.TELL and scope is Scope.INBOX):
        scope = Scope.DOMAIN
    return Rule(
        action=action,
        scope=scope or Scope.SEQUENCE,
        condition=condition,
        per_day=PER_DAY_ACT if action is Action.ACT else PER_DAY,
        at_once=SEQUENCES_AT_ONCE if action is Action.ACT else 0,
    )


def _nearest_condition(words: list[str]) -> Condition:
    metric = METRICS.get(_closest(words, METRICS) or "", Metric.BOUNCES)
    if metric is Metric.DNS:
        return Condition(metric=metric, test=Comparison.BROKEN)
    window = next((w for w in map(parse_duration, reversed(words)) if w and _fits(w)), timedelta(hours=24))
    share = next((float(w[:-1]) for w in words if w.endswith("%") and NUMBER.fullmatch(w[:-1])), None)
    numbers = [float(w) for w in words if NUMBER.fullmatch(w)]
    if metric is Metric.HEALTH:
        score = next((n for n in (*numbers, share) if n and n <= 100), 60.0)
        return Condition(metric=metric, test=Comparison.LEVEL_BELOW, limit=score)
    sends = next(
        (int(n) for n, unit in pairwise(words) if unit in {"send", "sends"} and COUNT.fullmatch(n)), 0
    )
    sends = sends or ENOUGH_SENDS
    if "baseline" in words and metric in {Metric.REPLIES, Metric.POSITIVE}:
        limit = share if share is not None and 0 < share < 100 else 50.0
        return Condition(
            metric=metric, test=Comparison.BELOW_BASELINE, limit=limit, sends=sends, window=window
        )
    if metric is Metric.REPLIES and share is None:
        return Condition(metric=metric, test=Comparison.SILENCE, sends=sends, window=window)
    limit = share if share is not None and 0 < share < 100 else 5.0
    test = Comparison.RATE_BELOW if metric in {Metric.REPLIES, Metric.POSITIVE} else Comparison.RATE_ABOVE
    return Condition(metric=metric, test=test, limit=limit, sends=sends, window=window)


def _fits(window: timedelta) -> bool:
    return SHORTEST_WINDOW <= window <= LONGEST_WINDOW and not window.total_seconds() % 60


def _closest(words: list[str], known: Collection[str]) -> str | None:
    """The first known word that one of the words is, else is nearly."""
    import difflib  # late: only a mistake pays for its import

    if exact := next((word for word in words if word in known), None):
        return exact
    near = (difflib.get_close_matches(word[:40], known, n=1, cutoff=0.7) for word in words[:60])
    return next((found[0] for found in near if found), None)
