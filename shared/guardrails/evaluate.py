"""Evaluates rules: which subjects meet the condition now, or met it in the past, and whether there is enough data to act. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from shared.domain.evidence import chance_of_so_few
from shared.domain.wall_clock import DAY, moment
from shared.domain_health.report import Check
from shared.frozen import frozen
from shared.guardrails.activity import Activity
from shared.guardrails.rule import (
    EVENT_OF,
    Comparison,
    Condition,
    Metric,
    Rule,
    show_limit,
    subject_key,
)
from shared.records.guardrails import Switch
from shared.text.formats import show_exact_span, show_rate

FRESH_SECONDS = 900.0
"""A reading of the service that is older is stale: rules stop acting."""
OUTAGE_SECONDS = 3600.0
"""After a longer outage, late deliveries come together, and rates over it mean nothing."""
BASELINE_WINDOWS = 4
"""A baseline is the time before the window, so many times as long, within the 30 days that are kept."""
UNLIKELY = 0.001
"""A rate is below its baseline only where chance alone would do that in fewer cases than this."""
CLEAR_SECONDS = 3600.0
"""An incident is over when its condition has not held for so long."""
STEP_SECONDS = 3600.0
"""Seconds between two looks of a backtest."""
OPEN_END_SECONDS = DAY
"""A backtest takes a pause without a length to have lasted so long."""


@frozen
class Finding:
    """The state of one subject under a rule. Rates are fractions."""

    subject: str
    label: str
    value: float | None
    limit: float
    count: int = 0
    sends: int | None = None
    holds: bool = False
    detail: str = ""
    """The checks that are broken."""
    known: float = 0.0
    """Seconds of the window of which events are known, where that is not all of it."""


def evaluate(rule: Rule, activity: Activity, *, now: float) -> list[Finding]:
    """Every subject of a rule, those that the rule excepts left out."""
    activity.look_at(now)
    start = now - rule.condition.window.total_seconds()
    match rule.condition.test:
        case Comparison.RATE_ABOVE | Comparison.COUNT_ABOVE:
            found = _above(rule, activity, start=start, end=now)
        case Comparison.LEVEL_BELOW | Comparison.FALL:
            found = _health(rule, activity, start=start, end=now)
        case Comparison.BROKEN:
            found = _broken(rule, activity, at=now)
        case _:
            found = _answers(rule, activity, start=start, end=now)
    only = subject_key(rule.only)
    meant = (one for one in found if not only or one.subject == only)
    return [one for one in meant if not rule.excepts(one.label)]


def spans_of(rules: Iterable[Rule]) -> frozenset[float]:
    """The ages at which windows of these rules begin, in seconds."""
    spans = set()
    for condition in (rule.condition for rule in rules):
        window = condition.window.total_seconds()
        spans.add(window)
        if condition.test is Comparison.BELOW_BASELINE:
            spans.add(window * (1 + BASELINE_WINDOWS))
    return frozenset(spans)


def holding(rule: Rule, activity: Activity, *, now: float) -> list[Finding]:
    """The subjects for which the rule holds."""
    # An incident that lasts is found again after the excepted hours.
    if rule.except_hours and rule.except_hours.ends_after(moment(now)):
        return []
    return [one for one in evaluate(rule, activity, now=now) if one.holds]


def _finding(rule: Rule, activity: Activity, subject: str, **values: Any) -> Finding:
    """How the subject stands; the limit is that of the rule unless it is given."""
    limit = rule.condition.limit / (100 if rule.condition.sends else 1)
    label = activity.label(rule.scope, subject)
    return Finding(**{"subject": subject, "label": label, "limit": limit, **values})


def _above(rule: Rule, activity: Activity, *, start: float, end: float) -> Iterable[Finding]:
    condition, kind, scope = rule.condition, EVENT_OF[rule.condition.metric], rule.scope
    since = max(start, activity.known_since(condition.metric))
    if since > end:
        return
    counts = activity.happened(kind, scope, start=start, end=end)
    if condition.test is Comparison.COUNT_ABOVE:
        for key, count in counts.items():
            yield _finding(rule, activity, key, value=count, count=count, holds=count > condition.limit)
        return
    certain: dict[str, Finding] = {}
    if since > start:
        # A rate holds whatever is unknown of the time before the first delivery, if the known events of the whole
        # window are too many for the largest number of sends that it can have had.
        most = activity.counted("sends", scope, start=start, end=end, generous=True)
        least = activity.counted("sends", scope, start=start, end=end)
        for key, sends in most.items():
            sure = _rate(rule, activity, key, counts, sends=sends, enough=least.get(key, 0))
            certain |= {key: sure} if sure.holds else {}
        yield from certain.values()
    # Bounces before the first delivery weren't received: count events and sends of the same time, or the rate is too low.
    counts = activity.happened(kind, scope, start=since, end=end)
    known = end - since if since > start else 0.0
    for key, sends in activity.counted("sends", scope, start=since, end=end, generous=True).items():
        if key not in certain:
            yield replace(_rate(rule, activity, key, counts, sends=sends, enough=sends), known=known)


def _rate(
    rule: Rule, activity: Activity, key: str, counts: Mapping[str, int], *, sends: int, enough: int
) -> Finding:
    count = counts.get(key, 0)
    found = _finding(rule, activity, key, value=count / sends if sends else None, count=count, sends=sends)
    holds = enough >= rule.condition.sends and found.value is not None and found.value > found.limit
    return replace(found, holds=holds)


def _answers(rule: Rule, activity: Activity, *, start: float, end: float) -> Iterable[Finding]:
    """Rates from the stats that are to be high: fewer sends are taken for true where readings are sparse."""
    condition = rule.condition
    sent = activity.counted("sends", rule.scope, start=start, end=end)
    answered = activity.counted(condition.metric, rule.scope, start=start, end=end, generous=True)
    for key in sent.keys() & answered.keys():
        sends, count = sent[key], answered[key]
        rate, limit = count / sends if sends else None, condition.limit / 100
        if condition.test is Comparison.SILENCE:
            holds = not count
        elif condition.test is Comparison.RATE_BELOW:
            holds = rate is not None and rate < limit
        else:
            baseline = _baseline(rule, activity, key, start=start)
            limit *= baseline
            holds = rate is not None and rate < limit
            holds = holds and chance_of_so_few(count, sends, baseline) < UNLIKELY
        holds = holds and sends >= condition.sends
        yield _finding(rule, activity, key, value=rate, limit=limit, count=count, sends=sends, holds=holds)


def _baseline(rule: Rule, activity: Activity, key: str, *, start: float) -> float:
    """The rate before the window; 0: too little was sent then, or it is unknown."""
    condition = rule.condition
    begin = start - BASELINE_WINDOWS * condition.window.total_seconds()
    sends = activity.counted("sends", rule.scope, start=begin, end=start).get(key, 0)
    count = activity.counted(condition.metric, rule.scope, start=begin, end=start).get(key, 0)
    # A baseline of few sends would make every quiet week an alarm.
    return count / sends if sends >= condition.sends else 0.0


def _health(rule: Rule, activity: Activity, *, start: float, end: float) -> Iterable[Finding]:
    limit, is_level = rule.condition.limit, rule.condition.test is Comparison.LEVEL_BELOW
    before = {} if is_level else activity.health(rule.scope, at=start)
    for key, score in activity.health(rule.scope, at=end).items():
        if is_level:
            yield _finding(rule, activity, key, value=score, holds=score < limit)
        elif key in before:
            fall = before[key] - score
            yield _finding(rule, activity, key, value=fall, holds=fall >= limit)


def _broken(rule: Rule, activity: Activity, *, at: float) -> Iterable[Finding]:
    for key, checks in activity.broken(at=at).items():
        detail = ", ".join(check.upper() for check in Check if check in checks)
        yield _finding(rule, activity, key, value=len(checks), limit=1, holds=True, detail=detail)


def _clock(at: float) -> str:
    return f"{moment(at):%-d %b %H:%M} UTC"


def doubt(rule: Rule, activity: Activity, *, now: float, show: Callable[[float], str] = _clock) -> str:
    """The reason why the rule must not act now, in words; empty when the data is fresh and complete."""
    last = activity.last_poll(at=now)
    if last is None:
        return "the bot has not read the service yet"
    if now - last > FRESH_SECONDS:
        return f"the bot last read the service on {show(last)}"
    window = max(rule.condition.window.total_seconds(), OUTAGE_SECONDS)
    gap = activity.outage(start=now - window, end=now)
    if gap and gap[1] - gap[0] > OUTAGE_SECONDS and rule.condition.metric is not Metric.HEALTH:
        return f"the bot has no data from {show(gap[0])} to {show(gap[1])}"
    return ""


def measured(condition: Condition, finding: Finding) -> str:
    """`12 bounces in 169 sends (7.1%) in 24 h. Limit: 5%`: what was found, and the rule's limit."""
    window, limit = show_exact_span(condition.window), show_limit(condition.limit)
    if finding.known:
        window = f"the {show_exact_span(timedelta(seconds=finding.known))} since the first delivery"
    counted, value = f"{finding.count:,} {condition.metric}", show_limit(finding.value or 0)
    match condition.test:
        case Comparison.RATE_ABOVE | Comparison.RATE_BELOW | Comparison.BELOW_BASELINE:
            shown = show_rate(finding.limit) if condition.test is Comparison.BELOW_BASELINE else f"{limit}%"
            sends = f"{counted} in {finding.sends or 0:,} sends ({show_rate(finding.value)})"
            return f"{sends} in {window}. Limit: {shown}"
        case Comparison.COUNT_ABOVE:
            return f"{counted} in {window}. Limit: {limit}"
        case Comparison.SILENCE:
            return f"no replies after {finding.sends or 0:,} sends in {window}"
        case Comparison.LEVEL_BELOW:
            return f"health {value}. Limit: {limit}"
        case Comparison.FALL:
            return f"health fell by {value} in {window}. Limit: {limit}"
        case Comparison.BROKEN:
            return f"DNS is broken: {finding.detail}"


