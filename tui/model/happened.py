"""Marks of what happened: from changes that polls noticed, and from what the bot recorded. Pure.

Another kind of mark is one member of `MarkKind` and its look in `LOOKS`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.records import Incident, PeriodRecords, Transition
from shared.text.formats import show_number
from tui.theme.palette import Ink

if TYPE_CHECKING:
    from shared.domain_health.report import DomainChange

LOST = "was found by polling: its webhook never arrived"
SKEW = timedelta(minutes=1)
"""A poll that was under way dates a change before its record does."""
NOTICED_WITHIN = timedelta(minutes=20)
"""A change that is recorded is noticed by a poll so much later at most: it is one mark, not two."""


class MarkKind(StrEnum):
    """Kinds of marks; the more serious is named first, and stands where two fall into one cell."""

    STOPPED = "stopped sending"
    DNS_BROKEN = "DNS broken"
    GUARDRAIL = "guardrail"
    LOST_REPLY = "reply lost"
    PAUSED = "paused"
    SENDING = "sending again"
    DNS_GOOD = "DNS good again"
    RESUMED = "resumed"


class Look(NamedTuple):
    """The sign of a kind of mark, and its word in the key of signs."""

    sign: str
    ink: Ink
    word: str


LOOKS = {
    MarkKind.STOPPED: Look("○", Ink.BAD, "inboxes rest"),
    MarkKind.DNS_BROKEN: Look("✗", Ink.BAD, "DNS broken"),
    MarkKind.GUARDRAIL: Look("◆", Ink.BAD, "guardrail"),
    MarkKind.LOST_REPLY: Look("⊘", Ink.WARN, "reply lost, found by polling"),
    MarkKind.PAUSED: Look("‖", Ink.WARN, "sequence paused"),
    MarkKind.SENDING: Look("●", Ink.GOOD, "inboxes send again"),
    MarkKind.DNS_GOOD: Look("✓", Ink.GOOD, "DNS good again"),
    MarkKind.RESUMED: Look("►", Ink.GOOD, "sequence resumed"),
}


@frozen
class Mark:
    """Something that happened to `subject`, a domain, an inbox or a sequence by name; `about` is its key."""

    at: datetime
    kind: MarkKind
    subject: str
    text: str
    about: str = ""

    @property
    def look(self) -> Look:
        return LOOKS[self.kind]


def together(recorded: Iterable[Mark], noticed: Iterable[Mark]) -> tuple[Mark, ...]:
    """All marks, the oldest first; what is recorded with its exact time and its author is not noticed once more."""
    marks = list(recorded)
    times: defaultdict[tuple[MarkKind, str], list[datetime]] = defaultdict(list)
    for mark in marks:
        times[mark.kind, mark.about].append(mark.at)
    for mark in noticed:
        lags = (mark.at - at for at in times[mark.kind, mark.about])
        if not any(-SKEW <= lag <= NOTICED_WITHIN for lag in lags):
            marks.append(mark)
    return tuple(sorted(marks, key=lambda mark: mark.at))


def of_transitions(transitions: Iterable[Transition]) -> tuple[Mark, ...]:
    """Pauses of sequences, and inboxes that rest or send again, those of a domain at one time as one mark; the newest first."""
    return tuple(sorted(_noticed(transitions), key=lambda mark: mark.at, reverse=True))


def _noticed(transitions: Iterable[Transition]) -> Iterator[Mark]:
    inboxes: defaultdict[tuple[datetime, str, MarkKind], list[Transition]] = defaultdict(list)
    for change in transitions:
        if change.field != "status":
            continue
        if change.kind == "sequence" and change.after in {"paused", "active"}:
            kind = MarkKind.PAUSED if change.after == "paused" else MarkKind.RESUMED
            text = f"{kind.value} (as noticed)"
            yield Mark(at=change.at, kind=kind, subject=change.label, text=text, about=change.key)
        elif change.kind == "inbox":
            domain = change.key.lower().rpartition("@")[2]
            if change.after == "resting":
                inboxes[change.at, domain, MarkKind.STOPPED].append(change)
            elif change.before == "resting" and change.after in {"active", "warming"}:
                inboxes[change.at, domain, MarkKind.SENDING].append(change)
    for (at, domain, kind), alike in inboxes.items():
        subject, text = alike[0].key, f"is {alike[0].after}"
        if len(alike) > 1:
            subject, text = domain, f"{show_number(len(alike), 'inbox')} {kind}"
        yield Mark(at=at, kind=kind, subject=subject, text=text, about=domain)


def of_period(period: PeriodRecords, *, names: Mapping[str, str]) -> Iterator[Mark]:
    """Sequences that were paused and resumed, by whom, and domains that the service paused; `names` of sequences by id."""
    for change in period.changes:
        if change.effect not in {"paused", "resumed"}:
            continue
        kind = MarkKind.PAUSED if change.effect == "paused" else MarkKind.RESUMED
        reason = f": {change.reason}" if change.reason else ""
        text = f"{change.effect} by {change.actor.name}{reason}"
        for sequence in change.sequences:
            name = names.get(sequence, sequence)
            yield Mark(at=change.at, kind=kind, subject=name, text=text, about=sequence)
    for incident in period.incidents:
        if incident.domain:
            yield Mark(
                at=incident.at,
                kind=MarkKind.STOPPED,
                subject=incident.domain,
                text=incident.text,
                about=incident.domain,
            )
    for at in period.lost:
        yield Mark(at=at, kind=MarkKind.LOST_REPLY, subject="A reply", text=LOST)


def of_dns(changes: Iterable[DomainChange]) -> Iterator[Mark]:
    """DNS records that broke, confirmed by two resolvers, and those that are good again."""
    from shared.domain.dns_facts import change_of  # late: no first screen shows DNS

    for change in changes:
        broke = change.after.value == "problem" and change.after.confirmed
        if broke or change.recovered:
            kind = MarkKind.DNS_BROKEN if broke else MarkKind.DNS_GOOD
            yield Mark(
                at=change.at, kind=kind, subject=change.domain, text=change_of(change), about=change.domain
            )


def of_incidents(incidents: Iterable[Incident]) -> Iterator[Mark]:
    """Guardrails that fired."""
    for incident in incidents:
        yield Mark(
            at=moment(incident.began_at),
            kind=MarkKind.GUARDRAIL,
            subject=incident.label or incident.subject,
            text=f"guardrail {incident.rule}" + (f": {incident.note}" if incident.note else ""),
            about=incident.subject,
        )
