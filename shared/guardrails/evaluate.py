"""Evaluates rules: which subjects meet the condition, and whether there is enough data to act. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from shared.domain.evidence import chance_of_so_few
from shared.domain.wall_clock import moment
from shared.domain_health.report import Check
from shared.frozen import frozen
from shared.guardrails.activity import Activity
from shared.guardrails.rule import (
    EVENT_OF,
    Action,
    Comparison,
    Condition,
    Metric,
    Rule,
    quoted,
    show_limit,
    subject_key,
)
from shared.records.guardrails import ALL, Incident, Switch
from shared.text.formats import show_exact_span, show_rate

FRESH_SECONDS = 900.0
"""A reading of the service that is older is stale: rules stop acting."""
OUTAGE_SECONDS = 3600.0
"""After a longer outage, late deliveries come together, and rates over it mean nothing."""
BASELINE_WINDOWS = 4
"""A baseline is the time before the window, so many times as long, within the 30 days that are kept."""
UNLIKELY = 0.001
"""A rate is below its baseline only where chance alone would do that in fewer cases than this."""


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
    condition = rule.condition
    activity.look_at(now)
    start = now - condition.window.total_seconds()
    match condition.test:
        case Comparison.RATE_ABOVE | Comparison.COUNT_ABOVE:
            found = _above(rule, activity, start=start, end=now)
        case Comparison.LEVEL_BELOW | Comparison.FALL:
            found = _health(rule, activity, start=start, end=now)
        case Comparison.BROKEN:
            found = _broken(rule, activity, at=now)
        case _:
            found = _answers(rule, activity, start=start, end=now)
    return [one for one in found if _is_meant(rule, one)]


def spans_of(rules: Iterable[Rule]) -> frozenset[float]:
    """The ages at which windows of these rules begin, in seconds."""
    conditions = [rule.condition for rule in rules]
    spans = {condition.window.total_seconds() for condition in conditions}
    spans |= {
        condition.window.total_seconds() * (1 + BASELINE_WINDOWS)
        for condition in conditions
        if condition.test is Comparison.BELOW_BASELINE
    }
    return frozenset(spans)


def holding(rule: Rule, activity: Activity, *, now: float) -> list[Finding]:
    """The subjects for which the rule holds."""
    # An incident that lasts is found again after the excepted hours.
    if rule.except_hours and rule.except_hours.ends_after(moment(now)):
        return []
    return [one for one in evaluate(rule, activity, now=now) if one.holds]


def _is_meant(rule: Rule, finding: Finding) -> bool:
    if rule.only and finding.subject != subject_key(rule.only):
        return False
    return not (rule.except_names and rule.excepts(finding.label))


def _finding(rule: Rule, activity: Activity, subject: str, **values: Any) -> Finding:
    """How the subject stands; the limit is that of the rule unless it is given."""
    limit = rule.condition.limit / (100 if rule.condition.sends else 1)
    return Finding(
        **{"subject": subject, "label": activity.label(rule.scope, subject), "limit": limit, **values}
    )


def _above(rule: Rule, activity: Activity, *, start: float, end: float) -> Iterable[Finding]:
    condition, kind = rule.condition, EVENT_OF[rule.condition.metric]
    since = max(start, activity.known_since(condition.metric))
    if since > end:
        return
    counts = activity.happened(kind, rule.scope, start=start, end=end)
    if condition.test is Comparison.COUNT_ABOVE:
        for key, count in counts.items():
            yield _finding(rule, activity, key, value=count, count=count, holds=count > condition.limit)
        return
    certain = set[str]()
    if since > start:
        # A rate holds whatever is unknown of the time before the first delivery, if the known events of the whole
        # window are too many for the largest number of sends that it can have had.
        most = activity.counted("sends", rule.scope, start=start, end=end, generous=True)
        least = activity.counted("sends", rule.scope, start=start, end=end)
        for key, sends in most.items():
            sure = _rate(rule, activity, key, counts.get(key, 0), sends, enough=least.get(key, 0))
            if sure.holds:
                certain.add(key)
                yield sure
        # Bounces before the first delivery weren't received: count events and sends of the same time, or the rate is too low.
        counts = activity.happened(kind, rule.scope, start=since, end=end)
    known = end - since if since > start else 0.0
    for key, sends in activity.counted("sends", rule.scope, start=since, end=end, generous=True).items():
        if key not in certain:
            found = _rate(rule, activity, key, counts.get(key, 0), sends, enough=sends)
            yield replace(found, known=known)


def _rate(rule: Rule, activity: Activity, key: str, count: int, sends: int, *, enough: int) -> Finding:
    rate = count / sends if sends else None
    found = _finding(rule, activity, key, value=rate, count=count, sends=sends)
    holds = enough >= rule.condition.sends and rate is not None and rate > found.limit
    return replace(found, holds=holds)


def _answers(rule: Rule, activity: Activity, *, start: float, end: float) -> Iterable[Finding]:
    """Rates from the stats that are to be high: fewer sends are taken for true where readings are sparse."""
    condition = rule.condition
    sent = activity.counted("sends", rule.scope, start=start, end=end)
    answered = activity.counted(condition.metric, rule.scope, start=start, end=end, generous=True)
    for key, sends in sent.items():
        if (count := answered.get(key)) is None:
            continue
        rate = count / sends if sends else None
        limit = condition.limit / 100
        if condition.test is Comparison.SILENCE:
            holds = not count
        elif condition.test is Comparison.RATE_BELOW:
            holds = rate is not None and rate < limit
        else:
            baseline = _baseline(rule, activity, key, start=start)
            limit *= baseline or 0.0
            holds = rate is not None and baseline is not None and rate < limit
            holds = holds and chance_of_so_few(count, sends, baseline or 0.0) < UNLIKELY
        holds = holds and sends >= condition.sends
        yield _finding(rule, activity, key, value=rate, limit=limit, count=count, sends=sends, holds=holds)


def _baseline(rule: Rule, activity: Activity, key: str, *, start: float) -> float | None:
    """The rate before the window; None: too little was sent then, or it is unknown."""
    condition = rule.condition
    begin = start - BASELINE_WINDOWS * condition.window.total_seconds()
    sends = activity.counted("sends", rule.scope, start=begin, end=start).get(key)
    count = activity.counted(condition.metric, rule.scope, start=begin, end=start).get(key)
    # A baseline of few sends would make every quiet week an alarm.
    if sends is None or count is None or sends < condition.sends:
        return None
    return count / sends


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
    match condition.test:
        case Comparison.RATE_ABOVE | Comparison.RATE_BELOW | Comparison.BELOW_BASELINE:
            shown = show_rate(finding.limit) if condition.test is Comparison.BELOW_BASELINE else f"{limit}%"
            sends = f"{finding.count:,} {condition.metric} in {finding.sends or 0:,} sends"
            return f"{sends} ({show_rate(finding.value)}) in {window}. Limit: {shown}"
        case Comparison.COUNT_ABOVE:
            return f"{finding.count:,} {condition.metric} in {window}. Limit: {limit}"
        case Comparison.SILENCE:
            return f"no replies after {finding.sends or 0:,} sends in {window}"
        case Comparison.LEVEL_BELOW:
            return f"health {show_limit(finding.value or 0)}. Limit: {limit}"
        case Comparison.FALL:
            return f"health fell by {show_limit(finding.value or 0)} in {window}. Limit: {limit}"
        case Comparison.BROKEN:
            return f"DNS is broken: {finding.detail}"


@frozen
class Standing:
    """The state of a rule, for lists and panels."""

    name: str
    rule: Rule
    state: str
    """acts, suggests, notifies, off, snoozed or waits."""
    why: str = ""
    """The reason for off, snoozed and waits."""
    fired: Incident | None = None
    """Its last firing."""
    holds: bool = False
    """Its condition is met by some subject now."""

    @property
    def last_fired(self) -> float | None:
        return self.fired.began_at if self.fired else None


def standing(
    name: str,
    rule: Rule,
    activity: Activity,
    *,
    incidents: Sequence[Incident] = (),
    switches: Sequence[Switch] = (),
    now: float,
    show: Callable[[float], str],
) -> Standing:
    """The state of a rule, its last firing, and whether its condition is met; `show` words a time for the reader."""
    found = evaluate(rule, activity, now=now)
    fired = max(
        (incident for incident in incidents if incident.rule == name),
        key=lambda one: one.began_at,
        default=None,
    )
    state, why = _state(name, rule, activity, switches=switches, now=now, show=show)
    silent = {Comparison.COUNT_ABOVE, Comparison.BROKEN}
    if rule.only and not found and rule.condition.test not in silent:
        why = why or f"nothing is known of {quoted(rule.only)}"
    holds = any(one.holds for one in found)
    return Standing(name=name, rule=rule, state=state, why=why, fired=fired, holds=holds)


_STATES = {Action.TELL: "notifies", Action.SUGGEST: "suggests", Action.ACT: "acts"}


def _state(
    name: str,
    rule: Rule,
    activity: Activity,
    *,
    switches: Sequence[Switch],
    now: float,
    show: Callable[[float], str],
) -> tuple[str, str]:
    for switch in switches:
        if switch.rule in {ALL, name} and is_on(switch, now=now):
            who = f"by @{switch.by}" if switch.by else ""
            if switch.until is None:
                return "off", who
            return "snoozed", f"until {show(switch.until)} {who}".strip()
    # A notice may be wrong; a pause must not be.
    if rule.action is Action.ACT and (why := doubt(rule, activity, now=now, show=show)):
        return "waits", why
    return _STATES[rule.action], ""


def is_on(switch: Switch, *, now: float) -> bool:
    """True if a switch still keeps its rule from firing."""
    return switch.until is None or switch.until > now
