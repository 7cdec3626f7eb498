"""`sequences [active|paused]`: what the service lists, and who paused what until when."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shared.api.words import SEQUENCE_STATUSES
from shared.commands.base import Arguments, Command, Result, Words, one_of
from shared.domain.card import Button, Card, Column, Row, Table, Tone, columns, number
from shared.records.audit import Actor
from shared.text.formats import plural, show_number, show_time

if TYPE_CHECKING:
    from shared.api.models import Sequence
    from shared.commands.run import CommandContext
    from shared.records.audit import AuditEntry
    from shared.records.sequence_changes import Timer

TONES = {"active": Tone.GOOD, "paused": Tone.WARN}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Sequences(Arguments):
    """`sequences [active|paused]`."""

    verb = "sequences"

    status: str | None = None

    @classmethod
    def read(cls, words: Words) -> Self:
        return cls(status=one_of(words, SEQUENCE_STATUSES))

    def write(self) -> Iterable[str]:
        return filter(None, (self.status,))


async def _run(arguments: Sequences, context: CommandContext) -> Result:
    from shared.api.models import as_dict
    from shared.api.pace import Priority

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
    from shared.api.models import as_dict

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
                    actor.shown if actor and actor.name else None,
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
    from shared.commands.running.hold import read_timers
    from shared.records.records import RecordsUnavailable

    if context.records is None:
        return {}, {}
    try:
        changes = await context.records.last_changes(context.workspace.name, ids)
    except RecordsUnavailable:
        return {}, {}
    pauses = {name: one for name, one in changes.items() if one.effect == "paused"}
    return pauses, await read_timers(context)


def sequence_table(sequences: Many[Sequence]) -> Table:
    """Name, status, steps and id of each."""
    rows = (
        Row(cells=(s.name, s.status, s.steps, s.id), tone=TONES.get(s.status or "", Tone.UNKNOWN))
        for s in sequences
    )
    return Table(
        columns=columns("Name", "Status", number("Steps"), Column(title="Id", narrow="")), rows=tuple(rows)
    )


COMMAND = Command(
    arguments=Sequences,
    run=_run,
    rank=20,
    usage="[active|paused]",
    summary="List sequences with status and steps",
    own_fields=frozenset({"id", "status", "paused_until"}),
    examples=("sequences", "sequences paused"),
)
