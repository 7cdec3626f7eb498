"""What the bot recorded of the domains: their checks, and when the service paused them."""

from __future__ import annotations

from datetime import datetime

from shared.frozen import frozen


@frozen
class DomainIncident:
    """A domain that the service paused: who acknowledged it, when it was over."""

    at: datetime
    text: str
    domain: str = ""
    """Empty where the delivery named none."""
    handled_by: str = ""
    handled_at: datetime | None = None
    recovered_at: datetime | None = None


@frozen
class DomainPause:
    """That the service paused a domain; `reason` as it named it, with its share of sends."""

    at: datetime
    reason: str = ""
    recovered_at: datetime | None = None


@frozen
class DomainPast:
    """What the bot recorded of a domain since a moment."""

    reason: str = ""
    """Why the service paused it last; empty where it was not, or gave no reason."""
    pauses: tuple[DomainPause, ...] = ()
    """The newest first; a few."""
    bounced: int = 0
    hard: int = 0
    """Of `bounced`, the hard ones."""
    opted_out: int = 0
    known_from: datetime | None = None
    """When the workspace's first delivery came: what was before isn't counted."""
    sequences: tuple[str, ...] = ()
    """Names of the sequences that sent from it, the busiest first."""
