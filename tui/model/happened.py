"""Marks of what happened: from changes that polls noticed, and from what the bot recorded. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from shared.domain.wall_clock import moment
from shared.domain_health.report import DomainChange, Value
from shared.domain_health.wording import change_of
from shared.history import Transition
from shared.records.domains import DomainIncident
from shared.records.guardrails import Incident
from shared.records.records import PeriodRecords
from shared.text.formats import show_number
from tui.theme.marks import Mark, MarkKind

LOST = "was found by polling: its webhook never arrived"
SKEW = timedelta(minutes=1)
"""A poll that was under way dates a change before its record does."""
NOTICED_WITHIN = timedelta(minutes=20)
"""A change that is recorded is noticed by a poll so much later at most: it is one mark, not two."""


def of_transitions(transitions: Iterable[Transition]) -> tuple[Mark, ...]:
    """Pauses of sequences, and inboxes that rest or send again, those of a domain at one time together; the oldest first."""
    marks: list[Mark] = []
    inboxes: defaultdict[tuple[datetime, str, MarkKind], list[Transition]] = defaultdict(list)
    for one in transitions:
        if one.field != "status":
            continue
        if one.kind == "sequence" and (kind := _of_sequence(one.after)):
            marks.append(
                Mark(at=one.at, kind=kind, subject=one.label or one.key, text=_noticed(kind), about=one.key)
            )
        elif one.kind == "inbox" and (kind := _of_inbox(one.before, one.after)):
            inboxes[one.at, one.key.lower().rpartition("@")[2], kind].append(one)
    marks += [_of_inboxes(at, domain, kind, found) for (at, domain, kind), found in inboxes.items()]
    return tuple(sorted(marks, key=lambda mark: mark.at))


def of_period(period: PeriodRecords, *, names: Mapping[str, str]) -> tuple[Mark, ...]:
    """Sequences that were paused and resumed, by whom, and domains that the service paused; `names` of sequences by id."""
    marks = [
        Mark(
            at=change.at,
            kind=MarkKind.PAUSED if change.effect == "paused" else MarkKind.RESUMED,
            subject=names.get(sequence, sequence),
            text=f"{change.effect} by {change.actor.name}" + (f": {change.reason}" if change.reason else ""),
            about=sequence,
        )
        for change in period.changes
        if change.effect in {"paused", "resumed"}
        for sequence in change.sequences
    ]
    marks += [_of_domain(one) for one in period.incidents if one.domain]
    marks += [Mark(at=at, kind=MarkKind.LOST_REPLY, subject="A reply", text=LOST) for at in period.lost]
    return tuple(sorted(marks, key=lambda mark: mark.at))


def _of_domain(one: DomainIncident) -> Mark:
    return Mark(at=one.at, kind=MarkKind.STOPPED, subject=one.domain, text=one.text, about=one.domain)


def together(recorded: Iterable[Mark], noticed: Iterable[Mark]) -> tuple[Mark, ...]:
    """All marks, the oldest first; what is recorded with its exact time and its author is not noticed once more."""
    known = list(recorded)
    times: defaultdict[tuple[MarkKind, str], list[datetime]] = defaultdict(list)
    for mark in known:
        times[mark.kind, mark.about].append(mark.at)
    new = (
        mark
        for mark in noticed
        if not any(-SKEW <= mark.at - at <= NOTICED_WITHIN for at in times[mark.kind, mark.about])
    )
    return tuple(sorted((*known, *new), key=lambda mark: mark.at))


def of_dns(changes: Iterable[DomainChange]) -> tuple[Mark, ...]:
    """Records that broke, confirmed by two resolvers, and those that are good again; the oldest first."""
    found = []
    for one in changes:
        broke = one.after.value is Value.PROBLEM and one.after.confirmed
        if broke or one.recovered:
            kind = MarkKind.DNS_BROKEN if broke else MarkKind.DNS_GOOD
            found.append(
                Mark(at=one.at, kind=kind, subject=one.domain, text=change_of(one), about=one.domain)
            )
    return tuple(sorted(found, key=lambda mark: mark.at))


def of_incidents(incidents: Iterable[Incident]) -> tuple[Mark, ...]:
    """Guardrails that fired, the oldest first."""
    marks = (
        Mark(
            at=moment(one.began_at),
            kind=MarkKind.GUARDRAIL,
            subject=one.label or one.subject,
            text=f"guardrail {one.rule}" + (f": {one.note}" if one.note else ""),
            about=one.subject,
        )
        for one in incidents
    )
    return tuple(sorted(marks, key=lambda mark: mark.at))


def _noticed(kind: MarkKind) -> str:
    return f"{kind.value} (as noticed)"


def _of_sequence(after: str) -> MarkKind | None:
    return {"paused": MarkKind.PAUSED, "active": MarkKind.RESUMED}.get(after)


def _of_inbox(before: str, after: str) -> MarkKind | None:
    if after == "resting":
        return MarkKind.STOPPED
    return MarkKind.SENDING if before == "resting" and after in {"active", "warming"} else None


def _of_inboxes(at: datetime, domain: str, kind: MarkKind, found: Sequence[Transition]) -> Mark:
    if len(found) == 1:
        return Mark(at=at, kind=kind, subject=found[0].key, text=f"is {found[0].after}", about=domain)
    return Mark(
        at=at, kind=kind, subject=domain, text=f"{show_number(len(found), 'inbox')} {kind}", about=domain
    )
