"""What the bot recorded of the domains: their checks, and when the service paused them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from shared.domain_health.report import DomainChange, DomainReport


class DomainRecords(Protocol):
    """What the bot knows of the domains' DNS. Raises `RecordsUnavailable` when the database does not answer."""

    async def reports(self, names: Collection[str] | None = None) -> Mapping[str, DomainReport]:
        """How these domains stand, or all; those that were never checked are left out."""
        ...

    async def changes(self, names: Collection[str], since: datetime) -> Sequence[DomainChange]:
        """How their DNS changed since then, the newest first."""
        ...

    async def broken(self, workspace: str) -> Mapping[str, Sequence[str]]:
        """The domains of a workspace with a confirmed problem, and which of its checks have one."""
        ...

    async def broken_since(
        self, workspace: str, since: datetime
    ) -> Sequence[tuple[float, Mapping[str, Sequence[str]]]]:
        """Which of a workspace's domains were broken, at each time since then when that changed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainIncident:
    """A domain that the service paused: who acknowledged it, when it was over."""

    at: datetime
    text: str
    domain: str = ""
    """Empty where the delivery named none."""
    handled_by: str = ""
    handled_at: datetime | None = None
    recovered_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPause:
    """That the service paused a domain; `reason` as it named it, with its share of sends."""

    at: datetime
    reason: str = ""
    recovered_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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
