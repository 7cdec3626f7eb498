"""A message to a person, written once as a Card and rendered by each front end (Slack, terminal, shell).

Every string in a Card is plain text, hostile or not; the renderers escape it. A button carries the arguments of a
command, as a typed line does, so a click, a key and a typed word go through one permission check and one confirmation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol


class Tone(StrEnum):
    """A status; front ends show it by word and shape as well as by color."""

    GOOD = "good"
    WARN = "warn"
    BAD = "bad"
    INFO = "info"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled value: `Health  91`."""

    label: str
    value: str
    _: KW_ONLY
    tone: Tone = Tone.INFO
    at: datetime | None = None
    """The moment that `value` says, for faces that know their reader's time zone."""
    url: str = ""
    """The link of the value, for faces that can lead there: an `https:` or `mailto:` address of ours."""
    brief: bool = False
    """It is part of the card's form in one line."""


def when(label: str, at: datetime, *, brief: bool = False) -> Fact:
    return Fact(label, f"{at:%-d %b %H:%M} UTC", at=at, brief=brief)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    title: str
    _: KW_ONLY
    numeric: bool = False
    narrow: str | None = None
    """Its title where space is short, such as on a phone; empty: it is left out there."""


def columns(*titles: str | Column) -> tuple[Column, ...]:
    """Columns of text by their titles, among others."""
    return tuple(Column(one) if isinstance(one, str) else one for one in titles)


def number(title: str, *, narrow: str | None = None) -> Column:
    return Column(title, numeric=True, narrow=narrow)


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns: text, a number, or None for what is unknown."""

    cells: tuple[str | float | None, ...]
    _: KW_ONLY
    tone: Tone = Tone.INFO


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under titles. `total` counts all rows when only the first are carried."""

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    """Kept as a tuple; a card drops a table without rows."""
    _: KW_ONLY
    total: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))


class Action(Protocol):
    """The action of a button, as data: the arguments of a command, or what a front end does besides."""

    @property
    def line(self) -> str:
        """The line that a person may type instead (without the program's name): `pause sq_x`."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An action of which only the line is known."""

    line: str


@dataclass(frozen=True, slots=True)
class Button:
    """A label and what it does, in a workspace where there are several."""

    label: str
    action: Action | None = None
    _: KW_ONLY
    workspace: str = ""
    tone: Tone = Tone.INFO
    """GOOD is drawn as the primary button, BAD as the dangerous one."""
    menu: bool = False
    """True for an entry of the card's overflow menu, instead of its row of buttons."""
    picks_time: bool = False
    """A date and time are chosen first, and follow the command as Unix seconds; for faces that can."""
    picks_person: bool = False
    """A person is chosen first; for faces that can."""
    url: str = ""
    """Leads to a page instead, for faces that can."""

    @property
    def line(self) -> str:
        """The line that a person may type instead; empty where it only leads to a page."""
        line = self.action.line if self.action else ""
        return f"{line} @{self.workspace}" if line and self.workspace else line


@dataclass(frozen=True, slots=True)
class Card:
    """One message to a person. Order of showing: title, text, facts, quote, table, buttons, details and footer."""

    title: str
    _: KW_ONLY
    tone: Tone = Tone.INFO
    text: Sequence[str] = ()
    """Paragraphs; an empty one is dropped. It and the other lists are kept as tuples."""
    code: str = ""
    """Text to copy, letter by letter; it stands below the first paragraph."""
    facts: Sequence[Fact] = ()
    quote: str = ""
    """Text from outside, quoted line by line."""
    table: Table | None = None
    buttons: Sequence[Button] = ()
    details: tuple[Fact, ...] = ()
    """Facts that a reader rarely needs: one small line of values, where a face has small letters."""
    footer: str = ""
    failure: bool = False
    """True where a command or a check failed; else BAD is the state that the card shows."""
    notifies: bool = False
    """It is posted unasked: the quote stands under the title, where notifications read, and the buttons above the table."""

    def __post_init__(self) -> None:
        lists = {"text": filter(None, self.text), "facts": self.facts, "buttons": self.buttons}
        for name, values in lists.items():
            object.__setattr__(self, name, tuple(values))
        if self.table and not self.table.rows:
            object.__setattr__(self, "table", None)

    @property
    def summary(self) -> str:
        joint = " " if self.title.endswith(("?", "!", ".")) else ": "
        return joint.join((self.title, *self.text[:1]))


def warning(title: str, *text: str, **more: Any) -> Card:
    """A card that asks for care: a question, or why something wasn't done."""
    return Card(title, tone=Tone.WARN, text=text, **more)