def is_on(switch: Switch, *, now: float) -> bool:
    """True if a switch still keeps its rule from firing."""
    return switch.until is None or switch.until > now


@frozen
class Firing:
    """One time that a rule would have fired, with the sends and bounces of the pause that would have followed."""

    at: float
    label: str
    note: str
    sends: int | None
    """None where they are unknown."""
    bounces: int


def backtest(rule: Rule, activity: Activity, *, start: float, end: float) -> list[Firing]:
    """Replay a time hour by hour, each incident once, the first first; the rule's limits aren't counted."""
    seen: dict[str, float] = {}
    firings: list[Firing] = []
    length = rule.duration.total_seconds() if rule.duration else OPEN_END_SECONDS
    now = start
    while now <= end:
        for one in holding(rule, activity, now=now):
            is_new = now - seen.get(one.subject, float("-inf")) > CLEAR_SECONDS
            seen[one.subject] = now
            if is_new:
                until, bounced = min(end, now + length), EVENT_OF[Metric.BOUNCES]
                firing = Firing(
                    at=now,
                    label=one.label,
                    note=measured(rule.condition, one),
                    sends=activity.counted("sends", rule.scope, start=now, end=until).get(one.subject),
                    bounces=activity.happened(bounced, rule.scope, start=now, end=until).get(one.subject, 0),
                )
                firings.append(firing)
        now += STEP_SECONDS
    return firings
