"""Who did what, and who is away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """A person who said that they are away; `until` None: until they say that they are back."""

    person: str
    name: str
    until: datetime | None = None


class Absences(Protocol):
    """Who is away from the rotas. Raises `RecordsUnavailable` when the database does not answer."""

    async def leave(self, person: Actor, *, until: float | None) -> None: ...
    async def come_back(self, person: str) -> bool:
        """False: they weren't away."""
        ...

    async def absences(self) -> Sequence[Absence]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who does something, and where: `face` is slack, shell, dashboard, web (a browser) or bot (a timer)."""

    name: str
    id: str = ""
    face: str = "shell"
    channel: str = ""
    via: str = ""
    """`assistant` where an assistant reads in this name."""


ASSISTANT = "assistant"
Effect = Literal["", "paused", "resumed", "refused", "failed", "read"]
"""The effect of a change; empty if it didn't pause or resume sequences. A call of an assistant is `read`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One act that changed something, failed or was refused, or a call of an assistant."""

    at: datetime
    actor: Actor
    workspace: str
    command: str
    result: str
    effect: Effect = ""
    sequences: tuple[str, ...] = ()
    """The ids of those that it paused or resumed."""
    reason: str = ""
    """Of a pause."""
    undoable: tuple[str, ...] = ()
    """Those of `sequences` that it changed from active to paused or back: what an undo takes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoable:
    """A person's own change that can be taken back."""

    number: int
    """Of its entry in the audit."""
    entry: AuditEntry
    moved: Mapping[str, AuditEntry]
    """Those of its sequences that were changed since, with the last change of each."""
    revisions: Mapping[str, int]
    """How often each sequence has been changed, where that is certain."""
