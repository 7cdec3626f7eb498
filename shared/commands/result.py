"""The result of a command: the card for people, and what happened as data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.commands.arguments import Arguments, OnSequences
from shared.domain.card import Card
from shared.records.audit import Effect

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
    """What the audit says; empty where nothing was done or refused: a question, a look, no change."""
    effect: Effect = ""
    sequences: tuple[str, ...] = ()
    """The ids of those that were paused or resumed."""
    until: datetime | None = None
    """When a pause ends."""
    reason: str = ""
    question: Arguments | None = None
    """What a yes carries out."""
    undo: OnSequences | None = None
    """What takes the change back."""
    undoable: tuple[str, ...] = ()
    """The ids of those that `undo` takes back."""
    problem: Problem | None = None
    """What was asked was not done, and no error either: several fit, none fits. A shell exits with 1."""

    @property
    def refused(self) -> bool:
        return self.problem is not None

    @property
    def changed(self) -> bool:
        """Something was done, or may have been; it is news for others."""
        return bool(self.audit) and not self.refused
