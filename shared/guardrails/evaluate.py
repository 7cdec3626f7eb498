"""Evaluates rules: which subjects meet the condition now, or met it in the past, and whether there is enough data to act. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta

from shared.domain.evidence import chance_of_so_few
from shared.domain.wall_clock import DAY, moment
from shared.domain_health.report import CHECKS
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
from shared.records import Switch
from shared.text.formats import show_rate, show_span

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
    """A subject for which a rule holds."""

    subject: str
    label: str
    note: str
    """The measurement: `12 bounces in 169 sends (7.1%) in 24 h. Limit: 5%`."""


Noted = Iterable[tuple[str, str]]
"""Subjects that meet a condition, each with what was measured."""


def evaluate(rule: Rule, activity: Activity, *, now: float) -> list[Finding]:
    """The subjects that meet a rule's condition, those that the rule excepts left out."""
    activity.look_at(now)
    window, only = {"start": now - rule.condition.window.total_seconds(), "end": now}, subject_key(rule.only)
    match rule.condition.test:
        case Comparison.RATE_ABOVE | Comparison.COUNT_ABOVE:
            noted = _above(rule, activity, **window)
        case Comparison.LEVEL_BELOW | Comparison.FALL:
            noted = _health(rule, activity, **window)
        case Comparison.BROKEN:
            noted = _broken(activity, at=now)
        case _:
            noted = _answers(rule, activity, **window)
    found = [
        Finding(subject=key, label=activity.label(rule.scope, key), note=note)
        for key, note in noted
        if only in {"", key}
    ]
    return [one for one in found if not rule.excepts(one.label)]


def holding(rule: Rule, activity: Activity, *, now: float) -> list[Finding]:
    """The subjects for which a rule may fire."""
    # An incident that lasts is found again after the excepted hours.
    if rule.except_hours and rule.except_hours.ends_after(moment(now)):
        return []
    return evaluate(rule, activity, now=now)


def spans_of(rules: Iterable[Rule]) -> frozenset[float]:
    """The ages at which windows of these rules begin, in seconds."""
    spans = set()
    for condition in (rule.condition for rule in rules):
        window = condition.window.total_seconds()
        spans.add(window)
        if condition.test is Comparison.BELOW_BASELINE:
            spans.add(window * (1 + BASELINE_WINDOWS))
    return frozenset(spans)


def _above(rule: Rule, activity: Activity, *, start: float, end: float) -> Noted:
    condition, scope = rule.condition, rule.scope
    kind, limit = EVENT_OF[condition.metric], show_limit(condition.limit)
    since, window = max(start, activity.known_since(condition.metric)), show_span(condition.window)
    if since > end:
        return
    if condition.test is Comparison.COUNT_ABOVE:
        for key, count in activity.happened(kind, scope, start=start, end=end).items():
            if count > condition.limit:
                yield key, f"{count:,} {condition.metric} in {window}. Limit: {limit}"
        return
    spans = [(start, window)]
    if since > start:
        # A rate holds whatever is unknown of the time before the first delivery, if the known events of the whole window
        # are too many for the largest number of sends that it can have had. Otherwise events and sends of the same time
        # are counted: bounces before the first delivery weren't received, and the rate would be too low.
        known = show_span(timedelta(seconds=end - since))
        spans.append((since, f"the {known} since the first delivery"))
    told = set()
    for begin, span in spans:
        counts = activity.happened(kind, scope, start=begin, end=end)
        most = activity.counted("sends", scope, start=begin, end=end, generous=True)
        sure = activity.counted("sends", scope, start=begin, end=end) if begin < since else most
        for key, sends in most.items():
            count, enough = counts.get(key, 0), sure.get(key, 0) >= condition.sends
            if key not in told and enough and count > sends * condition.limit / 100:
                told.add(key)
                yield key, _share(condition, count, sends, span=span, limit=f"{limit}%")


def _share(condition: Condition, count: int, sends: int, *, span: str, limit: str) -> str:
    rate = show_rate(count / sends)
    return f"{count:,} {condition.metric} in {sends:,} sends ({rate}) in {span}. Limit: {limit}"


def _answers(rule: Rule, activity: Activity, *, start: float, end: float) -> Noted:
    """Rates from the stats that are to be high: fewer sends are taken for true where readings are sparse."""
    condition, window = rule.condition, show_span(rule.condition.window)
    sent = activity.counted("sends", rule.scope, start=start, end=end)
    answered = activity.counted(condition.metric, rule.scope, start=start, end=end, generous=True)
    # A subject whose sends or answers the service left out is unknown: no rule holds for it.
    for key in sent.keys() & answered.keys():
        sends, count = sent[key], answered[key]
        limit, shown = condition.limit / 100, f"{show_limit(condition.limit)}%"
        if sends < condition.sends:
            continue
        if condition.test is Comparison.SILENCE:
            if not count:
                yield key, f"no replies after {sends:,} sends in {window}"
            continue
        if condition.test is Comparison.BELOW_BASELINE:
            baseline = _baseline(rule, activity, key, start=start)
            limit *= baseline
            shown = show_rate(limit)
            if chance_of_so_few(count, sends, baseline) >= UNLIKELY:
                continue
        if count < sends * limit:
            yield key, _share(condition, count, sends, span=window, limit=shown)


def _baseline(rule: Rule, activity: Activity, key: str, *, start: float) -> float:
    """The rate before the window; 0: too little was sent then, or it is unknown."""
    condition = rule.condition
    begin = start - BASELINE_WINDOWS * condition.window.total_seconds()
    sends = activity.counted("sends", rule.scope, start=begin, end=start).get(key, 0)
    count = activity.counted(condition.metric, rule.scope, start=begin, end=start).get(key, 0)
    # A baseline of few sends would make every quiet week an alarm.
    return count / sends if sends >= condition.sends else 0.0


def _health(rule: Rule, activity: Activity, *, start: float, end: float) -> Noted:
    condition, limit = rule.condition, show_limit(rule.condition.limit)
    is_level = condition.test is Comparison.LEVEL_BELOW
    before = {} if is_level else activity.health(rule.scope, at=start)
    for key, score in activity.health(rule.scope, at=end).items():
        if is_level and score < condition.limit:
            yield key, f"health {show_limit(score)}. Limit: {limit}"
        elif key in before and before[key] - score >= condition.limit:
            fall = f"health fell by {show_limit(before[key] - score)}"
            yield key, f"{fall} in {show_span(condition.window)}. Limit: {limit}"


def _broken(activity: Activity, *, at: float) -> Noted:
    for key, checks in activity.broken(at=at).items():
        yield key, f"DNS is broken: {', '.join(check.upper() for check in CHECKS if check in checks)}"


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
                    note=one.note,
                    sends=activity.counted("sends", rule.scope, start=now, end=until).get(one.subject),
                    bounces=activity.happened(bounced, rule.scope, start=now, end=until).get(one.subject, 0),
                )
                firings.append(firing)
        now += STEP_SECONDS
    return firings
