"""`replies`, `audit` and `whoami`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from shared.api.event_kinds import EVENTS
from shared.commands import COMMANDS
from shared.commands.audit import Audit
from shared.commands.base import Problem, Result
from shared.commands.help import Help
from shared.commands.periods import Period
from shared.commands.replies import Replies
from shared.commands.run import CommandContext
from shared.commands.running.day_range import range_of
from shared.commands.whoami import Whoami
from shared.domain.card import Button, Card, Fact, Row, Table, Tone, columns
from shared.records.audit import Actor, AuditEntry
from shared.records.replies import OpenReply, ReceivedReply, UnclaimedReplies
from shared.text.formats import show_number, show_span, show_time

OPEN_COLUMNS = columns("Waiting", "Lead", "Email", "Company", "Reply", "Sequence", "Message")
PAGE = 15
"""Replies on one page of `replies`."""
RECEIVED_COLUMNS = columns("When", "Lead", "Email", "Company", "Reply", "State", "Sequence")
LISTED = 100
"""Leads that `replies today` lists."""
LAST_PAGE = 1_000_000
"""Pages from here on are empty: a database counts no further than 63 bits."""
AUDIT_COLUMNS = columns("When", "Who", "Where", "Command", "Result")
AUDITED, AUDIT_CHANGES, AUDIT_REFUSALS, AUDIT_CALLS = 100, 20, 5, 3
"""Entries of the audit that are read, and how many changes and refused commands of them are shown."""
LATE_SECONDS = 300
"""Seconds after which an unclaimed reply is shown as late."""


async def replies(arguments: Replies, context: CommandContext) -> Result:
    """`replies`: what is unclaimed; `replies mine`: what the person has claimed; `replies today`: who replied."""
    if arguments.mine:
        return _mine(await own_replies(context), context)
    if arguments.period:
        return await _received(arguments.period, context)
    return await _unclaimed(arguments, context)


async def _unclaimed(arguments: Replies, context: CommandContext) -> Result:
    """The oldest first; all of them, or one page."""
    page = arguments.page or 0
    waiting = await read_unclaimed(context, page=page)
    if waiting.count and not waiting.replies:
        return Result(
            card=Card(
                title=f"Page {page} doesn't exist", tone=Tone.WARN, text=("`replies` shows the first page.",)
            ),
            problem=Problem(text="no such page", argument="page"),
        )
    rows = [_row(reply, context) for reply in waiting.replies]
    seen = bool(waiting.count) or await context.need_records().bot_is_running()
    return Result(
        card=Card(
            title=f"{show_number(waiting.count, 'unclaimed reply')}"
            if waiting.count
            else "No unclaimed replies"
            if seen
            else "No unclaimed replies recorded",
            text=_which(page, waiting)
            if seen
            else ("No bot is running, so new replies aren't recorded. Start it with `outreach bot`.",),
            tone=rows[0].tone if rows else Tone.GOOD if seen else Tone.UNKNOWN,
            table=Table(columns=OPEN_COLUMNS, rows=tuple(rows)) if rows else None,
        ),
        rows=tuple(map(_data, waiting.replies)),
    )


def _which(page: int, waiting: UnclaimedReplies) -> tuple[str, ...]:
    """Which of them are listed, unless all are."""
    first, listed = max(0, page - 1) * PAGE, len(waiting.replies)
    if listed == waiting.count:
        return ()
    return (f"{first + 1:,} to {first + listed:,} of {waiting.count:,}, oldest first.",)


async def read_unclaimed(context: CommandContext, *, page: int = 0) -> UnclaimedReplies:
    """Unclaimed interested replies, the oldest first: one page, or as many as are listed."""
    records, name = context.need_records(), context.workspace.name
    if not page:
        return await records.open_replies(name)
    first = min(page - 1, LAST_PAGE) * PAGE
    return await records.open_replies(name, first=first, most=PAGE)


def _row(reply: OpenReply, context: CommandContext) -> Row:
    age = context.now() - reply.received_at
    words = (reply.lead, reply.email, reply.company, reply.reply, reply.sequence, reply.permalink)
    tone = Tone.BAD if age.total_seconds() > LATE_SECONDS else Tone.WARN
    return Row(cells=(show_span(age), *words), tone=tone)


def _data(reply: OpenReply) -> dict[str, Any]:
    return {**asdict(reply), "received_at": reply.received_at.isoformat()}


def _mine(claims: Sequence[OpenReply], context: CommandContext) -> Result:
    rows = tuple(replace(_row(one, context), tone=Tone.INFO) for one in claims)
    return Result(
        card=Card(
            title=own_title(len(claims)),
            table=Table(columns=OPEN_COLUMNS, rows=rows) if rows else None,
        ),
        rows=tuple(map(_data, claims)),
    )


async def _received(period: Period, context: CommandContext) -> Result:
    """Who replied, by the days of the reader's zone, as far as the bot was told."""
    asked = range_of(period, today=context.now().astimezone(context.zone).date())
    start, end = asked.moments(context.zone)
    known = await context.need_records().received_replies(context.workspace.name, start, end, most=LISTED)
    rows = tuple(_received_row(one, context) for one in known.replies)
    text = []
    if known.known_from is None:
        text.append("The bot has received no delivery yet, so it doesn't know who replied.")
    elif known.known_from > start:
        since = show_time(known.known_from, now=context.now(), zone=context.zone)
        text.append(f"The first delivery came at {since}: earlier replies aren't known.")
    if known.count > len(rows):
        text.append(f"The newest {len(rows):,} of {known.count:,}.")
    seen = known.known_from is not None and known.known_from < end
    who = (
        f"{show_number(known.count, 'lead')} replied"
        if known.count
        else "Nobody replied"
        if seen
        else "Replies"
    )
    return Result(
        card=Card(
            title=f"{who}, {asked.name}",
            tone=Tone.INFO if seen else Tone.UNKNOWN,
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
    reply, waits = one.reply, EVENTS[one.kind].claimable and not (one.claimed_by or one.done_by)
    state = (
        f"done by @{one.done_by}"
        if one.done_by
        else f"@{one.claimed_by}"
        if one.claimed_by
        else f"{EVENTS[one.kind].label.lower()}, unclaimed"
        if waits
        else EVENTS[one.kind].label.lower()
    )
    when = show_time(reply.received_at, now=context.now(), zone=context.zone)
    cells = (when, reply.lead, reply.email, reply.company, reply.reply, state, reply.sequence)
    return Row(cells=cells, tone=Tone.WARN if waits else Tone.INFO)


def own_title(count: int) -> str:
    return f"{show_number(count, 'claim')} not done" if count else "No claims of yours are open"


async def own_replies(context: CommandContext) -> Sequence[OpenReply]:
    """What the person has claimed and not marked done, the claim that is longest ago first."""
    person = context.actor.id or context.actor.name
    claims = await context.need_records().own_replies(person)
    return [reply for workspace, reply in claims if workspace == context.workspace.name]


async def audit(_: Audit, context: CommandContext) -> Result:
    """`audit`: the newest changes first; what was refused changed nothing, and is shown apart."""
    records, workspace, most = context.need_records(), context.workspace.name, context.limit or AUDITED
    # Each by itself: many refused commands, which anybody can type, would hide the changes.
    refused = await records.audit(workspace, most, refused=True)
    read = await records.assistant_calls(workspace, context.limit or AUDIT_CALLS)
    known = [*refused, *read, *await records.audit(workspace, most, refused=False)]
    # Some are written late, such as the result of a request whose answer was lost.
    ordered = sorted(known, key=lambda one: one.at, reverse=True)
    entries = _with_one_name(ordered)
    calls = [one for one in entries if one.effect == "read"]
    changes = [one for one in entries if one.effect not in {"refused", "read"}][
        : context.limit or AUDIT_CHANGES
    ]
    refusals = [one for one in entries if _is_refused(one)][: context.limit or AUDIT_REFUSALS]
    shown = {id(one) for one in (*changes, *refusals, *calls)}
    rows = tuple(
        Row(
            cells=(
                show_time(e.at, now=context.now(), zone=context.zone),
                e.actor.shown,
                where(e.actor),
                e.command,
                e.result,
            )
        )
        for e in changes
    )
    return Result(
        card=Card(
            title=f"Last {show_number(len(rows), 'change')}" if rows else "No changes yet",
            facts=(
                *(_refusal(one, context) for one in refusals),
                *(_assistant_call(one, context) for one in calls),
            ),
            table=Table(columns=AUDIT_COLUMNS, rows=rows) if rows else None,
        ),
        rows=tuple(
            {
                "at": e.at.isoformat(),
                "who": e.actor.name,
                "where": where(replace(e.actor, via="")),
                "via": e.actor.via or None,
                "workspace": e.workspace,
                "command": e.command,
                "result": e.result,
                "refused": _is_refused(e),
            }
            for e in entries
            if id(e) in shown
        ),
    )


def _with_one_name(entries: Sequence[AuditEntry]) -> Sequence[AuditEntry]:
    """The entries of each person under the name of the newest one: Slack may tell another one, or none, at times."""
    names: dict[str, str] = {}
    for one in entries:
        if one.actor.name != one.actor.id:
            names.setdefault(one.actor.id, one.actor.name)
    return [replace(one, actor=replace(one.actor, name=_name(one.actor, names))) for one in entries]


def _name(actor: Actor, names: Mapping[str, str]) -> str:
    return names.get(actor.id, actor.name) if actor.id else actor.name


def _is_refused(entry: AuditEntry) -> bool:
    return entry.effect == "refused"


def _refusal(entry: AuditEntry, context: CommandContext) -> Fact:
    when = show_time(entry.at, now=context.now(), zone=context.zone)
    why = entry.result.removeprefix("refused: ")
    return Fact(
        label="Refused",
        value=f"{when}, {entry.actor.shown}: {entry.command}" + (f" ({why})" if why else ""),
    )


def _assistant_call(entry: AuditEntry, context: CommandContext) -> Fact:
    when = show_time(entry.at, now=context.now(), zone=context.zone)
    return Fact(label="Assistant", value=f"{when}, for {entry.actor.shown}: {entry.command} ({entry.result})")


def where(actor: Actor) -> str:
    place = f"{actor.face} {actor.channel}".strip()
    return f"{place}, via {actor.via}" if actor.via else place


async def whoami(_: Whoami, context: CommandContext) -> Result:
    """`whoami`: the role and what it may do."""
    may = [command.name for command in COMMANDS.values() if context.allows(command)]
    changing = [name for name in may if COMMANDS[name].changes]
    return Result(
        card=Card(
            title=f"You are {context.actor.name} ({context.role})",
            facts=(
                Fact(label="Outreach workspace", value=context.workspace.name),
                Fact(label="Where", value=where(context.actor)),
                Fact(label="Can change", value=", ".join(changing) or "nothing"),
                Fact(label="Can view", value=", ".join(name for name in may if name not in changing)),
            ),
            buttons=(Button(label="Help", action=Help()),),
        ),
        rows=(
            {
                "name": context.actor.name,
                "role": str(context.role),
                "workspace": context.workspace.name,
                "may": may,
            },
        ),
    )
