"""`sequences [active|paused]`: what the service lists, and who paused what until when; and which one a name means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from shared.api.words import SEQUENCE_STATUSES
from shared.commands.base import (
    ALL,
    NOTHING_CHANGED,
    Arguments,
    Command,
    Data,
    OnSequence,
    Result,
    Words,
    nearest_of,
    one_of,
    refusal,
)
from shared.domain.card import Action, Button, Card, Column, Row, Table, Tone, columns, number
from shared.text.formats import clip, plural, show_number
from shared.text.tokenize import CURLY

if TYPE_CHECKING:
    from shared.api.models import Sequence
    from shared.commands.run import CommandContext
    from shared.records.audit import Actor, AuditEntry
    from shared.records.sequence_changes import Timer

TONES = {"active": Tone.GOOD, "paused": Tone.WARN}


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

    known, wanted = await context.sequences(), arguments.status
    shown = [one for one in known if wanted in {None, one.status}]
    if wanted == "paused" and shown:
        return await _paused(shown, context)
    counts = Counter(one.status or "unknown" for one in known)
    noun = f"{wanted} sequence" if wanted else "sequence"
    text = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    others = [word for word in TONES if counts[word] and word != wanted]
    return Result(
        Card(
            show_number(len(shown), noun) if shown else f"No {plural(noun)}",
            text=(text,) if known else (),
            table=sequence_table(shown) if shown else None,
            buttons=tuple(Button(word.capitalize(), Sequences(status=word)) for word in others),
        ),
        rows=tuple(map(as_dict, shown)),
    )


async def _paused(shown: Many[Sequence], context: CommandContext) -> Result:
    """List who paused each, why, and until when; a pause made elsewhere, or long ago, has no known author."""
    from shared.api.models import as_dict

    changes, timers = await _pauses([sequence.id for sequence in shown], context)
    rows, data = [], []
    for sequence in shown:
        timer, entry = timers.get(sequence.id), changes.get(sequence.id)
        actor, why = (entry.actor, entry.reason) if entry else (None, "")
        if timer:
            actor, why = actor_of(timer), timer.payload.get("reason", "")
        name, until = actor.name if actor else "", timer.due_at if timer else None
        who, end = actor.shown if actor and name else None, context.show(until) if until else None
        rows.append(Row((sequence.name, who, end, why or None, sequence.id), tone=Tone.WARN))
        pause = {"paused_by": name or None, "pause_reason": why or None}
        data.append({**as_dict(sequence), **pause, "paused_until": until and until.isoformat()})
    heads = columns("Name", Column("Paused by", narrow="by"), Column("Until", narrow="until"), "Reason", "Id")
    unknown = any(row.cells[1] is None for row in rows)
    return Result(
        Card(
            show_number(len(shown), "paused sequence"),
            text=("Pauses made outside this program don't show who made them.",) if unknown else (),
            table=Table(heads, tuple(rows)),
            buttons=(Button("Active", Sequences(status="active")),),
        ),
        rows=tuple(data),
    )


def actor_of(timer: Timer) -> Actor:
    """The person who set it; timers of older versions were set in Slack, as far as they tell."""
    from shared.records.audit import Actor

    return Actor(name=timer.payload.get("by", ""), face=timer.payload.get("face", "slack"))


async def _pauses(
    ids: list[str], context: CommandContext
) -> tuple[Mapping[str, AuditEntry], Mapping[str, Timer]]:
    """The last pause of each that this program made, and the timers that end them; empty without records."""
    from shared.commands.hold import read_timers
    from shared.records.records import RecordsUnavailable

    try:
        changes = await context.need_records().last_changes(context.workspace.name, ids)
    except RecordsUnavailable:
        return {}, {}
    pauses = {name: one for name, one in changes.items() if one.effect == "paused"}
    return pauses, await read_timers(context)


def sequence_table(sequences: Many[Sequence]) -> Table:
    """Name, status, steps and id of each."""
    rows = (
        Row((s.name, s.status, s.steps, s.id), tone=TONES.get(s.status or "", Tone.UNKNOWN))
        for s in sequences
    )
    return Table(columns("Name", "Status", number("Steps"), Column("Id", narrow="")), tuple(rows))


# -- which sequence a person means: by its whole id, its name, or a part that fits only one; case never counts.
# A part is a whole word of the name, or its beginning from four letters on.

MOST_CANDIDATES = 10
LONGEST_NAME_WORDS = 40
SHORTEST_BEGINNING = 4
"""Letters of a name that are enough to name it where they fit only one."""
NO_NAMES = frozenset({ALL, "it"})
"""Words that mean something else, also where a name contains them."""
END_WORDS = frozenset({"for", "until", "till", "til"})
"""Words with which the end of a pause begins."""


class Match(Data):
    """The sequences that fit the words of a person: one is meant only where it is the only one."""

    query: str
    fitting: tuple[Sequence, ...] = ()
    after: tuple[str, ...] = ()
    """The words after the name of the only one."""
    nearest: tuple[Sequence, ...] = ()
    """The sequences that may have been meant, if none fits."""
    known: int = 0

    @property
    def only(self) -> Sequence | None:
        return self.fitting[0] if len(self.fitting) == 1 else None

    def card(self, choice: Callable[[str], Action], *, changes: bool = True) -> Card:
        """The question which is meant, or what would have been right; `choice` is the same command for an id."""
        offered, several = (self.fitting or self.nearest)[:MOST_CANDIDATES], len(self.fitting)
        title, text = f"“{clip(self.query)}” matches {several} sequences", "Which one?"
        if not several:
            title = f"No sequence is named “{clip(self.query)}”"
            text = "Did you mean one of these?" if offered else "`sequences` lists all of them."
            text = text if self.known else "This workspace has no sequences."
        count = Counter(sequence.label for sequence in offered)
        rows = tuple(
            Row((sequence.id, sequence.name, sequence.status, sequence.steps)) for sequence in offered
        )
        heads = columns("Id", "Name", "Status", number("Steps"))
        buttons = tuple(
            Button(
                clip(sequence.label, length=40) + (f" ({sequence.id})" if count[sequence.label] > 1 else ""),
                choice(sequence.id),
            )
            for sequence in offered
        )
        return Card(
            title,
            tone=Tone.WARN,
            text=(f"{NOTHING_CHANGED} {text}" if changes else text,),
            table=Table(heads, rows, total=several or len(rows)) if rows else None,
            buttons=buttons or (Button("All sequences", Sequences()),),
        )

    def refusal(self, arguments: OnSequence) -> Result:
        """The card as a result, where the command can't be carried out without an answer."""
        card = self.card(lambda name: replace(arguments, target=(name,)))
        return refusal(card, why="no single sequence", argument="target")


