"""The sequences: listed, paused, resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime

from shared.api.models import Sequence, as_dict
from shared.api.pace import Priority
from shared.commands.arguments import OnSequences, Resume, Sequences, clip
from shared.commands.pauses import Pause, end_mistake
from shared.commands.resolve import END_WORDS, Ambiguous, NoMatch, Resolved
from shared.commands.result import Result
from shared.commands.times import LEAP_DAY
from shared.domain.card import Button, Card, Column, Fact, Row, Table, Tone, columns, number
from shared.operations.context import CommandContext
from shared.operations.outcome import (
    NO_RECORDS,
    find_sequence,
    need_records,
    refusal,
    refused,
    which_sequence,
)
from shared.operations.pauses import FORGOTTEN, RESUME_TIMER, pause_one, read_revisions, resume_one
from shared.operations.replies import who_did
from shared.records.audit import Actor, AuditEntry
from shared.records.records import RecordsUnavailable
from shared.records.sequence_changes import Status, Timer
from shared.text.formats import plural, show_number, show_time

AUTOMATIC = "It resumes automatically."
NO_BOT = (
    "It resumes only while the bot runs, and no bot uses this database. Start it with `outreach bot`. "
    "If it is already running, `outreach doctor` shows which database it uses."
)
UNDO = "Undo"
"""The label of the button that takes back what its card tells."""
TONES = {"active": Tone.GOOD, "paused": Tone.WARN}


async def list_sequences(arguments: Sequences, context: CommandContext) -> Result:
    """`sequences [active|paused]`."""
    known = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    wanted = arguments.status
    shown = [sequence for sequence in known if wanted in {None, sequence.status}]
    counts = Counter(sequence.status or "unknown" for sequence in known)
    noun = f"{wanted} sequence" if wanted else "sequence"
    if wanted == "paused" and shown:
        return await _paused(shown, context)
    return Result(
        card=Card(
            title=show_number(len(shown), noun) if shown else f"No {plural(noun)}",
            text=(", ".join(f"{count} {status}" for status, count in sorted(counts.items())),)
            if known
            else (),
            table=sequence_table(shown) if shown else None,
            buttons=tuple(
                Button(label=word.capitalize(), action=Sequences(status=word))
                for word in TONES
                if counts[word] and word != wanted
            ),
        ),
        rows=tuple(map(as_dict, shown)),
    )


async def _paused(shown: list[Sequence], context: CommandContext) -> Result:
    """Who paused each, why, and until when; what was paused elsewhere, or long ago, is unknown."""
    changes, timers = await _pauses([sequence.id for sequence in shown], context)
    rows, data = [], []
    for sequence in shown:
        timer, entry = timers.get(sequence.id), changes.get(sequence.id)
        actor = actor_of(timer) if timer else entry.actor if entry else None
        why = timer.payload.get("reason", "") if timer else entry.reason if entry else ""
        until = timer.due_at if timer else None
        ends = show_time(until, now=context.now(), zone=context.zone) if until else None
        rows.append(
            Row(
                cells=(
                    sequence.name,
                    who_did(actor) if actor and actor.name else None,
                    ends,
                    why or None,
                    sequence.id,
                ),
                tone=Tone.WARN,
            )
        )
        pause = {"paused_by": (actor.name if actor else "") or None, "pause_reason": why or None}
        data.append({**as_dict(sequence), **pause, "paused_until": until and until.isoformat()})
    return Result(
        card=Card(
            title=show_number(len(shown), "paused sequence"),
            text=("Pauses made outside this program don't show who made them.",)
            if any(row.cells[1] is None for row in rows)
            else (),
            table=Table(
                columns=columns(
                    "Name",
                    Column(title="Paused by", narrow="by"),
                    Column(title="Until", narrow="until"),
                    "Reason",
                    "Id",
                ),
                rows=tuple(rows),
            ),
            buttons=(Button(label="Active", action=Sequences(status="active")),),
        ),
        rows=tuple(data),
    )


def actor_of(timer: Timer) -> Actor:
    """Who set it; those of older versions were set in Slack, as far as they tell."""
    return Actor(name=timer.payload.get("by", ""), face=timer.payload.get("face", "slack"))


async def _pauses(
    ids: list[str], context: CommandContext
) -> tuple[Mapping[str, AuditEntry], Mapping[str, Timer]]:
    """The last pause of each that this program made, and the timers that end them; empty without records."""
    if context.records is None:
        return {}, {}
    try:
        changes = await context.records.last_changes(context.workspace.name, ids)
        timers = await context.records.timers(context.workspace.name, RESUME_TIMER)
    except RecordsUnavailable:
        return {}, {}
    pauses = {name: one for name, one in changes.items() if one.effect == "paused"}
    return pauses, {timer.key: timer for timer in timers}


def sequence_table(sequences: list[Sequence]) -> Table:
    """Name, status, steps and id of each."""
    rows = (
        Row(cells=(s.name, s.status, s.steps, s.id), tone=TONES.get(s.status or "", Tone.UNKNOWN))
        for s in sequences
    )
    return Table(
        columns=columns("Name", "Status", number("Steps"), Column(title="Id", narrow="")), rows=tuple(rows)
    )


async def pause(arguments: Pause, context: CommandContext) -> Result:
    """`pause SEQUENCE [for 2h] [reason …]`."""
    due_at = due_at_of(arguments, context)
    revisions = await read_revisions(context)
    found = await find_sequence(arguments.target, context=context, greedy=True)
    if not isinstance(found, Resolved):
        return _which(found, arguments)
    if found.rest:
        return _which_end(arguments, found)
    reason = arguments.reason
    if due_at and context.records is None:
        endless = replace(arguments, target=(found.sequence.id,), duration=None, until=None, reason=reason)
        card = Card(
            title=f"{clip(found.sequence.label)} was not paused",
            tone=Tone.WARN,
            text=("Only the bot can end a timed pause, and its database isn't reachable from here.",),
            buttons=(Button(label="Pause until resumed", action=endless),),
        )
        return refusal(card, why=NO_RECORDS, argument="until" if arguments.until else "duration")
    result = await _pause(
        found.sequence,
        due_at=due_at,
        until=until_text(arguments, context, due_at=due_at),
        reason=reason,
        context=context,
        revisions=revisions,
    )
    return replace(result, reason=reason) if reason and result.changed else result


def _which(found: Ambiguous | NoMatch, arguments: Pause) -> Result:
    """The question which sequence is meant; without buttons where they would lose words about the end."""
    result = which_sequence(found, arguments)
    words = arguments.target[1:]
    if not any(word.lower() in END_WORDS or word[:1].isdigit() for word in words):
        return result
    return replace(result, card=replace(result.card, buttons=()))


def _which_end(arguments: Pause, found: Resolved) -> Result:
    """The refusal of words that tell no end; its button has the end that they are near to."""
    mistake = end_mistake(found.rest)
    buttons: tuple[Button, ...] = ()
    if near := mistake.near:
        timed = replace(arguments, target=(found.sequence.id,), duration=near.duration, until=near.until)
        buttons = (Button(label=f"Pause {clip(str(near), length=40)}", action=timed),)
    card = Card(
        title=mistake.problem.rstrip("."),
        tone=Tone.WARN,
        text=("Nothing was paused.", mistake.hint),
        buttons=buttons,
    )
    return refusal(card, why="no duration", argument="duration")


def due_at_of(arguments: OnSequences, context: CommandContext) -> datetime | None:
    """When a timed pause ends; None if it isn't timed, or has an `end_problem`."""
    if not isinstance(arguments, Pause):
        return None
    if arguments.until:
        return arguments.until.after(context.now(), zone=context.zone)
    return context.now() + arguments.duration if arguments.duration else None


