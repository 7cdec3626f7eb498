"""`replies`: interested replies that nobody has claimed, or my claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from shared.commands.base import (
    ArgumentError,
    Arguments,
    Command,
    Result,
    Words,
    none_left,
    unknown_word,
)
from shared.domain.card import Card, Fact, Row, Table, Tone, columns
from shared.text.formats import clip, show_number, show_span

if TYPE_CHECKING:
    from shared.commands.run import CommandContext
    from shared.records.replies import OpenReply

UNCLAIMED = "Unclaimed replies"
LATE_SECONDS = 300
"""Seconds after which an unclaimed reply is late."""
OPEN_COLUMNS = columns("Waiting", "Lead", "Email", "Company", "Reply", "Sequence", "Message")
PAGE = 15
"""Replies on one page of `replies`."""
LAST_PAGE = 9_999


class Replies(Arguments):
    """`replies [mine|PAGE]`."""

    verb = "replies"
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


async def _run(arguments: Replies, context: CommandContext) -> Result:
    card, replies, _ = await find_replies(arguments, context)
    rows = []
    for reply in replies:
        age = show_span(context.now() - reply.received_at)
        cells = (age, reply.lead, reply.email, reply.company, reply.reply, reply.sequence, reply.permalink)
        rows.append(Row(cells, tone=Tone.INFO if arguments.mine else late_tone(reply, context.now())))
    data = [{**asdict(reply), "received_at": reply.received_at.isoformat()} for reply in replies]
    return Result(replace(card, table=Table(OPEN_COLUMNS, rows)), rows=data)


async def find_replies(asked: Replies, context: CommandContext) -> tuple[Card, Sequence[OpenReply], int]:
    """The head of the list, what is on it (the oldest first), and how many there are in all."""
    records, name = context.records, context.workspace.name
    if asked.mine:
        claims = await records.own_replies(context.actor.id or context.actor.name)
        own = [reply for workspace, reply in claims if workspace == name]
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


def late_tone(reply: OpenReply, now: datetime) -> Tone:
    """The tone of an unclaimed reply, by its age."""
    return Tone.BAD if (now - reply.received_at).total_seconds() > LATE_SECONDS else Tone.WARN


COMMAND = Command(
    arguments=Replies,
    run=_run,
    rank=130,
    aliases=("open",),
    usage="[mine|PAGE]",
    summary="List unclaimed interested replies, or those that you have claimed",
    own_fields=("alert_id", "received_at"),
    examples=("replies", "replies mine", "replies 2"),
)
