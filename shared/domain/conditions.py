"""The conditions for alarms: domains, fired guardrails, a service that can't be read. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from shared.domain.card import Tone
from shared.domain.failures import UNREACHABLE, which_failed
from shared.domain.guard_records import Incident
from shared.domain.health import DomainHealth
from shared.domain.snapshot import SOURCES, Snapshot
from shared.domain.wall_clock import moment
from shared.domain.workspace_verdict import WorkspaceVerdict

SERVICE = "service"
DOMAIN_KINDS = ("bad", "resting", "paused")
"""The least bad first."""
GUARDRAIL = "guardrail"


@dataclass(frozen=True, slots=True, kw_only=True)
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
    tone: Tone = Tone.BAD
    rule: str = ""
    """The guardrail that has fired."""

    @property
    def key(self) -> str:
        if self.rule:
            return f"guardrail {self.rule} {self.where}"
        return f"domain {self.where}" if self.is_of_domain else SERVICE

    @property
    def is_of_domain(self) -> bool:
        return self.kind in DOMAIN_KINDS

    @property
    def summary(self) -> str:
        return f"{self.where} {self.text}" if self.where else self.text


def conditions_of(snapshot: Snapshot, verdict: WorkspaceVerdict) -> tuple[Condition, ...]:
    """Everything that is wrong: the service, the domains that can't send, the bad ones, then guardrails."""
    domains = [found for domain in verdict.domains if (found := _of_domain(domain))]
    domains.sort(key=lambda one: (-DOMAIN_KINDS.index(one.kind), -one.extent, one.where))
    return (*_of_service(snapshot), *domains, *map(_of_guardrail, snapshot.firings))


def _of_domain(domain: DomainHealth) -> Condition | None:
    text, extent = "; ".join(domain.reasons), domain.resting + domain.bad
    if domain.paused:
        return Condition(kind="paused", where=domain.domain, text=text, extent=extent)
    if extent:
        kind = "resting" if domain.resting else "bad"
        return Condition(kind=kind, where=domain.domain, text=text, extent=extent)
    return None


def _of_guardrail(one: Incident) -> Condition:
    since = moment(one.began_at)
    text = f"guardrail {one.rule}: {one.note}"
    return Condition(kind=GUARDRAIL, where=one.label, text=text, since=since, rule=one.rule)


def _of_service(snapshot: Snapshot) -> Iterable[Condition]:
    """One condition, however many sources fail; its cause is that of the latest failure."""
    readings = {source.grouping or name: snapshot.reading(source) for name, source in SOURCES.items()}
    failing = {name: one for name, one in readings.items() if one.failed_since}
    if not failing:
        return
    since = min(one.failed_since for one in failing.values() if one.failed_since)
    latest = max(failing.values(), key=lambda one: one.failed_at or since)
    cause = latest.cause or UNREACHABLE
    answered = any(one.read_at and one.read_at > since and not one.error for one in readings.values())
    text = which_failed(cause, tuple(failing)) if answered else cause
    yield Condition(kind=cause, where="", text=text, since=since)
