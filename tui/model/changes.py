"""Describes the changes between two snapshots. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import TypeVar

from shared.api.models import Inbox
from shared.domain.card import Tone
from shared.domain.snapshot import Reading, Snapshot
from shared.domain.wall_clock import moment
from shared.records.sequence_changes import PauseEnd
from shared.text.sanitize import visible
from tui.model.lines import Becomes, ChangeLine, LeadLine, PageRef
from tui.theme.words import clock

T = TypeVar("T")
NOTABLE = 5.0
"""Points of health between two reads that are worth a line."""
MOST = 50
"""Lines from one pair of snapshots; the verdict shows a change of everything."""


def between(before: Snapshot, after: Snapshot, *, at: datetime) -> tuple[ChangeLine, ...]:
    """The changes, at most `MOST`, what stops sending first; nothing where there was nothing to compare with."""
    found = (
        *_sequences(before, after, at),
        *_timed_pauses(before, after, at),
        *_inboxes(before, after, at),
        *_interested(before, after, at),
    )
    lines = together(found, inboxes=after.inboxes.value or ())
    return tuple(sorted(lines, key=lambda line: not stops_sending(line)))[:MOST]


def together(lines: Iterable[ChangeLine], *, inboxes: Iterable[Inbox] = ()) -> tuple[ChangeLine, ...]:
    """The same lines, but one for all inboxes of a domain whose status changed alike at the same time.

    Where these are all that it has of `inboxes`, the domain itself was paused, or recovers.
    """
    known = tuple(lines)
    alike = Counter(_place(line) for line in known)
    found: dict[tuple[datetime, str, str], ChangeLine] = {}
    sizes: Counter[str] | None = None
    for line in known:
        place = _place(line)
        at, domain, becomes = place
        if not becomes or alike[place] < 2:
            found[at, line.key, ""] = line
        elif place not in found:
            sizes = Counter(inbox.domain for inbox in inboxes) if sizes is None else sizes
            text = _of_domain(alike[place], becomes, is_all=alike[place] >= sizes[domain] > 0)
            ref = PageRef(kind="domain", key=domain)
            found[place] = ChangeLine(at, domain, text, line.tone, ref, becomes)
    return tuple(found.values())


def _place(line: ChangeLine) -> tuple[datetime, str, Becomes]:
    """When, in which domain and how an inbox began or ended to rest; the last is empty for all else."""
    return line.at, line.subject.lower().rpartition("@")[2], line.becomes if "@" in line.subject else ""


def _of_domain(number: int, becomes: Becomes, *, is_all: bool) -> str:
    rests = becomes == "resting"
    if not is_all:
        return f"{number} inboxes {'→ resting' if rests else 'resting → warming'}"
    return f"{'paused' if rests else 'recovers'} ({number} inboxes)"


def stops_sending(line: ChangeLine) -> bool:
    """Whether an inbox, or all of a domain, went to rest."""
    return line.becomes == "resting"


def tone_of_change(before: str, after: str) -> Tone:
    """Whether one word after another is an improvement: an inbox that rested and warms up sends again."""
    if after in {"active", "healthy", "interested"}:
        return Tone.GOOD
    if after == "warming":
        return Tone.GOOD if before == "resting" else Tone.INFO
    return Tone.GOOD if (before, after) == ("bad", "at risk") else Tone.WARN


def becomes_by(before: str, after: str) -> Becomes:
    """What a change of an inbox's status comes to."""
    if after == "resting":
        return "resting"
    return "recovering" if (before, after) == ("resting", "warming") else ""


def _pairs(
    before: Reading[tuple[T, ...]], after: Reading[tuple[T, ...]], key: Callable[[T], str]
) -> Iterator[tuple[T | None, T | None]]:
    """What is another object than before, as it was and as it is; None for what was not there, or is gone."""
    if before.value is None or before.value is after.value:
        return
    old = {key(one): one for one in before.value}
    for one in after.value or ():
        was = old.pop(key(one), None)
        if was is not one:  # what reads as before is the same object: ten thousand need no comparison
            yield was, one
    for gone in old.values():
        yield gone, None


def _sequences(before: Snapshot, after: Snapshot, at: datetime) -> Iterator[ChangeLine]:
    for was, now in _pairs(before.sequences, after.sequences, lambda sequence: sequence.id):
        ref = PageRef(kind="sequence", key=now.id) if now else None
        if now is None:
            yield ChangeLine(at, was.label if was else "", "is gone", Tone.WARN)
        elif was is None:
            yield ChangeLine(at, now.label, "is new", Tone.INFO, ref)
        elif was.status != now.status:
            tone = Tone.GOOD if now.status == "active" else Tone.WARN
            yield ChangeLine(at, now.label, f"is {now.status or 'of unknown status'}", tone, ref)


def _timed_pauses(before: Snapshot, after: Snapshot, at: datetime) -> Iterator[ChangeLine]:
    if before.pauses is None:
        return
    known = set(before.pauses)
    names = {one.id: one.label for one in after.sequences.value or ()}
    for one in after.pauses or ():
        if one not in known and one.sequence in names:
            ref = PageRef(kind="sequence", key=one.sequence)
            yield ChangeLine(at, names[one.sequence], pause_words(one, now=at), Tone.WARN, ref)


def pause_words(one: PauseEnd, *, now: datetime) -> str:
    """`is paused until 16:32 by ann`."""
    by = f" by {visible(one.by)}" if one.by else ""
    return f"is paused until {clock(moment(one.until), now=now)}{by}"


def _inboxes(before: Snapshot, after: Snapshot, at: datetime) -> Iterator[ChangeLine]:
    for was, now in _pairs(before.inboxes, after.inboxes, lambda inbox: inbox.email):
        if now is None:
            yield ChangeLine(at, was.email if was else "", "is no longer connected", Tone.WARN)
        elif was is None:
            yield ChangeLine(at, now.email, "is connected", Tone.INFO, _ref(now))
        elif was != now:
            yield from _inbox(was, now, at)


def _inbox(was: Inbox, now: Inbox, at: datetime) -> Iterator[ChangeLine]:
    if was.status != now.status:
        tone = tone_of_change(was.status or "", now.status or "")
        change = f"{was.status or 'unknown'} → {now.status or 'unknown'}"
        becomes = becomes_by(was.status or "", now.status or "")
        yield ChangeLine(at, now.email, change, tone, _ref(now), becomes)
    if was.health_score is None or now.health_score is None:
        return
    if abs(moved := now.health_score - was.health_score) >= NOTABLE:
        tone = Tone.GOOD if moved > 0 else Tone.WARN
        text = f"health {was.health_score:g} → {now.health_score:g}"
        yield ChangeLine(at, now.email, text, tone, _ref(now))


def _ref(inbox: Inbox) -> PageRef:
    return PageRef(kind="inbox", key=inbox.email)


def _interested(before: Snapshot, after: Snapshot, at: datetime) -> Iterator[ChangeLine]:
    for was, now in _pairs(before.interested, after.interested, lambda lead: lead.id):
        if now and was is None:
            company = f" of {now.company}" if now.company else ""
            ref = PageRef(kind="lead", key=now.id)
            yield ChangeLine(at, LeadLine(now).name + company, "is interested", Tone.GOOD, ref)
