"""An alert: the event that it shows, who takes care of it, and how its sequence or domain stands. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from shared.api.events import Event
from shared.domain.reply_states import State
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.text.formats import clip, show_span

PRUNED = Event(kind="pruned")
"""The event of a delivery whose body is deleted."""


@frozen
class Alert:
    """An alert as it is stored, with the event of its delivery. Times are Unix seconds.

    What a query leaves out has its default.
    """

    id: str
    workspace: str = ""
    kind: str = ""
    email: str = ""
    received_at: float = 0.0
    event: Event = PRUNED
    sequence: str = ""
    domain: str = ""
    claimed_by: str = ""
    claimed_name: str = ""
    claimed_at: float | None = None
    mail_until: float | None = None
    """The moment until which the click of its owner opens their mail program."""
    assigned_name: str = ""
    """The person who assigned it to its owner; empty where the owner claimed it."""
    waiting_since: float | None = None
    nudges: int = 0
    """1: a reminder was sent; 2: it was escalated."""
    snoozed_until: float | None = None
    snoozed_name: str = ""
    snoozed_by: str = ""
    """The id of who snoozed it, or asked for a reminder."""
    handled_name: str = ""
    handled_at: float | None = None
    closed_reason: str = ""
    """The reason for which it was closed as not interested."""
    rota: str = ""
    """The rota whose turns it follows; empty: none."""
    owner: str = ""
    """The person whose turn it is as long as nobody has claimed it; empty for the group's."""
    owner_name: str = ""
    passed: str = ""
    """The people whose turn it was before, separated by spaces."""
    standing: str = ""
    """The state of its domain as last seen, as cards read it."""
    recovered_at: float | None = None
    worked_since: float | None = None
    """The moment since which its owner is to be done with it: the claim, or the last time it was reopened."""
    claim_nudges: int = 0
    turn_ends_at: float | None = None
    ack_due_at: float | None = None
    acked_name: str = ""
    acked_at: float | None = None
    ack_reminders: int = 0
    found: bool = False
    """It was read from the API: its delivery never came."""
    lead_link: str = ""
    """The lead's page elsewhere, on a card, where the settings name one."""
    mail_link: str = ""
    """On a card, leads to the person's mail program, where the bot has a public address."""

    @property
    def is_pruned(self) -> bool:
        return self.event is PRUNED

    @property
    def state(self) -> State:
        """The state of a reply; what a person has claimed is theirs, also while a reminder is set."""
        # Done wins over everything: a reminder of a done reply is none.
        if self.handled_at is not None:
            return State.DONE
        if self.claimed_by:
            return State.CLAIMED
        return State.UNCLAIMED if self.snoozed_until is None else State.SNOOZED

    @property
    def status(self) -> str:
        """The owner of a reply and the time it took, or whose turn it is; empty where it is unclaimed."""
        if self.handled_at is not None:
            if self.closed_reason:
                return f"not interested ({clip(self.closed_reason)}), says @{self.handled_name}"
            return f"done by @{self.handled_name} after {span(self.received_at, self.handled_at)}"
        if self.claimed_at is not None:
            by = f"claimed by @{self.claimed_name}"
            if self.assigned_name:
                by = f"assigned to @{self.claimed_name} by @{self.assigned_name}"
            return f"{by} after {span(self.received_at, self.claimed_at)}"
        if self.snoozed_until is not None:
            return f"snoozed by @{self.snoozed_name}"
        if not self.rota or self.waiting_since is None:
            return ""
        nobody = "nobody in the rota claimed it" if self.passed else "everyone in the rota is away"
        return f"@{self.owner_name or self.owner}'s turn" if self.owner else nobody

    @property
    def received(self) -> datetime:
        return moment(self.received_at)


def span(since: float, until: float) -> str:
    """The time between two Unix times, as text."""
    return show_span(timedelta(seconds=until - since))


def domain_of(event: Event) -> str | None:
    return event.domain or (event.inbox or "").rpartition("@")[2] or None