def until_text(arguments: OnSequences, context: CommandContext, *, due_at: datetime | None = None) -> str:
    """` until 30 Nov 09:00 CET`; with the day also where a named day is today. Empty if a pause has no end."""
    due_at = due_at or due_at_of(arguments, context)
    if due_at is None:
        return ""
    now, zone = context.now(), context.zone
    named = isinstance(arguments, Pause) and arguments.until is not None and arguments.until.names_day
    today = "today " if named and due_at.astimezone(zone).date() == now.astimezone(zone).date() else ""
    return f" until {today}{show_time(due_at, now=now, zone=zone)}"


def end_problem(arguments: OnSequences, context: CommandContext) -> Result | None:
    """Why a pause can't end when it should: the time has passed, or the day doesn't exist. None if it can."""
    until = arguments.until if isinstance(arguments, Pause) else None
    if until is None or due_at_of(arguments, context):
        return None
    if dates := until.nearest_dates(context.now(), zone=context.zone):
        before, after = dates
        hint = f"Use `until {before}` or `until {after}`."
        title = f"{before.year} has no {date(2000, *LEAP_DAY):%-d %B}"
        return refused(title, "Nothing was paused.", hint, why="the date doesn't exist", argument="until")
    return refused(
        f"“{until}” has passed", "Nothing was paused.", why="the time has passed", argument="until"
    )


