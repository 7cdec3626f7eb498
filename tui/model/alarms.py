"""The life of alarms: raised, changed, acknowledged, recovered. Pure.

An alarm follows a condition while it holds. An acknowledged alarm returns when it gets worse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from shared.domain.snapshot import ProblemStart
from shared.domain.workspace_verdict import BAD, DOMAIN_KINDS, GUARDRAIL, PAUSED, Condition
from shared.frozen import frozen
from shared.records.records import DomainPause
from shared.text.sanitize import visible
from tui.model.happened import Mark, MarkKind
from tui.theme.words import clock

SETTLES = timedelta(seconds=30)
"""A condition that comes back within this time was never gone."""
KEPT = timedelta(hours=24)
"""An alarm that has recovered and was acknowledged is listed for so long."""
FRESH = timedelta(minutes=5)
"""A guardrail that fired longer ago is shown but raises no alarm: the bot has reported it."""
MOST = 100
"""Recovered alarms that are kept; what is wrong now is never forgotten, or it would be raised again."""


@frozen
class Alarm:
    """One alarm of a workspace: its condition as it is now, and what has become of it."""

    condition: Condition
    since: datetime
    """The time at which something began to be wrong here."""
    kind_since: datetime | None = None
    """The time at which it became of the present kind; None where it always was."""
    since_or_earlier: bool = False
    """It held already when this dashboard looked for the first time."""
    absent_since: datetime | None = None
    recovered_at: datetime | None = None
    acknowledged_at: datetime | None = None
    seen_extent: int = 0
    """The most inboxes that it has concerned so far."""
    worst: Condition

    @classmethod
    def of(cls, condition: Condition, *, now: datetime, is_older: bool = False) -> Alarm:
        """The alarm of a condition that is new, or was not there before."""
        began = condition.began or condition.since or now
        return cls(
            condition=condition,
            since=began,
            kind_since=_own_start(condition, began),
            since_or_earlier=condition.is_older or is_older,
            seen_extent=condition.extent,
            worst=condition,
        )

    @property
    def key(self) -> str:
        return self.condition.key

    @property
    def where(self) -> str:
        return self.condition.where

    @property
    def is_on(self) -> bool:
        return self.recovered_at is None

    @property
    def is_new(self) -> bool:
        return self.acknowledged_at is None

    @property
    def text_since(self) -> datetime:
        """The start of what the text says; for a recovered alarm, the start of its trouble."""
        return self.kind_since if self.kind_since and self.is_on else self.since

    def since_words(self, now: datetime) -> str:
        is_older = self.since_or_earlier and self.text_since == self.since
        return since_words(self.text_since, is_older=is_older, now=now)

    def told(self, now: datetime, *, workspace: str = "") -> str:
        """`useacme.example paused, 7 inboxes not sending since 04:12`."""
        whose = f"{workspace}:" if workspace else ""
        if self.recovered_at:
            what = " ".join(filter(None, (whose, self.where, self.worst.text)))
            recovered = clock(self.recovered_at, now=now)
            return visible(f"Recovered at {recovered}, started {self.since_words(now)}: {what}")
        what = " ".join(filter(None, (whose, self.where, self.condition.text)))
        gone = f", gone since {clock(self.absent_since, now=now)}" if self.absent_since else ""
        return visible(f"{what} since {self.since_words(now)}{gone}")


def since_words(since: datetime | None, *, is_older: bool, now: datetime) -> str:
    """`14:18`, or `before 14:16` of what held already at the first look; empty where the start is unknown."""
    return f"{'before ' if is_older else ''}{clock(since, now=now)}" if since else ""


class Update(NamedTuple):
    """The alarms after a poll, and those among them that should sound."""

    alarms: tuple[Alarm, ...]
    raised: tuple[Alarm, ...]


def update(
    alarms: Sequence[Alarm],
    conditions: Iterable[Condition],
    *,
    now: datetime,
    domains_read: bool = True,
    first_look: bool = False,
    changes: Iterable[Mark] = (),
) -> Update:
    """Follow the conditions of another look.

    Where the inboxes were not read since the last one, nothing is learned of domains. What holds at the first look is
    shown, but raised nothing: it is as old as `changes` say.
    """
    present = {
        condition.key: condition for condition in conditions if domains_read or not condition.is_of_domain
    }
    others = {alarm.key: alarm for alarm in alarms}
    kept, raised = [], []
    for key, condition in present.items():
        before = others.pop(key, None)
        if before is None and first_look:
            since, is_older = begin(condition, now=now, first_look=True, changes=changes)
            alarm = replace(Alarm.of(condition, now=now, is_older=is_older), since=since)
        elif before is None or not before.is_on or _is_gone(before, now=now):
            alarm = Alarm.of(condition, now=now)
        else:
            alarm = _followed(before, condition, now=now)
        kept.append(alarm)
        is_old = condition.kind == GUARDRAIL and now - alarm.since > FRESH
        if alarm.is_new and not first_look and not is_old and (before is None or not before.is_new):
            raised.append(alarm)
    for alarm in others.values():
        is_read = domains_read or alarm.condition.kind not in DOMAIN_KINDS
        kept.append(_absent(alarm, now=now) if is_read else alarm)
    lasting = [
        alarm for alarm in kept if alarm.is_new or not alarm.recovered_at or now - alarm.recovered_at <= KEPT
    ]
    on = [alarm for alarm in lasting if alarm.is_on]
    over = [alarm for alarm in lasting if alarm.recovered_at]
    over.sort(key=lambda alarm: alarm.recovered_at or now, reverse=True)
    return Update((*on, *over[:MOST]), tuple(raised))


def acknowledged(alarms: Sequence[Alarm], keys: Collection[str], *, at: datetime | None) -> tuple[Alarm, ...]:
    """These alarms as acknowledged at a time, or, where that is taken back, as new again."""
    return tuple(replace(alarm, acknowledged_at=at) if alarm.key in keys else alarm for alarm in alarms)


def _followed(before: Alarm, condition: Condition, *, now: datetime) -> Alarm:
    """The alarm with what is so now; not acknowledged any more where that is worse, or of another kind."""
    since, is_older, kind_since = before.since, before.since_or_earlier, before.kind_since
    if condition.began is not None:  # the history remembers: another process may have seen it first
        since, is_older = condition.began, condition.is_older
    if condition.began or condition.since:
        # A cause that comes back begins again, even where no look fell between.
        kind_since = _own_start(condition, since)
    elif condition.kind != before.condition.kind:
        kind_since = condition.since or now
    is_more = _is_worse(before.condition.kind, condition.kind) or condition.extent > before.seen_extent
    return replace(
        before,
        condition=condition,
        since=since,
        since_or_earlier=is_older,
        kind_since=kind_since,
        seen_extent=max(before.seen_extent, condition.extent),
        worst=max(before.worst, condition, key=_gravity),
        absent_since=None,
        acknowledged_at=None if is_more else before.acknowledged_at,
    )


def _own_start(condition: Condition, began: datetime) -> datetime | None:
    """The start of the present kind, where that is later than the trouble itself."""
    return condition.since if condition.since != began else None


def _gravity(condition: Condition) -> tuple[int, int]:
    kind = condition.kind
    return DOMAIN_KINDS.index(kind) if kind in DOMAIN_KINDS else 0, condition.extent


def _is_worse(before: str, after: str) -> bool:
    if after in DOMAIN_KINDS:  # what is about a domain is so before and after
        return DOMAIN_KINDS.index(after) > DOMAIN_KINDS.index(before)
    return before != after


def begin(
    condition: Condition, *, now: datetime, first_look: bool, changes: Iterable[Mark]
) -> tuple[datetime, bool]:
    """The start of a condition that wasn't followed before, and True where it may have begun earlier."""
    if told := condition.began or condition.since:
        return told, condition.is_older
    if not first_look:
        return now, condition.is_older
    rested = (mark.at for mark in changes if mark.kind is MarkKind.STOPPED and mark.about == condition.where)
    last = max((at for at in rested if at <= now), default=None)
    if last and condition.kind != BAD:
        return last, condition.is_older
    return now, True


