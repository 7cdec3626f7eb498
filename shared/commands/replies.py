"""`replies`: interested replies that nobody has claimed, my claims, or who replied in a period."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from shared.api.event_kinds import EVENTS
from shared.commands.base import (
    ArgumentError,
    Arguments,
    Command,
    Problem,
    Result,
    Words,
    clip,
    none_left,
    unknown_word,
)
from shared.commands.stats import LATE_SECONDS
from shared.commands.times import RANGES, Period, named_range, read_period
from shared.domain.card import Button, Card, Row, Table, Tone, columns
from shared.text.formats import show_number, show_span

if TYPE_CHECKING:
    from shared.commands.run import CommandContext
    from shared.records.replies import OpenReply, ReceivedReply, UnclaimedReplies

OPEN_COLUMNS = columns("Waiting", "Lead", "Email", "Company", "Reply", "Sequence", "Message")
RECEIVED_COLUMNS = columns("When", "Lead", "Email", "Company", "Reply", "State", "Sequence")
PAGE = 15
"""Replies on one page of `replies`."""
LISTED = 100
"""Leads that `replies today` lists."""
LAST_PAGE = 1_000_000
"""Pages from here on are empty: a database counts no further than 63 bits."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Replies(Arguments):
    """`replies [mine|today|last week|7d|FROM..TO|PAGE]`."""

    verb = "replies"
    page: int | None = None
    mine: bool = False
    """What the person has claimed and not marked done, instead of what is unclaimed."""
    period: Period | None = None
    """Who replied then, claimed or not, instead of what is unclaimed."""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            return cls()
        if words[0].is_one_of("mine"):
            none_left(words[1:])
            return cls(mine=True)
        if not words[0].quoted and re.fullmatch(r"[1-9][0-9]{0,3}", words[0].text):
            none_left(words[1:])
            return cls(page=int(words[0].text))
        if words[0].text.isdigit():
            raise ArgumentError(
                f"“{clip(words[0].text)}” isn't a page.", hint="Use 1 to 9999, as in `replies 2`."
            )
        if words[0].quoted or (words[0].text[:1].isalpha() and not named_range(words)):
            raise unknown_word(words[0], ("mine", *RANGES))
        period, rest = read_period(words)
        none_left(rest)
        return cls(period=period)

    def write(self) -> Iterable[str]:
        if self.period:
            return self.period.write()
        return ("mine",) if self.mine else (str(self.page),) if self.page else ()


async def _run(arguments: Replies, context: CommandContext) -> Result:
    if arguments.period:
        return await _received(arguments.period, context)
    if arguments.mine:
        claims = await own_replies(context)
        return _listed(own_title(len(claims)), claims, context, tone=Tone.INFO)
    page = arguments.page or 0
    waiting = await read_unclaimed(context, page=page)
    if waiting.count and not waiting.replies:
        text = ("`replies` shows the first page.",)
        card = Card(title=f"Page {page} doesn't exist", tone=Tone.WARN, text=text)
        return Result(card=card, problem=Problem(text="no such page", argument="page"))
    if waiting.count:
        first, count = max(0, page - 1) * PAGE, len(waiting.replies)
        is_part = count < waiting.count
        part = (f"{first + 1:,} to {first + count:,} of {waiting.count:,}, oldest first.",)
        return _listed(
            show_number(waiting.count, "unclaimed reply"),
            waiting.replies,
            context,
            text=part if is_part else (),
        )
    if await context.need_records().bot_is_running():
        return Result(card=Card(title="No unclaimed replies", tone=Tone.GOOD))
    why = "No bot is running, so new replies aren't recorded. Start it with `outreach bot`."
    return Result(card=Card(title="No unclaimed replies recorded", tone=Tone.UNKNOWN, text=(why,)))


