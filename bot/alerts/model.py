"""An alert: its event and its state. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from shared.api.events import Event
from shared.domain.reply_states import State, state_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A person who did something with an alert, and when; for a snooze, when it ends."""

    name: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An event and its state."""

    id: str
    event: Event
    received_at: datetime
    seen: int = 1
    found: bool = False
    """True where it was read from the API because its delivery never came."""
    claim: Mark | None = None
    assigned_by: str = ""
    """The person who assigned it to its owner; empty where the owner claimed it."""
    turn: str = ""
    """A sentence about the turn, where it follows a rota and nobody has it."""
    handled: Mark | None = None
    closed_reason: str = ""
    """The reason for which it was closed as not interested."""
    snooze: Mark | None = None
    """The person who snoozed it, and when that ends."""
    nudges: int = 0
    """1: a reminder was sent; 2: it was escalated."""
    standing: Mapping[str, Any] = field(default_factory=dict)
    """The state of its sequence or domain, as last read by `bot.jobs.card_refresh`."""
    recovered_at: datetime | None = None
    acknowledged: Mark | None = None
    """The person who takes care of a paused domain."""
    workspace: str = ""
    """Its workspace; empty where there is only one."""
    lead_link: str = ""
    """The lead's page elsewhere, where the settings name one."""
    mail_link: str = ""
    """A link to the person's mail program; empty where the bot has no public address."""

    @property
    def state(self) -> State:
        return state_of(
            is_done=self.handled is not None,
            is_claimed=self.claim is not None,
            is_snoozed=self.snooze is not None,
        )

    @property
    def sequence_paused(self) -> bool:
        return self.standing.get("sequence") == "paused"


def domain_of(event: Event) -> str | None:
    return event.domain or (event.inbox or "").rpartition("@")[2] or None
