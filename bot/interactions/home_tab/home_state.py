"""The values that Home shows, and the selected workspace. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Any

from shared.api.models import Sequence as Campaign
from shared.domain.health import DomainHealth


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """An interested reply: unclaimed, or this person's."""

    alert: str
    lead: str
    sequence: str
    since: datetime
    workspace: str
    link: str = ""
    """To its card."""
    reply: str = ""
    """The beginning of what the lead wrote."""
    page: str = ""
    """The lead's CRM page, if configured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """A domain that the service paused and that has not recovered."""

    domain: str
    since: datetime
    workspace: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeState:
    """Everything that Home shows; None, or no entry for a workspace: unknown."""

    now: datetime
    workspaces: Sequence[str]
    """All configured workspaces."""
    viewed_workspace: str = ""
    """The workspace shown in full; empty: urgent things of all."""
    waiting: Sequence[Waiting] | None = None
    """The replies that have waited longest."""
    unclaimed: Mapping[str, int] = field(default_factory=dict)
    """How many wait in each workspace, where any do."""
    claims: Sequence[Waiting] | None = None
    paused: Sequence[Paused] = ()
    domains: Mapping[str, Sequence[DomainHealth]] = field(default_factory=dict)
    sequences: Mapping[str, Sequence[Campaign]] = field(default_factory=dict)
    digests: Sequence[tuple[str, str]] = ()
    """Of the workspace shown in full: channels that the person may know, and when their digests come."""
    zone: tzinfo = UTC
    """In which the person reads times of day."""
    absence: str = ""
    """Until when the person is away, where they said so."""
    may_change: bool = True
    problem: str = ""

    @property
    def several(self) -> bool:
        return len(self.workspaces) > 1

    def named(self, workspace: str) -> str:
        """The workspace of a button, where there are several."""
        return workspace if self.several else ""


def viewed_workspace(view: Mapping[str, Any] | None) -> str:
    """The workspace that a Home shows, from its view."""
    try:
        metadata = json.loads((view or {}).get("private_metadata") or "{}")
    except ValueError:
        return ""
    return str(metadata.get("workspace") or "") if isinstance(metadata, dict) else ""