def start_of(
    condition: Condition,
    *,
    now: datetime,
    first_look: bool,
    changes: Iterable[Mark],
    recorded: Mapping[str, DomainPause] = MappingProxyType({}),
) -> ProblemStart:
    """The start of a condition, as far as one process can tell; `recorded` are the bot's records of domain pauses."""
    began, is_older = begin(condition, now=now, first_look=first_look, changes=changes)
    since = began.timestamp()
    if condition.kind == PAUSED and (pause := recorded.get(condition.where)):
        since, is_older = min(pause.at.timestamp(), since), False
    return ProblemStart(
        key=condition.key, kind=condition.kind, since=since, kind_since=since, is_older=is_older
    )


def _is_gone(alarm: Alarm, *, now: datetime) -> bool:
    """True where its condition has been away for longer than a flicker, at this look or between two."""
    return alarm.absent_since is not None and now - alarm.absent_since >= SETTLES


def _absent(alarm: Alarm, *, now: datetime) -> Alarm:
    """Recovered once its condition has been gone for a while, as of the beginning of that while."""
    if not alarm.is_on:
        return alarm
    alarm = replace(alarm, absent_since=alarm.absent_since or now)
    return replace(alarm, recovered_at=alarm.absent_since) if _is_gone(alarm, now=now) else alarm
