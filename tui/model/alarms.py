"""The life of alarms: raised, changed, acknowledged, recovered. Pure.

An alarm follows a condition while it holds. An acknowledged alarm returns when it gets worse.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from shared.domain.snapshot import ProblemStart
from shared.domain.workspace_verdict import DOMAIN_KINDS, GUARDRAIL, PAUSED, Condition
from shared.text.sanitize import visible
from tui.model.changes import stops_sending
from tui.model.lines import ChangeLine
from tui.theme.words import clock

SETTLES = timedelta(seconds=30)
"""A condition that comes back within this time was never gone."""
KEPT = timedelta(hours=24)
"""For so long the list shows an alarm that has recovered and was acknowledged."""
FRESH = timedelta(minutes=5)
"""A guardrail that fired longer ago is shown but raises no alarm: the bot has reported it."""
MOST = 100
"""Of those that have recovered; what is wrong now is never forgotten, or it would be raised again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One alarm of a workspace, with the present cause and value of its condition."""

    key: str
    kind: str
    where: str
    text: str
    extent: int
    since: datetime
    """When something began to be wrong here."""
    kind_since: datetime | None = None
    """When it became of the present kind; None: from the beginning."""
    since_or_earlier: bool = False
    """It held already when this dashboard looked for the first time."""
    absent_since: datetime | None = None
    recovered_at: datetime | None = None
    acknowledged_at: datetime | None = None
    seen_extent: int = 0
    """The most inboxes that it has concerned so far."""
    worst: str = ""
    """What it was at its worst; empty: what it is."""
    worst_kind: str = ""
    worst_extent: int = 0

    @property
    def is_on(self) -> bool:
        return self.recovered_at is None

    @property
    def is_new(self) -> bool:
        return self.acknowledged_at is None

    @property
    def text_since(self) -> datetime:
        """Since when the text is true; of what has recovered, since when anything was wrong."""
        return self.kind_since if self.kind_since and self.is_on else self.since

    def since_words(self, now: datetime) -> str:
        is_older = self.since_or_earlier and self.text_since == self.since
        return since_words(self.text_since, is_older=is_older, now=now)

    def told(self, now: datetime, *, workspace: str = "") -> str:
        """`useacme.example paused, 7 inboxes not sending since 04:12`."""
        whose = f"{workspace}:" if workspace else ""
        if self.recovered_at:
            what = " ".join(filter(None, (whose, self.where, self.worst or self.text)))
            recovered = clock(self.recovered_at, now=now)
            return visible(f"Recovered at {recovered}, started {self.since_words(now)}: {what}")
        what = " ".join(filter(None, (whose, self.where, self.text)))
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
    changes: Iterable[ChangeLine] = (),
) -> Update:
    """Follow the conditions of another look.

    Where the inboxes were not read since the last one, nothing is learned of domains. What holds at the first look is
    shown, but raised nothing: it is as old as `changes` say.
    """
    present = {one.key: one for one in conditions if domains_read or not one.is_of_domain}
    known = {one.key: one for one in alarms}
    kept, raised = [], []
    for key, condition in present.items():
        before = known.pop(key, None)
        alarm = _followed(before, condition, now=now)
        if before is None:
            alarm = _begun(alarm, condition, now=now, first_look=first_look, changes=changes)
        kept.append(alarm)
        is_old = condition.kind == GUARDRAIL and now - alarm.since > FRESH
        if alarm.is_new and not first_look and not is_old and (before is None or not before.is_new):
            raised.append(alarm)
    for alarm in known.values():
        is_read = domains_read or alarm.kind not in DOMAIN_KINDS
        kept.append(_absent(alarm, now=now) if is_read else alarm)
    lasting = [one for one in kept if not _is_over(one, now=now)]
    on = [one for one in lasting if one.is_on]
    over = sorted((one for one in lasting if one.recovered_at), key=_newest_first)
    return Update((*on, *over[:MOST]), tuple(raised))


def _newest_first(alarm: Alarm) -> float:
    return -alarm.recovered_at.timestamp() if alarm.recovered_at else 0.0


def acknowledged(alarms: Sequence[Alarm], keys: Collection[str], *, at: datetime | None) -> tuple[Alarm, ...]:
    """These alarms as acknowledged at a time, or, where that is taken back, as new again."""
    return tuple(replace(one, acknowledged_at=at) if one.key in keys else one for one in alarms)


def _followed(before: Alarm | None, condition: Condition, *, now: datetime) -> Alarm:
    """The alarm with what is so now; not acknowledged any more where that is worse, or of another kind."""
    if before is None or not before.is_on:
        began = condition.began or condition.since or now
        return Alarm(
            key=condition.key,
            kind=condition.kind,
            kind_since=condition.since if condition.since != began else None,
            where=condition.where,
            text=condition.text,
            extent=condition.extent,
            since=began,
            since_or_earlier=condition.is_older,
            seen_extent=condition.extent,
            worst=condition.text,
            worst_kind=condition.kind,
            worst_extent=condition.extent,
        )
    before = _remembered(before, condition)
    if before.absent_since is None and (before.kind, before.text, before.extent) == _said(condition):
        return before
    is_other = condition.kind != before.kind
    if _gravity(condition.kind, condition.extent) > _gravity(before.worst_kind, before.worst_extent):
        before = replace(
            before, worst=condition.text, worst_kind=condition.kind, worst_extent=condition.extent
        )
    is_more = _is_worse(before.kind, condition.kind) or condition.extent > before.seen_extent
    return replace(
        before,
        kind=condition.kind,
        kind_since=(condition.since or now) if is_other else before.kind_since,
        text=condition.text,
        extent=condition.extent,
        seen_extent=max(before.seen_extent, condition.extent),
        absent_since=None,
        acknowledged_at=None if is_more else before.acknowledged_at,
    )


def _remembered(before: Alarm, condition: Condition) -> Alarm:
    """With the start that the history remembers, which another process may have seen first."""
    if condition.began is None or (condition.kind == before.kind and condition.began == before.since):
        return before
    since = condition.since if condition.since != condition.began else None
    return replace(before, since=condition.began, kind_since=since, since_or_earlier=condition.is_older)


def _gravity(kind: str, extent: int) -> tuple[int, int]:
    return (DOMAIN_KINDS.index(kind) if kind in DOMAIN_KINDS else -1, extent)


def _said(condition: Condition) -> tuple[str, str, int]:
    return condition.kind, condition.text, condition.extent


def _is_worse(before: str, after: str) -> bool:
    if before in DOMAIN_KINDS and after in DOMAIN_KINDS:
        return DOMAIN_KINDS.index(after) > DOMAIN_KINDS.index(before)
    return before != after


def _begun(
    alarm: Alarm, condition: Condition, *, now: datetime, first_look: bool, changes: Iterable[ChangeLine]
) -> Alarm:
    """With the time at which it began, where that is known."""
    if not first_look or condition.since or condition.began:
        return alarm
    rested = [line.at for line in changes if stops_sending(line) and _is_at(line, alarm.where)]
    known = max((at for at in rested if at <= now), default=None)
    if known and alarm.kind != "bad":
        return replace(alarm, since=known)
    return replace(alarm, since_or_earlier=True)


def start_of(
    condition: Condition,
    *,
    now: datetime,
    first_look: bool,
    changes: Iterable[ChangeLine],
    recorded: Mapping[str, float] = MappingProxyType({}),
) -> ProblemStart:
    """Since when a condition has held, as far as one process can tell; `recorded` by the bot, of paused domains."""
    (alarm,) = update((), (condition,), now=now, first_look=first_look, changes=changes).alarms
    since, at = alarm.since.timestamp(), recorded.get(condition.where) if condition.kind == PAUSED else None
    is_older = alarm.since_or_earlier and at is None
    since = since if at is None else min(at, since)
    return ProblemStart(
        key=condition.key, kind=condition.kind, since=since, kind_since=since, is_older=is_older
    )


def _is_at(line: ChangeLine, domain: str) -> bool:
    return line.subject.lower().rpartition("@")[2] == domain


def _absent(alarm: Alarm, *, now: datetime) -> Alarm:
    """Recovered once its condition has been gone for a while, as of the beginning of that while."""
    if not alarm.is_on:
        return alarm
    absent = alarm.absent_since or now
    gone = now - absent >= SETTLES
    return replace(alarm, absent_since=absent, recovered_at=absent if gone else None)


def _is_over(alarm: Alarm, *, now: datetime) -> bool:
    return bool(alarm.recovered_at and not alarm.is_new and now - alarm.recovered_at > KEPT)
