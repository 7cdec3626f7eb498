"""The verdict on a workspace, with its counts and problems, the same for every screen and command. Pure.

What can't send counts first. A change for the worse never improves the verdict, and nothing unknown is healthy; tests
check both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shared.api.models import Inbox
from shared.domain.card import Tone
from shared.domain.health import (
    DEFAULT,
    KINDS,
    WORST_FIRST,
    DomainHealth,
    Thresholds,
    count_by_kind,
    roll_up,
)
from shared.domain.snapshot import Reading
from shared.text.formats import show_number

NAMED = 4
"""Domains that the detail of a verdict names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxCounts:
    """How many inboxes stand how; each is in one count."""

    healthy: int = 0
    at_risk: int = 0
    bad: int = 0
    resting: int = 0
    unknown: int = 0

    @property
    def all(self) -> int:
        return self.healthy + self.at_risk + self.bad + self.resting + self.unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceVerdict:
    """The verdict in one line, the domains that it is about, and the numbers behind it."""

    tone: Tone
    text: str
    detail: str = ""
    counts: InboxCounts = InboxCounts()
    domains: tuple[DomainHealth, ...] = ()

    @property
    def paused_domains(self) -> int:
        return sum(domain.paused for domain in self.domains)

    @property
    def severity(self) -> tuple[int, ...]:
        """Comparable between verdicts of the same inboxes: the greater, the worse."""
        of = self.counts
        troubled = (of.resting, of.bad, of.at_risk, of.unknown)
        return (self.paused_domains, *(sum(troubled[: number + 1]) for number in range(len(troubled))))

    def as_data(self) -> dict[str, Any]:
        """For `--json`."""
        counts = {kind: getattr(self.counts, kind) for kind in KINDS}
        return {
            "tone": self.tone.value,
            "text": self.text,
            "detail": self.detail,
            **counts,
            "domains": len(self.domains),
            "paused_domains": self.paused_domains,
        }


def judge_reading(
    reading: Reading[tuple[Inbox, ...]], *, thresholds: Thresholds = DEFAULT
) -> WorkspaceVerdict:
    """The verdict on inboxes that were read, or not yet."""
    if reading.value is not None:
        return judge(reading.value, thresholds=thresholds)
    if reading.error:
        return WorkspaceVerdict(
            tone=Tone.UNKNOWN, text="Inbox health is unknown", detail=reading.cause or reading.error
        )
    return WorkspaceVerdict(tone=Tone.UNKNOWN, text="Reading the account…")


def judge(inboxes: Iterable[Inbox], *, thresholds: Thresholds = DEFAULT) -> WorkspaceVerdict:
    return judge_domains(roll_up(inboxes, thresholds=thresholds))


def judge_domains(domains: tuple[DomainHealth, ...]) -> WorkspaceVerdict:
    """The verdict on all domains of a workspace, which `roll_up` has counted."""
    counts = InboxCounts(**count_by_kind(domains))
    if not counts.all:
        return WorkspaceVerdict(tone=Tone.INFO, text="No inboxes are connected to this workspace")
    return WorkspaceVerdict(
        tone=_tone(counts),
        text=_text(counts, domains),
        detail=_worst(domains),
        counts=counts,
        domains=domains,
    )


def _tone(counts: InboxCounts) -> Tone:
    if counts.resting or counts.bad:
        return Tone.BAD
    if counts.at_risk:
        return Tone.WARN
    return Tone.UNKNOWN if counts.unknown else Tone.GOOD


def _text(counts: InboxCounts, domains: Sequence[DomainHealth]) -> str:
    """`4 of 9 domains paused · 28 of 60 inboxes not sending · 3 bad · 10 at risk`."""
    paused = sum(domain.paused for domain in domains)
    parts = []
    if paused:
        of = show_number(len(domains), "domain")
        parts.append(f"All {of} paused" if paused == len(domains) > 1 else f"{paused:,} of {of} paused")
    troubles = (
        (counts.resting, "not sending"),
        (counts.bad, "bad"),
        (counts.at_risk, "at risk"),
        (counts.unknown, "of unknown health"),
    )
    for number, word in troubles:
        if number and not any("inbox" in part for part in parts):
            parts.append(f"{number:,} of {show_number(counts.all, 'inbox')} {word}")
        elif number:
            parts.append(f"{number:,} {word}")
    return " · ".join(parts) or _all_healthy(counts.all)


def _all_healthy(number: int) -> str:
    return "The only inbox is healthy" if number == 1 else f"All {number:,} inboxes are healthy"


def _worst(domains: Sequence[DomainHealth]) -> str:
    """The domains in trouble, the paused ones first."""
    troubled = [domain for domain in domains if domain.tone is not Tone.GOOD]
    troubled.sort(key=_rank)
    more = f" and {len(troubled) - NAMED} more" if len(troubled) > NAMED else ""
    return ", ".join(domain.domain for domain in troubled[:NAMED]) + more


def _rank(domain: DomainHealth) -> tuple[bool, int, float, str]:
    lowest = -1.0 if domain.lowest is None else domain.lowest
    return not domain.paused, WORST_FIRST.index(domain.tone), lowest, domain.domain
