"""The values of a client report, also without personal data of leads. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Any

from shared.api.models import StatsRow
from shared.api.words import COUNTS
from shared.domain.card import Tone
from shared.domain.evidence import rates_data
from shared.domain.totals import totals
from shared.records.domains import DomainIncident
from shared.records.replies import PositiveReply, Waits

ADDRESS = re.compile(r"[^@\s<>,;:()\"'“”]+@[^@\s<>,;:()\"'“”]+")
HIDDEN = "(address)"
UNNAMED = "default"
"""The workspace of settings that name none."""
REPLY_WINDOW = 3600.0
"""Seconds within which a first touch counts as fast."""
MOST_REPLIES = 500
"""Positive replies that are listed, unless all are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """The counts of one day, or of the days of a longer range, up to and with `last`."""

    first: date
    last: date
    counts: StatsRow


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainReport:
    """How a sending domain stands now, and its lowest health score over the range where that was recorded."""

    domain: str
    inboxes: int
    score: float | None
    tone: Tone
    text: str
    course: tuple[float, ...] = ()
    dns: str | None = None
    """How its DNS stands; None: it isn't checked."""
    dns_tone: Tone = Tone.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A sequence paused or resumed: by whom, and what."""

    at: datetime
    who: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientReport:
    """The values of the report. None: it could not be read; `gaps` says why, in sentences."""

    workspace: str
    first: date
    last: date
    made_at: datetime
    running: bool = False
    """The last day is not over."""
    sequences: tuple[StatsRow, ...] = ()
    before: StatsRow | None = None
    """Of `before_days`: as many days before, on the same weekdays."""
    before_days: tuple[date, date] | None = None
    buckets: tuple[Bucket, ...] = ()
    replies: int = 0
    """Interested replies that the bot recorded."""
    touches: Waits | None = None
    """From those replies to their first touch, of those that were touched; in time is within `REPLY_WINDOW`."""
    positive: tuple[PositiveReply, ...] | None = None
    """The first of those replies, as far as they are listed."""
    domains: tuple[DomainReport, ...] | None = None
    incidents: tuple[DomainIncident, ...] | None = None
    changes: tuple[Change, ...] | None = None
    gaps: tuple[str, ...] = ()

    @property
    def whose(self) -> str:
        """` for acme`; empty if the workspace has no name."""
        return "" if self.workspace == UNNAMED else f" for {self.workspace}"

    @property
    def total(self) -> StatsRow:
        return totals(self.sequences)


def hide(text: str) -> str:
    """The text without email addresses."""
    return ADDRESS.sub(HIDDEN, text)


def without_leads(report: ClientReport) -> ClientReport:
    """The report without a lead's name, company or address, and with no address in any text."""
    positive, incidents, changes = report.positive, report.incidents, report.changes
    return replace(
        report,
        sequences=tuple(replace(row, group=hide(row.group), id=None, raw={}) for row in report.sequences),
        positive=positive
        and tuple(
            replace(one, lead="", company="", email="", sequence=hide(one.sequence)) for one in positive
        ),
        domains=report.domains
        and tuple(replace(one, dns=one.dns and hide(one.dns)) for one in report.domains),
        incidents=incidents
        and tuple(replace(one, text=hide(one.text), handled_by=hide(one.handled_by)) for one in incidents),
        changes=changes and tuple(replace(one, text=hide(one.text), who=hide(one.who)) for one in changes),
        gaps=tuple(map(hide, report.gaps)),
    )


def report_data(report: ClientReport) -> dict[str, object]:
    """The report for `--json`: the service's words as keys, times in ISO 8601, spans in seconds."""
    return {
        "workspace": report.workspace,
        "from": report.first.isoformat(),
        "to": report.last.isoformat(),
        "complete": not report.running,
        "made_at": report.made_at.isoformat(),
        "totals": counts_data(report.total),
        "before": None if report.before is None else counts_data(report.before),
        "sequences": [{"group": row.group, **counts_data(row)} for row in report.sequences],
        "days": [
            {"from": one.first.isoformat(), "to": one.last.isoformat(), **counts_data(one.counts)}
            for one in report.buckets
        ],
        "positive": _listed(report.positive),
        "median_first_touch_seconds": report.touches.median if report.touches else None,
        "domains": _listed(report.domains),
        "incidents": _listed(report.incidents),
        "changes": _listed(report.changes),
        "gaps": list(report.gaps),
    }


def counts_data(row: StatsRow) -> dict[str, object]:
    """The counts with their rates and the bounds of each."""
    return {
        **{name: getattr(row, name) for name in COUNTS},
        **rates_data(sends=row.sends, replies=row.replies, positive=row.positive_replies),
    }


def _listed(values: Sequence[Any] | None) -> list[dict[str, object]] | None:
    return None if values is None else [{k: _plain(v) for k, v in asdict(one).items()} for one in values]


def _plain(value: Any) -> object:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.total_seconds() if hasattr(value, "total_seconds") else value
