"""`replies`: interested replies that nobody has claimed, or my claims; `away` and `back`: who gets turns in a rota."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from shared.commands.base import (
    NOTHING_CHANGED,
    ArgumentError,
    Arguments,
    Changing,
    CommandContext,
    Result,
    Words,
    none_left,
    refused,
    texts,
    unknown_word,
)
from shared.commands.times import End, end_mistake, read_end
from shared.domain.card import Card, Fact, Row, Table, Tone, columns
from shared.domain.reply_states import LATE_SECONDS
from shared.text.formats import clip, show_number, show_span
from shared.text.quotations import without_quotation

if TYPE_CHECKING:
    from shared.domain.alert import Alert

UNCLAIMED = "Unclaimed replies"
OPEN_COLUMNS = columns("Waiting", "Lead", "Email", "Company", "Reply", "Sequence")
BEGINNING = 120
"""Characters of a reply that lists show."""
PAGE = 15
"""Replies on one page of `replies`."""
LAST_PAGE = 9_999


class Replies(Arguments):
    """List unclaimed interested replies, or those that you have claimed."""

    verb = "replies"
    aliases = ("open",)
    usage = "[mine|PAGE]"
    own_fields = ("alert_id", "received_at")
    examples = ("replies", "replies mine", "replies 2")

    page: int | None = None
    mine: bool = False
    """True for the person's own claims that aren't done, instead of the unclaimed replies."""

    @classmethod
    def read(cls, words: Words) -> Self:
        none_left(words[1:])
        if not words:
            return cls()
        if words[0].is_one_of("mine"):
            return cls(mine=True)
        text = words[0].text
        if not text.isdecimal():
            raise unknown_word(words[0], ("mine",))
        if not 1 <= int(text) <= LAST_PAGE:
            raise ArgumentError(f"“{clip(text)}” isn't a page.", hint="Use 1 to 9999, as in `replies 2`.")
        return cls(page=int(text))

    def write(self) -> Iterable[str]:
        return ("mine",) if self.mine else (str(self.page),) if self.page else ()

    async def run(self, context: CommandContext) -> Result:
        card, replies, _ = await find_replies(self, context)
        rows, data = [], []
        for reply in replies:
            event, age = reply.event, show_span(context.now() - reply.received)
            values = {
                "lead": event.lead.name,
                "email": reply.email,
                "company": event.lead.company or "",
                "reply": clip(without_quotation(event.reply or ""), length=BEGINNING),
                "sequence": event.sequence or "",
            }
            tone = Tone.INFO if self.mine else late_tone(reply, context.now())
            rows.append(Row((age, *values.values()), tone=tone))
            data.append({"alert_id": reply.id, "received_at": reply.received.isoformat(), **values})
        return Result(replace(card, table=Table(OPEN_COLUMNS, rows)), rows=data)


async def find_replies(asked: Replies, context: CommandContext) -> tuple[Card, Sequence[Alert], int]:
    """The head of the list, what is on it (the oldest first), and how many there are in all."""
    records, name = context.records, context.workspace.name
    if asked.mine:
        claims = await records.own_replies(context.actor.id or context.actor.name)
        own = [reply for reply in reversed(claims) if reply.workspace == name]
        title = f"{show_number(len(own), 'claim')} not done" if own else "No claims of yours are open"
        return Card(title), own, len(own)
    first = ((asked.page or 1) - 1) * PAGE
    waiting = await records.open_replies(name, **({"first": first, "most": PAGE} if asked.page else {}))
    replies, count = waiting.replies, waiting.count
    if count and not replies:  # they were claimed since the page before was shown
        return await find_replies(replace(asked, page=-(-count // PAGE)), context)
    if count:
        text = f"{first + 1:,} to {first + len(replies):,} of {count:,}, oldest first."
        card = Card(show_number(count, "unclaimed reply"), tone=late_tone(replies[0], context.now()))
        return replace(card, text=(text,) if len(replies) < count else ()), replies, count
    # Without a bot nothing is recorded, and "none" would be a claim that nobody can make.
    if await records.bot_is_running():
        return Card("No unclaimed replies", tone=Tone.GOOD), (), 0
    why = "No bot is running, so new replies aren't recorded. Start it with `outreach bot`."
    return Card("No unclaimed replies recorded", tone=Tone.UNKNOWN, text=(why,)), (), 0


def unclaimed_fact(count: int, oldest_at: datetime | None, *, is_running: bool, now: datetime) -> Fact:
    """The unclaimed replies and the age of the oldest; that nobody records replies is not that there are none."""
    if oldest_at:
        value = f"{count:,}, the oldest for {show_span(now - oldest_at)}"
        return Fact(UNCLAIMED, value, tone=Tone.WARN)
    if is_running:
        return Fact(UNCLAIMED, "none", tone=Tone.GOOD)
    return Fact(UNCLAIMED, "none recorded: no bot is running", tone=Tone.UNKNOWN)


def late_tone(reply: Alert, now: datetime) -> Tone:
    """The tone of an unclaimed reply, by its age."""
    return Tone.BAD if (now - reply.received).total_seconds() > LATE_SECONDS else Tone.WARN


# -- who gets turns in a rota

LONGEST_ABSENCE = timedelta(days=366)
"""A year that was mistyped would take somebody out of the rota for good."""


class InRota(Changing):
    """A command of people who take turns in a channel."""

    slack_only = True  # elsewhere nobody knows who you are in Slack

    @classmethod
    def is_offered(cls, context: CommandContext) -> bool:
        return bool(context.settings.routes.rotas)


class Away(InRota):
    """Get no turns in a rota while you are away."""

    verb = "away"
    usage = "[for 2h|until monday]"
    examples = ("away until monday", "away for 2h", "away")

    end: End = End()  # frozen

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            return cls()
        if end := read_end(texts(words)):
            return cls(end=end)
        mistake = end_mistake(texts(words))
        raise ArgumentError(mistake.problem, hint=f"{mistake.hint} Or nothing: until you type `back`.")

    def write(self) -> Iterable[str]:
        return self.end.write()

    async def run(self, context: CommandContext) -> Result:
        """Turns that the person has now pass on."""
        end = self.end
        if not self.is_offered(context):
            why = "Nobody takes turns here. `[routes.rota]` in the settings names who does."
            return refused("There is no rota", why, why="no rota")
        now = context.now()
        until = end.after(now, zone=context.zone)
        if end.until and (until is None or until > now + LONGEST_ABSENCE):
            return refused(
                f"{end.until} isn't in the next twelve months", NOTHING_CHANGED, why="too far away"
            )
        await context.records.turns.leave(context.actor, until=until.timestamp() if until else None)
        shown = f"until {context.show(until)}" if until else "until they are back"
        text = ("Others in the rota get the turns. `back` ends it.",)
        card = Card(f"@{context.actor.name} is away {shown}", text=text)
        return Result(card, audit=f"away {shown}")


class Back(InRota):
    """Get turns in a rota again."""

    verb = "back"
    examples = ("back",)

    async def run(self, context: CommandContext) -> Result:
        """The person gets turns again."""
        if not await context.records.turns.come_back(context.actor.id):
            return Result(Card("You aren't away", text=(NOTHING_CHANGED,)))
        return Result(Card(f"@{context.actor.name} is back", tone=Tone.GOOD), audit="back")
