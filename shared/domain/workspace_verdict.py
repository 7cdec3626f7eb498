"""The verdict on a workspace, with its counts, problems and conditions for alarms, the same everywhere. Pure.

What can't send counts first. A change for the worse never improves the verdict, and nothing unknown is healthy; tests
check both. Alarms are about domains, fired guardrails, and a service that can't be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from shared.api.models import Inbox
from shared.domain.card import Tone
from shared.domain.health import DEFAULT, DomainHealth, Thresholds, count_by_kind, roll_up
from shared.domain.snapshot import SOURCES, UNREACHABLE, ProblemStart, Reading, Snapshot, which_failed
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.text.formats import show_number, show_some

NAMED = 4
"""Domains that the detail of a verdict names."""


@frozen
class WorkspaceVerdict:
    """The verdict in one line, the domains that it is about, and the numbers behind it."""

    tone: Tone
    text: str
    detail: str = ""
    counts: Mapping[str, int] = field(default_factory=lambda: count_by_kind(()))
    """The inboxes by the kinds of `KINDS`; each is in one count."""
    domains: tuple[DomainHealth, ...] = ()

    @property
    def paused_domains(self) -> int:
        return sum(domain.paused for domain in self.domains)

    def as_data(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "tone": self.tone.value,
            "text": self.text,
            "detail": self.detail,
            **self.counts,
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
    counts = count_by_kind(domains)
    if not any(counts.values()):
        return WorkspaceVerdict(tone=Tone.INFO, text="No inboxes are connected to this outreach workspace")
    return WorkspaceVerdict(
        tone=_tone(counts),
        text=_text(counts, domains),
        detail=_worst(domains),
        counts=counts,
        domains=domains,
    )


def _tone(counts: Mapping[str, int]) -> Tone:
    # The order is the guarantee: a change for the worse can only move a verdict up this list.
    if counts["resting"] or counts["bad"]:
        return Tone.BAD
    if counts["at_risk"]:
        return Tone.WARN
    return Tone.UNKNOWN if counts["unknown"] else Tone.GOOD


def _text(counts: Mapping[str, int], domains: Sequence[DomainHealth]) -> str:
    """`4 of 9 domains paused · 28 of 60 inboxes not sending · 3 bad · 10 at risk`."""
    paused, inboxes = sum(domain.paused for domain in domains), sum(counts.values())
    parts = []
    if paused:
        parts.append(f"{paused:,} of {show_number(len(domains), 'domain')} paused")
    words = {"resting": "not sending", "bad": "bad", "at_risk": "at risk", "unknown": "of unknown health"}
    troubled = [f"{counts[kind]:,} {word}" for kind, word in words.items() if counts[kind]]
    if not troubled:
        return "The only inbox is healthy" if inboxes == 1 else f"All {inboxes:,} inboxes are healthy"
    # The first says of how many.
    number, _, word = troubled[0].partition(" ")
    return " · ".join([*parts, f"{number} of {show_number(inboxes, 'inbox')} {word}", *troubled[1:]])


def _worst(domains: Sequence[DomainHealth]) -> str:
    """The domains in trouble, in the order of all domains: the worst first."""
    troubled = [domain for domain in domains if domain.tone is not Tone.GOOD]
    return show_some([domain.domain for domain in troubled], NAMED)


SERVICE = "service"
OF_DOMAINS = "domain "
"""The beginning of the keys of conditions of domains."""
PAUSED = "paused"
BAD = "bad"
DOMAIN_KINDS = (BAD, "resting", PAUSED)
"""The least bad first."""
GUARDRAIL = "guardrail"


@frozen
class Condition:
    """One thing that is wrong now: what, where, and how much of it."""

    kind: str
    """`bad`, `resting` and `paused` of a domain; `guardrail`; of the service, the cause."""
    where: str
    """The domain, or what the guardrail is about; empty for the service."""
    text: str
    extent: int = 0
    """Inboxes that it concerns."""
    since: datetime | None = None
    """The moment at which it became so."""
    began: datetime | None = None
    """The moment at which anything began to be wrong here, where the history remembers it."""
    is_older: bool = False
    """It began then or before."""
    rule: str = ""
    """The guardrail that has fired."""

    @property
    def key(self) -> str:
        if self.rule:
            return f"guardrail {self.rule} {self.where}"
        return f"{OF_DOMAINS}{self.where}" if self.is_of_domain else SERVICE

    @property
    def is_of_domain(self) -> bool:
        return self.kind in DOMAIN_KINDS

    @property
    def is_start_unseen(self) -> bool:
        """True if it held already at the first look: `since` is that of the look."""
        return self.is_older and self.since == self.began

    @property
    def is_alarm(self) -> bool:
        """True if something can't send, can't be read, or a guardrail has fired; a low score alone is not an alarm."""
        return self.kind != BAD

    @property
    def summary(self) -> str:
        return f"{self.where} {self.text}" if self.where else self.text


def conditions_of(snapshot: Snapshot, verdict: WorkspaceVerdict) -> tuple[Condition, ...]:
    """Everything that is wrong: the service, the domains in the order of the verdict's, then guardrails."""
    conditions = [*_of_service(snapshot), *filter(None, map(_of_domain, verdict.domains))]
    for incident in snapshot.firings:
        text, since = f"guardrail {incident.rule}: {incident.note}", moment(incident.began_at)
        found = Condition(kind=GUARDRAIL, where=incident.label, text=text, since=since, rule=incident.rule)
        conditions.append(found)
    return dated(conditions, snapshot.problems)


def dated(conditions: Iterable[Condition], starts: Iterable[ProblemStart]) -> tuple[Condition, ...]:
    """The conditions with their starts; what is not remembered stays as it is."""
    # Each trouble has a start of its own: a key that was rejected before doesn't belong to a rate limit.
    known = {(one.key, one.kind): one for one in starts}
    started = []
    for condition in conditions:
        start, values = known.get((condition.key, condition.kind)), dict[str, Any]()
        if start:
            values = {
                "since": moment(start.kind_since),
                "began": moment(start.since),
                "is_older": start.is_older,
            }
        started.append(replace(condition, **values))
    return tuple(started)


def _of_domain(domain: DomainHealth) -> Condition | None:
    kinds = {PAUSED: domain.paused, "resting": domain.resting, BAD: domain.bad}
    kind, extent = next((kind for kind, is_so in kinds.items() if is_so), ""), domain.resting + domain.bad
    text = "; ".join(domain.reasons)
    return Condition(kind=kind, where=domain.domain, text=text, extent=extent) if kind else None


def _of_service(snapshot: Snapshot) -> Iterable[Condition]:
    """One condition, however many sources fail: that of the latest failure, since when this cause has been so."""
    readings = {source.grouping or name: snapshot.reading(source) for name, source in SOURCES.items()}
    failing = {name: one for name, one in readings.items() if one.failed_since}
    if not failing:
        return
    since = min(reading.failed_since for reading in failing.values() if reading.failed_since)
    latest = max(failing.values(), key=lambda one: one.failed_at or since)
    cause = latest.cause or UNREACHABLE
    answered = any(
        reading.read_at and reading.read_at > since and not reading.error for reading in readings.values()
    )
    # Where something else still answers, the service isn't down: name what failed.
    text = which_failed(cause, tuple(failing)) if answered else cause
    # Since the earliest failure for this cause.
    same = [one for one in failing.values() if (one.cause or UNREACHABLE) == cause]
    starts = filter(None, (one.cause_since or one.failed_since for one in same))
    yield Condition(kind=cause, where="", text=text, since=min(starts, default=None))