def resolve_sequence(sequences: Many[Sequence], words: Many[str], *, greedy: bool = False) -> Match:
    """The sequence that the words name.

    `greedy`: where all words fit none, the longest beginning of them that is an id or a whole name counts;
    before a word that begins the end of a pause, what fits one sequence counts as well.
    """
    # All words first: a name may contain `for`, and looks like an end then.
    query = " ".join(words).strip()
    fitting, after = _fitting(sequences, query), tuple[str, ...]()
    for count in range(min(len(words) - 1, LONGEST_NAME_WORDS), 0, -1) if greedy else ():
        if fitting:
            break
        before_end = words[count].lower() in END_WORDS or words[count][:1].isdigit()
        fitting = (_fitting if before_end else _named)(sequences, " ".join(words[:count]))
        after = tuple(words[count:])
    nearest = () if fitting else _nearest(sequences, query)
    after = after if len(fitting) == 1 else ()
    return Match(query=query, fitting=fitting, after=after, nearest=nearest, known=len(sequences))


def _named(sequences: Many[Sequence], query: str) -> tuple[Sequence, ...]:
    folded = _fold(query)
    by_id = [s for s in sequences if s.id == query] or [s for s in sequences if _fold(s.id) == folded]
    return tuple(by_id or [s for s in sequences if folded and _fold(s.name or "") == folded])


def _fitting(sequences: Many[Sequence], query: str) -> tuple[Sequence, ...]:
    """The sequences with this id or whole name; else those whose names begin so, or contain it as whole words."""
    folded = _fold(query)
    words = _words(folded)
    if (named := _named(sequences, query)) or not words or folded in NO_NAMES:
        return named
    # Three letters would fit by chance, and a pause of the wrong sequence is worse than a question.
    is_long = len(folded.replace(" ", "")) >= SHORTEST_BEGINNING
    names = ((sequence, _fold(sequence.name or "")) for sequence in sequences)
    return tuple(
        one
        for one, name in names
        if (is_long and name.startswith(folded)) or f" {words} " in f" {_words(name)} "
    )


def _words(folded: str) -> str:
    """The words alone, without the signs between them."""
    return " ".join(re.findall(r"\w+", folded))


def _fold(text: str) -> str:
    from shared.text.sanitize import visible

    return " ".join(visible(text).translate(CURLY).casefold().split())


def _nearest(sequences: Many[Sequence], query: str) -> tuple[Sequence, ...]:
    folded = _fold(query)
    by_name = {_fold(sequence.label)[:100]: sequence for sequence in sequences}
    near = nearest_of(folded, by_name)
    first = folded.partition(" ")[0]
    others = [name for name in by_name if first and name.startswith(first) and name not in near]
    return tuple(by_name[name] for name in (*near, *others)[:3])


COMMAND = Command(
    arguments=Sequences,
    run=_run,
    rank=20,
    usage="[active|paused]",
    summary="List sequences with status and steps",
    own_fields=("id", "status", "paused_until"),
    examples=("sequences", "sequences paused"),
)
