"""What stands behind a line, as a card. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from shared.api.models import StatsRow
from shared.domain import reports
from shared.domain.card import Button, Card, Fact, Tone
from shared.text import formats
from shared.text.tokenize import join
from tui.model.board import Board
from tui.model.lines import ChangeLine, InboxLine, LeadLine, Line, SequenceLine, StatsLine


def card_of(line: Line, *, board: Board, changes: Sequence[ChangeLine]) -> Card:
    if isinstance(line, InboxLine):
        return _inbox(line, board=board, changes=changes)
    if isinstance(line, SequenceLine):
        return _sequence(line, changes=changes)
    if isinstance(line, StatsLine):
        return Card(title=line.name, tone=line.tone, facts=counts(line.stats))
    if isinstance(line, LeadLine):
        return _lead(line)
    assert isinstance(line, ChangeLine)
    text = (line.text, f"Seen at {line.at.astimezone():%d %b %H:%M:%S}.")
    return Card(title=line.subject, tone=line.tone, text=text)


def _inbox(line: InboxLine, *, board: Board, changes: Sequence[ChangeLine]) -> Card:
    inbox = line.inbox
    domain = next((d for d in board.domains if d.domain == inbox.domain), None)
    facts = (
        Fact(label="Verdict", value=line.verdict.word, tone=line.verdict.tone),
        Fact(label="Health", value=score(inbox.health_score), tone=line.tone),
        Fact(label="Status", value=inbox.status or "unknown"),
        Fact(label="Daily limit", value=formats.show_count(inbox.daily_limit)),
        *((Fact(label="Lately", value=formats.sparkline(line.trend)),) if len(line.trend) > 1 else ()),
        *(counts(line.stats) if line.stats else ()),
    )
    text = (f"{inbox.domain}: {'; '.join(domain.reasons) or 'all well'}.",) if domain else ()
    return Card(
        title=inbox.email,
        tone=line.tone,
        text=(*line.verdict.reasons, *text),
        facts=facts,
        buttons=(Button(label=f"Inboxes of {inbox.domain}", command=join("inboxes", inbox.domain)),),
        footer=_lately(inbox.email, changes),
    )


def score(health: float | None) -> str:
    """`73 of 100`."""
    return "unknown" if health is None else f"{health:g} of 100"


def _sequence(line: SequenceLine, *, changes: Sequence[ChangeLine]) -> Card:
    sequence = line.sequence
    facts = (
        Fact(label="Status", value=line.pending or sequence.status or "unknown", tone=line.tone),
        Fact(label="Steps", value=formats.show_count(sequence.steps)),
        *(counts(line.stats) if line.stats else ()),
    )
    verb = {"active": "Pause", "paused": "Resume"}.get(sequence.status or "")
    act = (Button(label=verb, command=join(verb.lower(), sequence.id)),) if verb else ()
    leads = Button(label="Its leads", command=join("leads", sequence.id))
    return Card(
        title=sequence.label,
        tone=line.tone,
        text=(sequence.id,),
        facts=facts,
        buttons=(*act, leads),
        footer=_lately(sequence.label, changes),
    )


def _lead(line: LeadLine) -> Card:
    lead = line.lead
    facts = tuple(
        Fact(label=label, value=value)
        for label, value in (("Address", lead.email), ("Company", lead.company), ("Id", lead.id))
        if value
    )
    status = Fact(label="Status", value=lead.status or "unknown", tone=Tone.GOOD)
    more = Button(label="All of this lead", command=join("lead", lead.id))
    return Card(title=line.name, tone=Tone.GOOD, facts=(status, *facts), buttons=(more,))


def counts(stats: StatsRow) -> tuple[Fact, ...]:
    """The four counts of 30 days, with their share of the sends."""

    def said(name: str) -> str:
        value = getattr(stats, name)
        share = reports.rate(value, stats.sends)
        return formats.show_count(value) + (f"  ({formats.show_rate(share)})" if share is not None else "")

    return (
        Fact(label="Sent, 30 days", value=formats.show_count(stats.sends)),
        Fact(label="Replies", value=said("replies")),
        Fact(label="Positive", value=said("positive_replies")),
        Fact(label="Meetings", value=said("meetings")),
    )


def _lately(subject: str, changes: Sequence[ChangeLine]) -> str:
    seen = [change for change in changes if change.subject == subject][:5]
    return "\n".join(f"{change.at.astimezone():%d %b %H:%M}  {change.text}" for change in seen)
