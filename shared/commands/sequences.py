"""`sequences [active|paused]`: what the service lists, and who paused what until when."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shared.api.words import SEQUENCE_STATUSES
from shared.commands.base import ALL, Arguments, Command, Result, Words, one_of
from shared.domain.card import Action, Button, Card, Column, Row, Table, Tone, columns, number
from shared.records.audit import Actor
from shared.text.formats import clip, plural, show_number
from shared.text.sanitize import visible
from shared.text.tokenize import CURLY

if TYPE_CHECKING:
    from shared.api.models import Sequence
    from shared.commands.run import CommandContext
    from shared.records.audit import AuditEntry
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
        card=Card(
            title=show_number(len(shown), noun) if shown else f"No {plural(noun)}",
            text=(text,) if known else (),
            table=sequence_table(shown) if shown else None,
            buttons=tuple(Button(label=word.capitalize(), action=Sequences(status=word)) for word in others),
        ),
        rows=tuple(map(as_dict, shown)),
    )


async def _paused(shown: Many[Sequence], context: CommandContext) -> Result:
    """Who paused each, why, and until when; what was paused elsewhere, or long ago, is unknown."""
    from shared.api.models import as_dict

    changes, timers = await _pauses([one.id for one in shown], context)
    rows, data = [], []
    for one in shown:
        timer, entry = timers.get(one.id), changes.get(one.id)
        actor, why = (entry.actor, entry.reason) if entry else (None, "")
        if timer:
            actor, why = actor_of(timer), timer.payload.get("reason", "")
        until = timer.due_at if timer else None
        who = actor.shown if actor and actor.name else None
        cells = (one.name, who, context.show(until) if until else None, why or None, one.id)
        rows.append(Row(cells=cells, tone=Tone.WARN))
        pause = {"paused_by": (actor.name if actor else "") or None, "pause_reason": why or None}
        data.append({**as_dict(one), **pause, "paused_until": until and until.isoformat()})
    by, end = Column(title="Paused by", narrow="by"), Column(title="Until", narrow="until")
    unknown = any(row.cells[1] is None for row in rows)
    return Result(
        card=Card(
            title=show_number(len(shown), "paused sequence"),
            text=("Pauses made outside this program don't show who made them.",) if unknown else (),
            table=Table(columns=columns("Name", by, end, "Reason", "Id"), rows=tuple(rows)),
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
    from shared.commands.hold import read_timers
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


# -- which sequence a person means: by its whole id, its name, or a part that fits only one; case never counts.
# A part is a whole word of the name, or its beginning from four letters on.

ForSequence = Callable[[str], Action]
"""The same command for the sequence with this id."""
MOST_CANDIDATES = 10
NOTHING_CHANGED = "Nothing was changed. "
LONGEST_NAME = 40
"""Words."""
SHORTEST_BEGINNING = 4
"""Letters of a name that are enough to name it where they fit only one."""
NO_NAMES = frozenset({ALL, "it"})
"""Words that mean something else, also where a name contains them."""
END_WORDS = frozenset({"for", "until", "till", "til"})
"""Words with which the end of a pause begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """One sequence fits; `rest` are the words after its name."""

    sequence: Sequence
    rest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ambiguous:
    """Several fit."""

    query: str
    candidates: tuple[Sequence, ...]

    def card(self, choice: ForSequence, *, changes: bool = True) -> Card:
        """The candidates, each with a button."""
        shown = self.candidates[:MOST_CANDIDATES]
        return Card(
            title=f"“{clip(self.query)}” matches {len(self.candidates)} sequences",
            tone=Tone.WARN,
            text=(f"{NOTHING_CHANGED if changes else ''}Which one?",),
            table=_listed(shown, total=len(self.candidates)),
            buttons=_buttons(shown, choice),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMatch:
    """None fits; `nearest` are those it may have been meant to be."""

    query: str
    nearest: tuple[Sequence, ...]
    known: int

    def card(self, choice: ForSequence, *, changes: bool = True) -> Card:
        """What would have been right."""
        hint = "Did you mean one of these?" if self.nearest else "`sequences` lists all of them."
        empty = "This workspace has no sequences." if not self.known else hint
        return Card(
            title=f"No sequence is named “{clip(self.query)}”",
            tone=Tone.WARN,
            text=(f"{NOTHING_CHANGED if changes else ''}{empty}",),
            table=_listed(self.nearest, total=len(self.nearest)) if self.nearest else None,
            buttons=_buttons(self.nearest, choice) or (Button(label="All sequences", action=Sequences()),),
        )


def _buttons(sequences: Many[Sequence], choice: ForSequence) -> tuple[Button, ...]:
    count = Counter(s.label for s in sequences)
    suffixes = (f" ({s.id})" if count[s.label] > 1 else "" for s in sequences)
    return tuple(
        Button(label=clip(s.label, length=40) + suffix, action=choice(s.id))
        for s, suffix in zip(sequences, suffixes, strict=True)
    )


def _listed(sequences: Many[Sequence], *, total: int) -> Table:
    return Table(
        columns=columns("Id", "Name", "Status", number("Steps")),
        rows=tuple(Row(cells=(s.id, s.name, s.status, s.steps)) for s in sequences),
        total=total,
    )


def resolve_sequence(
    sequences: Many[Sequence], words: Many[str], *, greedy: bool = False
) -> Resolved | Ambiguous | NoMatch:
    """The sequence that the words name.

    `greedy`: where all words fit none, the longest beginning of them that is an id or a whole name counts;
    before a word that begins the end of a pause, what fits one sequence counts as well.
    The words after it are in `rest`.
    """
    query = " ".join(words).strip()
    fitting = _fitting(sequences, query)
    if len(fitting) == 1:
        return Resolved(sequence=fitting[0])
    for count in range(min(len(words) - 1, LONGEST_NAME), 0, -1) if greedy and not fitting else ():
        before_end = words[count].lower() in END_WORDS or words[count][:1].isdigit()
        fitting = (_fitting if before_end else _named)(sequences, " ".join(words[:count]))
        if len(fitting) == 1:
            return Resolved(sequence=fitting[0], rest=tuple(words[count:]))
        if fitting:
            break
    if fitting:
        return Ambiguous(query=query, candidates=fitting)
    return NoMatch(query=query, nearest=_nearest(sequences, query), known=len(sequences))


def _named(sequences: Many[Sequence], query: str) -> tuple[Sequence, ...]:
    folded = _fold(query)
    by_id = [s for s in sequences if s.id == query] or [s for s in sequences if _fold(s.id) == folded]
    return tuple(by_id or [s for s in sequences if folded and _fold(s.name or "") == folded])


def _fitting(sequences: Many[Sequence], query: str) -> tuple[Sequence, ...]:
    """Those with this id or whole name; else those whose names begin so, or contain it as whole words."""
    if named := _named(sequences, query):
        return named
    folded = _fold(query)
    words = _words(folded)
    if not words or folded in NO_NAMES:
        return ()
    is_long = len(folded.replace(" ", "")) >= SHORTEST_BEGINNING
    return tuple(
        one
        for one in sequences
        if (is_long and _fold(one.name or "").startswith(folded))
        or f" {words} " in f" {_words(_fold(one.name or ''))} "
    )


def _words(folded: str) -> str:
    """The words alone, without the signs between them."""
    return " ".join(re.findall(r"\w+", folded))


def _fold(text: str) -> str:
    return " ".join(visible(text).translate(CURLY).casefold().split())


def _nearest(sequences: Many[Sequence], query: str) -> tuple[Sequence, ...]:
    import difflib  # late: only a mistake pays for its import

    folded = _fold(query)[:100]
    by_name = {_fold(sequence.label)[:100]: sequence for sequence in sequences}
    near = difflib.get_close_matches(folded, by_name, n=3, cutoff=0.5)
    first = folded.partition(" ")[0]
    others = [name for name in by_name if first and name.startswith(first) and name not in near]
    return tuple(by_name[name] for name in (*near, *others)[:3])


COMMAND = Command(
    arguments=Sequences,
    run=_run,
    rank=20,
    usage="[active|paused]",
    summary="List sequences with status and steps",
    own_fields=frozenset({"id", "status", "paused_until"}),
    examples=("sequences", "sequences paused"),
)
