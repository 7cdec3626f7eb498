"""The queue of replies as rows of a list, and which replies are news. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from shared.domain.card import Card, Fact, Tone
from shared.domain.reply_queue import QueuedReply
from shared.domain.snapshot import Snapshot
from shared.frozen import frozen
from shared.text.formats import show_span
from shared.text.sanitize import visible
from tui.model.columns import SIGN, Column, text_column
from tui.model.lines import lead_name
from tui.theme.palette import SIGNS, TONE_INK, Ink
from tui.theme.words import REST, Piece, clock

DELETED = "The words of this reply are no longer stored."
LATE = timedelta(minutes=5)
"""An unclaimed reply that is older is shown as late."""


@frozen
class ReplyLine:
    """A reply of the queue at a moment."""

    reply: QueuedReply
    now: datetime

    @property
    def key(self) -> str:
        return self.reply.alert_id

    @property
    def tone(self) -> Tone:
        if not self.reply.is_unclaimed:
            return Tone.INFO
        return Tone.BAD if self.now - self.reply.received_at > LATE else Tone.WARN

    @property
    def who(self) -> str:
        return self.reply.lead or self.reply.email

    @property
    def state(self) -> str:
        reply = self.reply
        if reply.claimed_by:
            at = f" {clock(reply.claimed_at, now=self.now)}" if reply.claimed_at else ""
            return f"{'you' if reply.is_own else f'@{reply.claimed_by}'}{at}"
        if reply.snoozed_until:
            return f"snoozed until {clock(reply.snoozed_until, now=self.now)}"
        return f"@{reply.turn_of}'s turn" if reply.turn_of else "unclaimed"

    @property
    def words(self) -> str:
        reply = self.reply
        words = (reply.lead, reply.email, reply.company, reply.sequence, self.state, reply.text)
        return " ".join(words)

    @property
    def card(self) -> Card:
        """All that is known of it."""
        reply = self.reply
        facts = (
            ("Email", reply.email),
            ("Company", reply.company),
            ("Sequence", reply.sequence),
            ("Received", clock(reply.received_at, now=self.now)),
            ("State", self.state),
        )
        return Card(
            title=self.who,
            tone=self.tone,
            facts=tuple(Fact(label=label, value=value) for label, value in facts if value),
            quote=reply.text,
            text=() if reply.text else (DELETED,),
        )


def _sign(line: ReplyLine, _: int) -> Sequence[Piece]:
    is_at_rest = not line.reply.is_unclaimed
    return ((REST if is_at_rest else SIGNS[line.tone], TONE_INK[line.tone]),)


def _waiting(line: ReplyLine, _: int) -> Sequence[Piece]:
    age = show_span(line.now - line.reply.received_at)
    return ((age, TONE_INK[line.tone] if line.reply.is_unclaimed else Ink.MUTED),)


def _state(line: ReplyLine, _: int) -> Sequence[Piece]:
    ink = TONE_INK[line.tone] if line.reply.is_unclaimed else Ink.STRONG if line.reply.is_own else Ink.MUTED
    return ((visible(line.state), ink),)


def _words(line: ReplyLine, _: int) -> Sequence[Piece]:
    return ((visible(" ".join(line.reply.text.split())) or "(no longer stored)", Ink.TEXT),)


COLUMNS = (
    Column(SIGN, "", 1, _sign),
    Column("waiting", "Waiting", 11, _waiting, right=True, least=9, sort=lambda x: x.reply.received_at),
    text_column("lead", "Lead", 22, lambda x: x.who, Ink.STRONG, least=14),
    text_column("company", "Company", 18, lambda x: x.reply.company, least=10, rank=2),
    Column("state", "State", 22, _state, least=15, sort=lambda x: x.state),
    Column("reply", "Reply", 24, _words, least=16, grow=2),
    text_column("sequence", "Sequence", 20, lambda x: x.reply.sequence, Ink.MUTED, least=12, rank=3, grow=1),
)


class ReplyNews:
    """Tells of each reply that the bot has recorded once, those left out that were there when the dashboard began."""

    def __init__(self, *, since: datetime) -> None:
        self._since = since
        self._told: set[tuple[str, datetime]] = set()

    def of(self, snapshot: Snapshot) -> Iterator[str]:
        """The news in another snapshot, one line a reply."""
        if not snapshot.replies:  # also where the records can't be read for a while
            return
        leads = {lead.email: lead for lead in snapshot.interested.value or ()}
        present = {(reply.email, reply.received_at): reply for reply in snapshot.replies}
        # What is listed no more is forgotten, because a dashboard runs for weeks.
        self._told &= present.keys()
        for key, reply in present.items():
            if reply.claimed_by or reply.received_at < self._since or key in self._told:
                continue
            self._told.add(key)
            lead = leads.get(reply.email)
            company = f" of {lead.company}" if lead and lead.company else ""
            name = lead_name(lead) + company if lead else reply.email
            yield f"Unclaimed reply: {name}" + (f", {reply.sequence}" if reply.sequence else "")
