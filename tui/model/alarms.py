"""The life of alarms: raised, changed, acknowledged, gone. Pure.

An alarm follows a condition while it holds. An acknowledged alarm returns when it gets worse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from shared.domain.snapshot import ProblemStart
from shared.domain.workspace_verdict import BAD, DOMAIN_KINDS, GUARDRAIL, PAUSED, Condition
from shared.frozen import frozen
from shared.records import DomainPause
from shared.text.sanitize import visible
from tui.model.happened import Mark, MarkKind
from tui.theme.words import clock

SETTLES = timedelta(seconds=30)
"""A condition that comes back within this time was never gone."""
FRESH = timedelta(minutes=5)
"""A guardrail that fired longer ago is shown but raises no alarm: the bot has reported it."""


@frozen
class Alarm:
    """One alarm of a workspace: its condition as it is now, and what has become of it."""

    condition: Condition
    """With its start."""
    absent_since: datetime | None = None
    acknowledged_at: datetime | None = None
    seen_extent: int
    """The most inboxes that it has concerned so far."""

    @property
    def key(self) -> str:
        return self.condition.key

    @property
    def where(self) -> str:
        return self.condition.where

    @property
    def is_new(self) -> bool:
        return self.acknowledged_at is None

    def told(self, now: datetime) -> str:
        """`useacme.example paused, 7 inboxes not sending since 04:12`."""
        what = f"{self.where} {self.condition.text}".strip()
        since = since_words(self.condition, now=now)
        gone = f", gone since {clock(self.absent_since, now=now)}" if self.absent_since else ""
        return visible(f"{what} since {since}{gone}")


def since_words(condition: Condition, *, now: datetime) -> str:
    """`14:18`, or `before 14:16` of what held already at the first look; empty where the start is unknown."""
    if condition.since is None:
        return ""
    return f"{'before ' if condition.is_start_unseen else ''}{clock(condition.since, now=now)}"


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
    for key, seen in present.items():
        before = others.pop(key, None)
        # It may have gone and come back between two looks: then this is another one.
        if before and _is_gone(before, now=now):
            before = None
        condition = _with_start(seen, before, now=now, first_look=first_look, changes=changes)
        if before:
            alarm = _followed(before, condition)
        else:
            alarm = Alarm(condition=condition, seen_extent=condition.extent)
        kept.append(alarm)
        is_old = condition.kind == GUARDRAIL and now - (condition.began or now) > FRESH
        was_new = before is not None and before.is_new
        if alarm.is_new and not was_new and not first_look and not is_old:
            raised.append(alarm)
    for alarm in others.values():
        # A service that is silent has made no domain well.
        if alarm.condition.is_of_domain and not domains_read:
            kept.append(alarm)
            continue
        absent = replace(alarm, absent_since=alarm.absent_since or now)
        if not _is_gone(absent, now=now):
            kept.append(absent)
    return Update(tuple(kept), tuple(raised))


def acknowledged(alarms: Sequence[Alarm], keys: Collection[str], *, at: datetime | None) -> tuple[Alarm, ...]:
    """These alarms as acknowledged at a time, or, where that is taken back, as new again."""
    return tuple(replace(alarm, acknowledged_at=at) if alarm.key in keys else alarm for alarm in alarms)


def _with_start(
    condition: Condition,
    before: Alarm | None,
    *,
    now: datetime,
    first_look: bool,
    changes: Iterable[Mark],
) -> Condition:
    """The condition with its start: that of the history, which other processes share, or else as it was seen here."""
    if condition.began:
        return condition
    if before is None:
        began, is_older = begin(condition, now=now, first_look=first_look, changes=changes)
        return replace(condition, since=condition.since or began, began=began, is_older=is_older)
    former = before.condition
    # A cause that comes back begins again, even where no look fell between.
    since = condition.since or (former.since if condition.kind == former.kind else now)
    return replace(condition, since=since, began=former.began, is_older=former.is_older)


def _followed(before: Alarm, condition: Condition) -> Alarm:
    """The alarm with what is so now; not acknowledged any more where that is worse, or of another kind."""
    # Who acknowledged it hasn't seen what is worse than that.
    is_more = _is_worse(before.condition.kind, condition.kind) or condition.extent > before.seen_extent
    return replace(
        before,
        condition=condition,
        seen_extent=max(before.seen_extent, condition.extent),
        absent_since=None,
        acknowledged_at=None if is_more else before.acknowledged_at,
    )


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
        return now, False
    # Nobody saw it begin; inboxes that were seen to stop date a pause, and nothing dates a low health.
    rested = (mark.at for mark in changes if mark.kind is MarkKind.STOPPED and mark.about == condition.where)
    last = max((at for at in rested if at <= now), default=None)
    if last and condition.kind != BAD:
        return last, False
    return now, True


def start_of(
    condition: Condition,
    *,
    now: datetime,
    first_look: bool,
    changes: Iterable[Mark],
    recorded: Mapping[str, DomainPause],
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
