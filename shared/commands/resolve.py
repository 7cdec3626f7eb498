"""Finds the sequence that a person names: by its whole id, its name, or a part that fits only one. Pure.

A part is a whole word of the name, or its beginning from four letters on. Case never counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from collections.abc import Sequence as Many
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.commands.base import ALL, clip
from shared.commands.sequences import Sequences
from shared.domain.card import Action, Button, Card, Row, Table, Tone, columns, number
from shared.text.sanitize import visible
from shared.text.tokenize import CURLY

if TYPE_CHECKING:
    from shared.api.models import Sequence

Choice = Callable[[str], Action]
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

    def card(self, choice: Choice, *, changes: bool = True) -> Card:
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

    def card(self, choice: Choice, *, changes: bool = True) -> Card:
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


def _buttons(sequences: Many[Sequence], choice: Choice) -> tuple[Button, ...]:
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
