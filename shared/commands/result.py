"""The answer to a command: a result, or a question whose answers are data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from shared.domain.card import Card, Tone

if TYPE_CHECKING:
    from shared.commands.running.context import CommandContext
    from shared.records.audit import Before, Effect

Rows = tuple[Mapping[str, object], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Why nothing was done, and the argument that is to blame for it, if one is."""

    text: str
    argument: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a command came to. No front end reads the card to learn it."""

    card: Card
    rows: Rows = ()
    """The same as objects, with the service's names as keys, for `--json`."""
    audit: str = ""
    """What the audit says; empty where nothing was done or refused: a look, no change."""
    effect: Effect = ""
    sequences: tuple[str, ...] = ()
    """The ids of those that were paused or resumed."""
    until: datetime | None = None
    """When a pause ends."""
    reason: str = ""
    undoable: Mapping[str, Before] = field(default_factory=dict)
    """Those of `sequences` that an Undo takes back, as they were before."""
    undoes: int = 0
    """The number of the entry in the audit that this took back."""
    problem: Problem | None = None
    """What was asked was not done, and no error either: several fit, none fits. A shell exits with 1."""

    @property
    def refused(self) -> bool:
        return self.problem is not None

    @property
    def changed(self) -> bool:
        """Something was done, or may have been; it is news for others."""
        return bool(self.audit) and not self.refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """A change as data, with everything resolved to ids: nothing is read or looked up again to carry it out."""

    @property
    def verb(self) -> str:
        """The command whose permission it needs."""
        raise NotImplementedError

    async def carry_out(self, context: CommandContext) -> Result:
        """Raises `OutreachError`, `RecordsUnavailable`."""
        raise NotImplementedError

    @property
    def line(self) -> str:
        """The command that a person may type instead."""
        return self.verb


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One answer to a question: the label of its button, and what it carries out."""

    label: str
    act: Act


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a command asks before it changes anything. A face draws it and hands an act back to `carry_out`."""

    card: Card
    """What will change, without buttons."""
    choices: tuple[Choice, ...]
    """The first is what the command says."""
    asks: bool = True
    """False: only where everything is asked first, such as after a key in the dashboard."""
    is_open: bool = False
    """True: the command says none of the choices, so that nobody may confirm it unseen."""
    no: str = "Cancel"
    line: str = ""
    """The command, for the audit."""


def refused(title: str, *text: str, why: str, argument: str = "") -> Result:
    """The result of a command that may not or can't be carried out; nothing was changed."""
    return refusal(Card(title=title, tone=Tone.WARN, text=text), why=why, argument=argument)


def refusal(card: Card, *, why: str, argument: str = "") -> Result:
    problem = Problem(text=why, argument=argument)
    return Result(card=card, audit=f"refused: {why}", effect="refused", problem=problem)
