"""`sequences [active|paused]`: what the service lists, and who paused what until when; and which one a name means."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from shared.api.words import SEQUENCE_STATUSES
from shared.commands.base import (
    ALL,
    NOTHING_CHANGED,
    Arguments,
    CommandContext,
    Data,
    OnSequence,
    Result,
    Words,
    nearest_of,
    one_of,
    read_part,
    refusal,
    which,
)
from shared.commands.times import END_WORDS, read_end
from shared.domain.card import Action, Button, Card, Column, Row, Table, Tone, columns, number
from shared.text.formats import clip_name, plural, show_number
from shared.text.tokenize import CURLY

if TYPE_CHECKING:
    from shared.api.models import Sequence
    from shared.records import Actor, Pauses, Timer

TONES = {"active": Tone.GOOD, "paused": Tone.WARN}


class Sequences(Arguments):
    """List sequences with status and steps."""

    verb = "sequences"
    usage = "[active|paused]"
    own_fields = ("id", "status", "paused_until")
    examples = ("sequences", "sequences paused")

    status: str | None = None

    @classmethod
    def read(cls, words: Words) -> Self:
        return cls(status=one_of(words, SEQUENCE_STATUSES))

    async def run(self, context: CommandContext) -> Result:
        from shared.api.models import as_dict

        known, wanted = await context.sequences(), self.status
        listed = [one for one in known if wanted in {None, one.status}]
        if wanted == "paused" and listed:
            return await _paused(listed, context)
        counts = Counter(one.status or "unknown" for one in known)
        noun = f"{wanted} sequence" if wanted else "sequence"
        others = [word for word in TONES if counts[word] and word != wanted]
        card = Card(
            show_number(len(listed), noun) if listed else f"No {plural(noun)}",
            text=(", ".join(f"{count} {status}" for status, count in sorted(counts.items())),),
            table=sequence_table(listed),
            buttons=[Button(word.capitalize(), Sequences(status=word)) for word in others],
        )
        return Result(card, rows=[*map(as_dict, listed)])


async def _paused(listed: Many[Sequence], context: CommandContext) -> Result:
    """List who paused each, why, and until when; a pause made elsewhere, or long ago, has no known author."""
    from shared.api.models import as_dict

    ids = [sequence.id for sequence in listed]
    changes = await read_part(context.records.last_changes(context.workspace.name, ids))
    entries, timers = changes.value or {}, (await read_pauses(context)).timers
    rows, data = [], []
    for sequence in listed:
        timer, entry = timers.get(sequence.id), entries.get(sequence.id)
        actor, why = None, ""
        if timer:
            actor, why = actor_of(timer), timer.payload.get("reason", "")
        elif entry and entry.effect == "paused":
            actor, why = entry.actor, entry.reason
        who = actor.shown if actor and actor.name else None
        end = context.show(timer.due_at) if timer else None
        rows.append(Row((sequence.name, who, end, why or None, sequence.id), tone=Tone.WARN))
        pause = {"paused_by": actor.name or None if actor else None, "pause_reason": why or None}
        until = timer.due_at.isoformat() if timer else None
        data.append({**as_dict(sequence), **pause, "paused_until": until})
    heads = columns("Name", Column("Paused by", narrow="by"), Column("Until", narrow="until"), "Reason", "Id")
    is_known = all(row.cells[1] for row in rows)
    card = Card(
        show_number(len(listed), "paused sequence"),
        text=("" if is_known else "Pauses made outside this program don't show who made them.",),
        table=Table(heads, rows),
        buttons=(Button("Active", Sequences(status="active")),),
    )
    return Result(card, rows=data)


async def read_pauses(context: CommandContext) -> Pauses:
    """Read this before the sequences are listed: later its revisions show which statuses may be outdated."""
    from shared.records import Pauses

    return (await read_part(context.records.pauses(context.workspace.name))).value or Pauses()


def actor_of(timer: Timer) -> Actor:
    """The person who set it; timers of older versions were set in Slack, as far as they tell."""
    from shared.records import Actor

    return Actor(name=timer.payload.get("by", ""), face=timer.payload.get("face", "slack"))


def sequence_table(sequences: Many[Sequence]) -> Table:
    """Name, status, steps and id of each."""
    rows = [
        Row((s.name, s.status, s.steps, s.id), tone=TONES.get(s.status or "", Tone.UNKNOWN))
        for s in sequences
    ]
    return Table(columns("Name", "Status", number("Steps"), Column("Id", narrow="")), rows)


# -- which sequence a person means: by its whole id, its name, or a part that fits only one; case never counts.
# A part is a whole word of the name, or its beginning from four letters on.

MOST_CANDIDATES = 10
LONGEST_NAME_WORDS = 40
SHORTEST_BEGINNING = 4
"""Letters of a name that are enough to name it where they fit only one."""
NO_NAMES = frozenset({ALL, "it"})
"""Words that mean something else, also where a name contains them."""


class Match(Data):
    """The sequences that fit the words of a person: one is meant only where it is the only one."""

    query: str
    fitting: tuple[Sequence, ...] = ()
    only: Sequence | None = None
    after: tuple[str, ...] = ()
    """The words after the name of the only one."""
    nearest: tuple[Sequence, ...] = ()
    """The sequences that may have been meant, if none fits."""

    def card(self, choice: Callable[[str], Action], *, changes: bool = True) -> Card:
        """The question which is meant, or what would have been right; `choice` is the same command for an id."""
        offered, fitting = (self.fitting or self.nearest)[:MOST_CANDIDATES], len(self.fitting)
        text = (NOTHING_CHANGED if changes else "", "Did you mean one of these?" if self.nearest else "")
        count = Counter(sequence.label for sequence in offered)
        rows, buttons = [], []
        for one in offered:
            rows.append(Row((one.id, one.name, one.status, one.steps)))
            name = f" ({one.id})" if count[one.label] > 1 else ""
            buttons.append(Button(clip_name(one.label) + name, choice(one.id)))
        heads = columns("Id", "Name", "Status", number("Steps"))
        table = Table(heads, rows, total=fitting or len(rows))
        buttons = buttons or [Button("All sequences", Sequences())]
        return which("sequence", self.query, fitting, *text, table=table, buttons=buttons)

    def refusal(self, arguments: OnSequence) -> Result:
        """The card as a result, where the command can't be carried out without an answer."""
        card = self.card(lambda name: replace(arguments, target=(name,)))
        return refusal(card, why="no single sequence")


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
        rest = words[count:]
        before_end = rest[0].lower() in END_WORDS or rest[0][:1].isdigit() or read_end(("until", *rest))
        fitting = _fitting(sequences, " ".join(words[:count]), whole=not before_end)
        after = tuple(rest)
    if len(fitting) == 1:
        return Match(query=query, fitting=fitting, only=fitting[0], after=after)
    if fitting:
        return Match(query=query, fitting=fitting)
    # An id that was copied without its last letter is as near as a misspelled name.
    known = {_fold(name)[:100]: one for one in sequences for name in (one.id, one.label)}
    near = {known[name].id: known[name] for name in nearest_of(_fold(query), known)}
    return Match(query=query, nearest=tuple(near.values()))


def _fitting(sequences: Many[Sequence], query: str, *, whole: bool = False) -> tuple[Sequence, ...]:
    """The sequences with this id or whole name; else those whose names begin so, or contain it as whole words."""
    if exact := [one for one in sequences if one.id == query]:
        return tuple(exact)
    folded = _fold(query)
    words, names = _words(folded), [(one, _fold(one.name or "")) for one in sequences]
    named = [one for one in sequences if _fold(one.id) == folded]
    named = named or [one for one, name in names if name == folded != ""]
    if named or whole or not words or folded in NO_NAMES:
        return tuple(named)
    # Three letters would fit by chance, and a pause of the wrong sequence is worse than a question.
    is_long = len(folded.replace(" ", "")) >= SHORTEST_BEGINNING
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
