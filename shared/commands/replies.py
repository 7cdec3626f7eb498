"""`replies`: interested replies that nobody has claimed, or my claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

from shared.commands.base import (
    ArgumentError,
    Arguments,
    Command,
    Result,
    Words,
    none_left,
    not_done,
    unknown_word,
)
from shared.domain.card import Card, Row, Table, Tone, columns
from shared.text.formats import clip, show_number, show_span

if TYPE_CHECKING:
    from shared.commands.run import CommandContext
    from shared.records.replies import OpenReply, UnclaimedReplies

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
    if arguments.mine:
        claims = await own_replies(context)
        return _listed(own_title(len(claims)), claims, context, tone=Tone.INFO)
    page = arguments.page or 0
    waiting = await read_unclaimed(context, page=page)
    # Replies may have been claimed since the page before was shown.
    if waiting.count and not waiting.replies:
        text = "`replies` shows the first page."
        return not_done(f"Page {page} doesn't exist", text, why="no such page", argument="page")
    if waiting.count:
        first, count = max(0, page - 1) * PAGE, len(waiting.replies)
        part = (f"{first + 1:,} to {first + count:,} of {waiting.count:,}, oldest first.",)
        title = show_number(waiting.count, "unclaimed reply")
        return _listed(title, waiting.replies, context, text=part if count < waiting.count else ())
    # Without a bot nothing is recorded, and "none" would be a claim that nobody can make.
    if await context.records.bot_is_running():
        return Result(Card("No unclaimed replies", tone=Tone.GOOD))
    why = "No bot is running, so new replies aren't recorded. Start it with `outreach bot`."
    return Result(Card("No unclaimed replies recorded", tone=Tone.UNKNOWN, text=(why,)))


def _listed(
    title: str,
    replies: Sequence[OpenReply],
    context: CommandContext,
    *,
    tone: Tone | None = None,
    text: tuple[str, ...] = (),
) -> Result:
    rows = []
    for reply in replies:
        age = context.now() - reply.received_at
        late = Tone.BAD if age.total_seconds() > LATE_SECONDS else Tone.WARN
        cells = (
            show_span(age),
            reply.lead,
            reply.email,
            reply.company,
            reply.reply,
            reply.sequence,
            reply.permalink,
        )
        rows.append(Row(cells, tone=tone or late))
    table = Table(OPEN_COLUMNS, tuple(rows)) if rows else None
    card = Card(title, tone=rows[0].tone if rows else Tone.INFO, text=text, table=table)
    return Result(card, rows=tuple(map(_data, replies)))


async def read_unclaimed(context: CommandContext, *, page: int = 0) -> UnclaimedReplies:
    """Unclaimed interested replies, the oldest first: one page, or as many as are listed."""
    records, name = context.records, context.workspace.name
    if not page:
        return await records.open_replies(name)
    return await records.open_replies(name, first=(page - 1) * PAGE, most=PAGE)


def own_title(count: int) -> str:
    return f"{show_number(count, 'claim')} not done" if count else "No claims of yours are open"


async def own_replies(context: CommandContext) -> Sequence[OpenReply]:
    """The person's own claims that aren't done, the oldest claim first."""
    claims = await context.records.own_replies(context.actor.id or context.actor.name)
    return [reply for workspace, reply in claims if workspace == context.workspace.name]


def _data(reply: OpenReply) -> dict[str, Any]:
    return {**asdict(reply), "received_at": reply.received_at.isoformat()}


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