def _listed(
    title: str,
    replies: Sequence[OpenReply],
    context: CommandContext,
    *,
    tone: Tone | None = None,
    text: tuple[str, ...] = (),
) -> Result:
    rows = []
    for one in replies:
        age = context.now() - one.received_at
        late = Tone.BAD if age.total_seconds() > LATE_SECONDS else Tone.WARN
        cells = (show_span(age), one.lead, one.email, one.company, one.reply, one.sequence, one.permalink)
        rows.append(Row(cells=cells, tone=tone or late))
    table = Table(columns=OPEN_COLUMNS, rows=tuple(rows)) if rows else None
    card = Card(title=title, tone=rows[0].tone if rows else Tone.INFO, text=text, table=table)
    return Result(card=card, rows=tuple(map(_data, replies)))


async def read_unclaimed(context: CommandContext, *, page: int = 0) -> UnclaimedReplies:
    """Unclaimed interested replies, the oldest first: one page, or as many as are listed."""
    records, name = context.need_records(), context.workspace.name
    if not page:
        return await records.open_replies(name)
    return await records.open_replies(name, first=min(page - 1, LAST_PAGE) * PAGE, most=PAGE)


def own_title(count: int) -> str:
    return f"{show_number(count, 'claim')} not done" if count else "No claims of yours are open"


async def own_replies(context: CommandContext) -> Sequence[OpenReply]:
    """What the person has claimed and not marked done, the claim that is longest ago first."""
    claims = await context.need_records().own_replies(context.actor.id or context.actor.name)
    return [reply for workspace, reply in claims if workspace == context.workspace.name]


async def _received(period: Period, context: CommandContext) -> Result:
    """Who replied, by the days of the reader's zone, as far as the bot was told."""
    asked = period.on(context.local_day)
    start, end = asked.moments(context.zone)
    name = context.workspace.name
    known = await context.need_records().received_replies(name, start, end, most=LISTED)
    text = []
    if known.known_from is None:
        text.append("The bot has received no delivery yet, so it doesn't know who replied.")
    elif known.known_from > start:
        since = context.show(known.known_from)
        text.append(f"The first delivery came at {since}: earlier replies aren't known.")
    if known.count > len(known.replies):
        text.append(f"The newest {len(known.replies):,} of {known.count:,}.")
    is_known = known.known_from is not None and known.known_from < end
    who = f"{show_number(known.count, 'lead')} replied" if known.count else "Replies"
    rows = tuple(_received_row(one, context) for one in known.replies)
    return Result(
        card=Card(
            title=f"{'Nobody replied' if is_known and not known.count else who}, {asked.name}",
            tone=Tone.INFO if is_known else Tone.UNKNOWN,
            text=tuple(text),
            table=Table(columns=RECEIVED_COLUMNS, rows=rows) if rows else None,
            buttons=(Button(label="Show unclaimed", action=Replies()),) if rows else (),
        ),
        rows=tuple(
            {**_data(one.reply), "event": one.kind, "claimed_by": one.claimed_by, "done_by": one.done_by}
            for one in known.replies
        ),
    )


def _received_row(one: ReceivedReply, context: CommandContext) -> Row:
    reply, kind = one.reply, EVENTS[one.kind]
    waits = kind.claimable and not (one.claimed_by or one.done_by)
    state = f"{kind.label.lower()}{', unclaimed' if waits else ''}"
    if one.claimed_by or one.done_by:
        state = f"done by @{one.done_by}" if one.done_by else f"@{one.claimed_by}"
    when = context.show(reply.received_at)
    cells = (when, reply.lead, reply.email, reply.company, reply.reply, state, reply.sequence)
    return Row(cells=cells, tone=Tone.WARN if waits else Tone.INFO)


def _data(reply: OpenReply) -> dict[str, Any]:
    return {**asdict(reply), "received_at": reply.received_at.isoformat()}


COMMAND = Command(
    arguments=Replies,
    run=_run,
    rank=130,
    aliases=("open",),
    usage="[mine|today|7d|last week|FROM..TO|PAGE]",
    summary="List unclaimed interested replies, those that you have claimed, or who replied in a period",
    own_fields=frozenset({"alert_id", "received_at", "event"}),
    examples=("replies", "replies mine", "replies today", "replies 2"),
)
