"""Backtests of a rule: when it would have fired, on what, and what that would have prevented. Pure."""

from __future__ import annotations

from collections import Counter

from shared.domain.wall_clock import DAY
from shared.frozen import frozen
from shared.guardrails.activity import Activity
from shared.guardrails.evaluate import Finding, holding, measured
from shared.guardrails.rule import EVENT_OF, Action, Metric, Rule, Scope

STEP = 3600.0
"""Seconds between two looks of a backtest."""
CLEAR_SECONDS = 3600.0
"""An incident is over when its condition has not held for so long."""
OPEN_END = DAY
"""A pause without a length is taken to have lasted so long."""


@frozen
class Firing:
    """One time that the rule would have fired; `sends` and `bounces` are those of the pause that it would have made."""

    at: float
    label: str
    note: str
    sends: int | None = 0
    bounces: int = 0
    held_back: bool = False
    """A limit of the rule would have kept it from pausing: it would only have suggested."""


@frozen
class Backtest:
    """The firings within a time, the first one first. It starts when the rule's metric was first known."""

    start: float
    end: float
    firings: tuple[Firing, ...] = ()

    @property
    def sends(self) -> int | None:
        """None where they are unknown for a firing."""
        known = [firing.sends for firing in self.firings if firing.sends is not None]
        return sum(known) if len(known) == len(self.firings) else None

    @property
    def bounces(self) -> int:
        return sum(firing.bounces for firing in self.firings)


def backtest(rule: Rule, activity: Activity, *, start: float, end: float) -> Backtest:
    """Replay a time hour by hour, as far as it is known, each incident once, within the rule's own limits."""
    start = max(start, activity.known_since(rule.condition.metric))
    seen: dict[str, float] = {}
    today: Counter[int] = Counter()
    paused: dict[str, float] = {}
    firings: list[Firing] = []
    now = start
    while now <= end:
        for one in holding(rule, activity, now=now):
            new = now - seen.get(one.subject, float("-inf")) > CLEAR_SECONDS
            seen[one.subject] = now
            if not new:
                continue
            paused = {name: until for name, until in paused.items() if until > now}
            too_many = bool(rule.per_day) and today[int(now // DAY)] >= rule.per_day
            too_many |= bool(rule.at_once) and rule.scope is Scope.SEQUENCE and len(paused) >= rule.at_once
            # A rule that only tells says nothing beyond its limit; one that acts says that it held back.
            if too_many and rule.action is not Action.ACT:
                continue
            firing = _firing(rule, activity, one, now=now, end=end, held_back=too_many)
            today[int(now // DAY)] += not too_many
            if not too_many:
                paused[one.subject] = now + _length(rule)
            firings.append(firing)
        now += STEP
    return Backtest(start=start, end=end, firings=tuple(firings))


def _firing(
    rule: Rule, activity: Activity, finding: Finding, *, now: float, end: float, held_back: bool
) -> Firing:
    sends: int | None = 0
    bounces = 0
    if rule.action is not Action.TELL and not held_back:
        until = min(end, now + _length(rule))
        sends = activity.counted("sends", rule.scope, start=now, end=until).get(finding.subject)
        kind = EVENT_OF[Metric.BOUNCES]
        bounces = activity.happened(kind, rule.scope, start=now, end=until).get(finding.subject, 0)
    return Firing(
        at=now, label=finding.label, note=measured(rule.condition, finding),
        sends=sends, bounces=bounces, held_back=held_back,
    )  # fmt: skip


def _length(rule: Rule) -> float:
    return rule.duration.total_seconds() if rule.duration else OPEN_END
