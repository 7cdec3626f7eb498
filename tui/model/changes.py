"""What became different between two snapshots, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from shared.api.models import Inbox
from shared.domain.card import Tone
from shared.domain.health import DomainHealth
from shared.domain.snapshot import Snapshot
from shared.text.formats import show_number
from tui.model.board import RANK, Board
from tui.model.lines import ChangeLine
from tui.theme import formatting

NOTABLE = 5.0
"""Points of health between two reads that are worth a line."""
MOST = 50
"""Lines from one pair of snapshots; a change of everything is told by the verdict."""


def between(before: Snapshot, after: Snapshot, *, at: datetime) -> tuple[ChangeLine, ...]:
    """The changes, at most `MOST`; nothing where there was nothing to compare with."""
    found = (*_sequences(before, after, at), *_inboxes(before, after, at), *_interested(before, after, at))
    return found[:MOST]


def news(lines: Iterable[ChangeLine], *, since: datetime | None, now: datetime) -> str:
    """`3 changes since 13:40, 2 for the worse`; nothing where there were none, or nobody has looked before."""
    found = [line for line in lines if since and line.at > since]
    if not found or since is None:
        return ""
    worse = sum(line.tone in {Tone.WARN, Tone.BAD} for line in found)
    how = f", {worse:,} for the worse" if worse else ""
    return f"{show_number(len(found), 'change')} since {formatting.moment(since, now=now)}{how}"


def _sequences(before: Snapshot, after: Snapshot, at: datetime) -> Iterator[ChangeLine]:
    if before.sequences.value is after.sequences.value or before.sequences.value is None:
        return
    old = {sequence.id: sequence for sequence in before.sequences.value}
    for sequence in after.sequences.value or ():
        was = old.pop(sequence.id, None)
        if was is None:
            yield ChangeLine(at, sequence.label, "is new", Tone.INFO)
        elif was.status != sequence.status:
            tone = Tone.GOOD if sequence.status == "active" else Tone.WARN
            yield ChangeLine(at, sequence.label, f"is {sequence.status or 'of unknown status'}", tone)
    for gone in old.values():
        yield ChangeLine(at, gone.label, "is gone", Tone.WARN)


def _inboxes(before: Snapshot, after: Snapshot, at: datetime) -> Iterator[ChangeLine]:
    if before.inboxes.value is after.inboxes.value or before.inboxes.value is None:
        return
    old = {inbox.email: inbox for inbox in before.inboxes.value}
    for inbox in after.inboxes.value or ():
        was = old.pop(inbox.email, None)
        if was is None:
            yield ChangeLine(at, inbox.email, "is connected", Tone.INFO)
        elif was != inbox:
            yield from _inbox(was, inbox, at)
    for gone in old.values():
        yield ChangeLine(at, gone.email, "is no longer connected", Tone.WARN)


def _inbox(was: Inbox, now: Inbox, at: datetime) -> Iterator[ChangeLine]:
    if was.status != now.status:
        tone = Tone.GOOD if now.status == "active" else Tone.WARN
        change = f"{was.status or 'unknown'} → {now.status or 'unknown'}"
        yield ChangeLine(at, now.email, change, tone)
    if was.health_score is None or now.health_score is None:
        return
    if abs(moved := now.health_score - was.health_score) >= NOTABLE:
        tone = Tone.GOOD if moved > 0 else Tone.WARN
        yield ChangeLine(at, now.email, f"health {was.health_score:.0f} → {now.health_score:.0f}", tone)


def _interested(before: Snapshot, after: Snapshot, at: datetime) -> Iterator[ChangeLine]:
    if before.interested.value is after.interested.value or before.interested.value is None:
        return
    old = {lead.id for lead in before.interested.value}
    for lead in after.interested.value or ():
        if lead.id not in old:
            company = f" of {lead.company}" if lead.company else ""
            name = (
                " ".join(part for part in (lead.first_name, lead.last_name) if part) or lead.email or lead.id
            )
            yield ChangeLine(at, name + company, "is interested", Tone.GOOD)


def new_alarms(before: Board | None, after: Board) -> tuple[str, ...]:
    if before is None or not before.domains:
        return ()
    return (*_domains(before, after), *_service(before, after))


def _domains(before: Board, after: Board) -> Iterator[str]:
    old = {domain.domain: domain for domain in before.domains}
    for domain in after.domains:
        was = old.get(domain.domain)
        if was and _is_alarming(domain) and (not _is_alarming(was) or RANK[domain.tone] < RANK[was.tone]):
            yield f"{domain.domain}: {'; '.join(domain.reasons)}"


def _is_alarming(domain: DomainHealth) -> bool:
    return domain.tone is Tone.BAD or (domain.inboxes > 0 and domain.resting == domain.inboxes)


def _service(before: Board, after: Board) -> Iterator[str]:
    if after.trouble and after.trouble.everything and not (before.trouble and before.trouble.everything):
        yield f"The service cannot be reached: {after.trouble.reason}"
