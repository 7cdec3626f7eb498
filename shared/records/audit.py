"""The records of acts and of absences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Literal

from shared.frozen import frozen


@frozen
class Actor:
    """A person who does something, and the place: `face` is slack, shell, dashboard, web (a browser) or bot (a timer)."""

    name: str
    id: str = ""
    """The id of a user of Slack; where there is none, the name tells who it is."""
    face: str = "shell"
    channel: str = ""
    via: str = ""
    """`assistant` where an assistant reads in this name."""

    @property
    def shown(self) -> str:
        """`@ann`, as cards and threads call people of Slack; others by their names."""
        is_of_slack = self.face == "slack" or (self.face == "dashboard" and self.id)
        return f"@{self.name}" if is_of_slack else self.name


ASSISTANT = "assistant"
Effect = Literal["", "paused", "resumed", "refused", "failed", "read"]
"""The effect of a change; empty if it didn't pause or resume sequences. A call of an assistant is `read`."""


@frozen
class Now:
    """The present state of a sequence, and who made it so; `by` is empty where a timer did."""

    status: Literal["active", "paused"]
    ends_at: float | None = None
    """The end of its pause, in Unix seconds."""
    by: str = ""


@frozen
class Before:
    """The state of a sequence before a change, which an Undo restores, and what became of it since."""

    label: str
    status: Literal["active", "paused"]
    revision: int | None = None
    """The number of its changes with this one: at another number someone has changed it since. None: unknown."""
    ends_at: float | None = None
    """The end that its pause had, in Unix seconds."""
    reason: str = ""
    new_end: float | None = None
    """The end that the change gave its pause, in Unix seconds."""
    later: Now | None = None
    """The state that the last change since gave it; None where nobody changed it but an Undo of this very change."""


@frozen
class AuditEntry:
    """One act that changed something, failed or was refused, or a call of an assistant."""

    at: datetime
    actor: Actor
    workspace: str
    command: str
    result: str
    effect: Effect = ""
    sequences: tuple[str, ...] = ()
    """The ids of those that it paused or resumed, or whose pause it gave another end."""
    reason: str = ""
    """The reason of the pause."""
    undoable: Mapping[str, Before] = field(default_factory=dict)
    """The part of `sequences` that an Undo takes back, as they were before."""
    undoes: int = 0
    """The number of the entry that it took back."""
    number: int = 0
    """Its own, once it is stored."""
    undone_by: str = ""
    overtaken_by: str = ""
    """The person who changed all of its sequences since."""

    def state_of(self, sequence: str) -> Now:
        """The present state of one of `undoable`."""
        before = self.undoable[sequence]
        if before.later:
            return before.later
        if self.undone_by:
            return Now(status=before.status, ends_at=before.ends_at, by=self.undone_by)
        status: Literal["active", "paused"] = "paused" if self.effect == "paused" else "active"
        return Now(status=status, ends_at=before.new_end, by=self.actor.shown)
