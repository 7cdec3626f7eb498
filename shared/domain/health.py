"""The rules for inboxes and domains: a verdict with its reasons, and roll-ups. Pure.

Unknown is never healthy: a missing score or a new status is shown as such.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as validated
from pydantic_core import PydanticCustomError

from shared.api.models import Inbox
from shared.api.words import INBOX_STATUSES
from shared.domain.card import Tone
from shared.frozen import frozen
from shared.text.formats import show_number

REMEMBERED = 4096
"""Verdicts: ten thousand inboxes are judged with every board, and most stand like many others."""
KINDS = ("healthy", "at_risk", "bad", "resting", "unknown")
KIND_OF = {Tone.GOOD: "healthy", Tone.WARN: "at_risk", Tone.BAD: "bad"}
WORST_FIRST = (Tone.BAD, Tone.WARN, Tone.UNKNOWN, Tone.INFO, Tone.GOOD)


@validated(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Thresholds:
    """`[thresholds]` of the settings: health scores, 0-100.

    From `healthy` on an inbox is healthy, below `bad` it is bad, between at risk.
    """

    healthy: float = Field(default=80, ge=0, le=100)
    bad: float = Field(default=60, ge=0, le=100)

    def __post_init__(self) -> None:
        if self.bad > self.healthy:
            problem, fix = "sets bad above healthy.", "Set bad lower than healthy."
            raise PydanticCustomError("setting", "{problem}", {"problem": problem, "fix": fix})


DEFAULT = Thresholds()


@frozen
class Verdict:
    """The state of one inbox; `word` is healthy, warming, at risk, bad, resting, unknown or an unheard-of status."""

    tone: Tone
    word: str
    reasons: tuple[str, ...] = ()


@frozen
class DomainHealth:
    """The state of a domain's inboxes; each inbox is in exactly one of the counts of `KINDS`."""

    domain: str
    inboxes: int
    healthy: int
    at_risk: int
    bad: int
    resting: int
    unknown: int
    lowest: float | None
    tone: Tone
    reasons: tuple[str, ...] = ()

    @property
    def paused(self) -> bool:
        """True if nothing is sent from here: the service pauses a domain by having all its inboxes rest."""
        return self.inboxes > 0 and self.resting == self.inboxes


def verdict(inbox: Inbox, *, thresholds: Thresholds = DEFAULT) -> Verdict:
    return _verdict(inbox.status, inbox.health_score, thresholds)


@lru_cache(maxsize=REMEMBERED)
def _verdict(status: str | None, score: float | None, thresholds: Thresholds) -> Verdict:
    # The list of statuses may grow: a new one isn't a known state, so it is neither good nor bad.
    if status is not None and status not in INBOX_STATUSES:
        return Verdict(tone=Tone.UNKNOWN, word=status, reasons=(f"unknown status “{status}”",))
    tone, word, reasons = by_score(score, thresholds)
    if status == "resting":
        return Verdict(tone=Tone.BAD, word="resting", reasons=("resting, not sending", *reasons))
    if status == "warming" and tone is Tone.GOOD:
        return Verdict(tone=tone, word="warming", reasons=("warming up",))
    # A good score of an inbox whose status is unknown proves nothing: it may not send at all.
    if status is None:
        return Verdict(
            tone=min(tone, Tone.UNKNOWN, key=WORST_FIRST.index),
            word=word,
            reasons=(*reasons, "status unknown"),
        )
    return Verdict(tone=tone, word=word, reasons=reasons)


@lru_cache(maxsize=REMEMBERED)
def by_score(score: float | None, thresholds: Thresholds) -> tuple[Tone, str, tuple[str, ...]]:
    """Tone, word and reasons by the score alone: healthy, at risk, bad or unknown."""
    if score is None:
        return Tone.UNKNOWN, "unknown", ("health score unknown",)
    if score < thresholds.bad:
        return Tone.BAD, "bad", (f"health {score:g}, below {thresholds.bad:g}",)
    if score < thresholds.healthy:
        return Tone.WARN, "at risk", (f"health {score:g}, below {thresholds.healthy:g}",)
    return Tone.GOOD, "healthy", ()


def worst(tones: Iterable[Tone]) -> Tone:
    return min(tones, key=WORST_FIRST.index, default=Tone.UNKNOWN)


def roll_up(
    inboxes: Iterable[Inbox], *, thresholds: Thresholds = DEFAULT, others: Iterable[DomainHealth] = ()
) -> tuple[DomainHealth, ...]:
    """The domains, the worst first, the paused ones before the bad ones, then by lowest score, then by name.

    `others` are domains that were counted before, of which no inbox has changed.
    """
    by_domain: defaultdict[str, list[Inbox]] = defaultdict(list)
    for inbox in inboxes:
        by_domain[inbox.domain].append(inbox)
    domains = [_domain(domain, members, thresholds=thresholds) for domain, members in by_domain.items()]
    return tuple(sorted([*others, *domains], key=_badness))


def count_by_kind(domains: Iterable[DomainHealth]) -> dict[str, int]:
    """Inboxes of the domains, by the counts of `KINDS`."""
    known = list(domains)
    return {kind: sum(getattr(domain, kind) for domain in known) for kind in KINDS}


def show_counts(domains: Iterable[DomainHealth]) -> str:
    """`12 healthy, 3 at risk`."""
    counts = count_by_kind(domains)
    return ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in counts.items() if count)


def _badness(domain: DomainHealth) -> tuple[int, bool, float, str]:
    lowest = -1.0 if domain.lowest is None else domain.lowest
    return WORST_FIRST.index(domain.tone), not domain.paused, lowest, domain.domain


def _domain(domain: str, inboxes: list[Inbox], *, thresholds: Thresholds) -> DomainHealth:
    verdicts = [verdict(inbox, thresholds=thresholds) for inbox in inboxes]
    kinds = ("resting" if one.word == "resting" else KIND_OF.get(one.tone, "unknown") for one in verdicts)
    counts = dict.fromkeys(KINDS, 0) | Counter(kinds)
    scores = [inbox.health_score for inbox in inboxes if inbox.health_score is not None]
    lowest = min(scores, default=None)
    return DomainHealth(
        domain=domain,
        inboxes=len(inboxes),
        **counts,
        lowest=lowest,
        tone=worst({one.tone for one in verdicts}),
        reasons=_reasons(counts, inboxes=len(inboxes), lowest=lowest),
    )


def _reasons(counts: Mapping[str, int], *, inboxes: int, lowest: float | None) -> tuple[str, ...]:
    # The service pauses a domain by resting all of its inboxes, and says so nowhere else.
    if counts["resting"] == inboxes:
        return (f"paused, {show_number(inboxes, 'inbox')} not sending",)
    reasons = [f"{counts['resting']} resting"] if counts["resting"] else []
    scored = [f"{counts[kind]} {kind.replace('_', ' ')}" for kind in ("bad", "at_risk") if counts[kind]]
    if scored and lowest is not None:
        scored[-1] += f", lowest {lowest:g}"
    unknown = [f"{counts['unknown']} unknown"] if counts["unknown"] else []
    return (*reasons, *scored, *unknown)