async def _pause(
    sequence: Sequence,
    *,
    due_at: datetime | None,
    until: str,
    reason: str,
    context: CommandContext,
    revisions: Mapping[str, int] | None,
) -> Result:
    done = await pause_one(sequence, due_at=due_at, reason=reason, context=context, revisions=revisions)
    if done.moved:
        return _changed_later(sequence)
    already, note = done.already, done.note
    if already and due_at is None and not reason and note != FORGOTTEN:
        return _so_already(sequence, "paused", Resume(target=(sequence.id,)), note=note)
    resumes = due_at is None or await _bot_runs(context)
    back = Resume(target=(sequence.id,))
    return _done(
        sequence,
        "paused",
        f"{'stays' if already else 'is'} paused{until}",
        tone=Tone.GOOD if resumes else Tone.WARN,
        text=(AUTOMATIC if resumes else NO_BOT,) if due_at else (),
        facts=_why(reason, due_at, context=context),
        until=due_at,
        button=Button(label="Resume" if already else UNDO, action=back),
        undo=None if already else back,
        note=note,
    )


def _changed_later(sequence: Sequence) -> Result:
    label = clip(sequence.label)
    return refused(
        "Not undone: it was changed later",
        f"{label} was changed later and left as is.",
        why=f"{label} was changed later",
    )


def _why(reason: str, due_at: datetime | None, *, context: CommandContext) -> tuple[Fact, ...]:
    facts = [Fact(label="Reason", value=reason)] if reason else []
    if due_at:  # for faces that know each reader's zone
        shown = show_time(due_at, now=context.now(), zone=context.zone)
        facts.append(Fact(label="Until", value=shown, at=due_at))
    return tuple(facts)


def _done(
    sequence: Sequence,
    status: Status,
    now: str,
    *,
    button: Button,
    undo: OnSequences | None,
    note: str,
    tone: Tone = Tone.GOOD,
    text: tuple[str, ...] = (),
    facts: tuple[Fact, ...] = (),
    until: datetime | None = None,
) -> Result:
    """`now` tells how the sequence is: `is paused until 16:00 UTC`."""
    card = Card(
        title=f"{clip(sequence.label)} {now}",
        tone=tone,
        text=text,
        facts=facts,
        buttons=(button,),
        footer=note,
    )
    return Result(
        card=card,
        rows=({**as_dict(sequence), "status": status},),
        audit=f"{clip(sequence.label)} {now}",
        effect="paused" if status == "paused" else "resumed",
        sequences=(sequence.id,),
        until=until,
        undo=undo,
        undoable=(sequence.id,) if undo else (),
    )


async def _bot_runs(context: CommandContext) -> bool:
    try:
        return await need_records(context).bot_is_running()
    except RecordsUnavailable:
        return False


def _so_already(sequence: Sequence, status: Status, other: OnSequences, *, note: str) -> Result:
    """Nothing to change: only the person who asked gets the answer."""
    button = Button(label=other.verb.capitalize(), action=other)
    return Result(
        card=Card(
            title=f"{clip(sequence.label)} is already {status}",
            text=("Nothing was changed.",),
            buttons=(button,),
            footer=note,
        ),
        rows=({**as_dict(sequence), "status": status},),
    )


async def resume(arguments: Resume, context: CommandContext) -> Result:
    """`resume SEQUENCE`."""
    revisions = await read_revisions(context)
    found = await find_sequence(arguments.target, context=context)
    if not isinstance(found, Resolved):
        return which_sequence(found, arguments)
    sequence = found.sequence
    done = await resume_one(sequence, context=context, revisions=revisions)
    if done.moved:
        return _changed_later(sequence)
    active, note = done.already, done.note
    if active and note != FORGOTTEN:
        return _so_already(sequence, "active", Pause(target=(sequence.id,)), note=note)
    back = Pause(target=(sequence.id,))
    return _done(
        sequence,
        "active",
        "stays active" if active else "is active again",
        button=Button(label="Pause" if active else UNDO, action=back),
        undo=None if active else back,
        note=note,
    )
