"""The records of domains: their checks, and their pauses by the service."""

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
    """The records of a domain since a moment."""

    reason: str = ""
    """The reason of its last pause by the service; empty where there was none, or no reason."""
    pauses: tuple[DomainPause, ...] = ()
    """The newest first; a few."""
    bounced: int = 0
    hard: int = 0
    """The hard ones among `bounced`."""
    opted_out: int = 0
    known_from: datetime | None = None
    """The time of the workspace's first delivery: nothing before it is counted."""
    sequences: tuple[str, ...] = ()
    """Names of the sequences that sent from it, the busiest first."""
