"""What the accounts look like on their first day: sequences, domains and inboxes, as plain tables."""

from __future__ import annotations

from dataclasses import dataclass

EVERY_DAY = 0b1111111
WORKDAYS = 0b0011111


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencePlan:
    """A sequence: its sending hours are UTC, chosen for a region so that they do not cross midnight."""

    name: str
    steps: int
    opens: int
    closes: int
    weekdays: int = WORKDAYS
    status: str = "active"
    appeal: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPlan:
    """A sending domain and how its inboxes stand."""

    name: str
    health: float
    state: str = "healthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPlan:
    """A workspace as it is founded."""

    workspace: str
    sequences: tuple[SequencePlan, ...] = ()
    domains: tuple[DomainPlan, ...] = ()
    inboxes: int = 0
    leads: int = 0
    queue: int = 0
    blocklist: tuple[str, ...] = ("competitor.example", "legal@bigbank.example")


ACME = AccountPlan(
    workspace="acme",
    sequences=(
        SequencePlan(
            name="SaaS founders – Europe", steps=4, opens=7, closes=16, weekdays=EVERY_DAY, appeal=1.15
        ),
        SequencePlan(
            name="SaaS founders – North America", steps=4, opens=13, closes=22, weekdays=EVERY_DAY, appeal=1.1
        ),
        SequencePlan(
            name="E-commerce brands, peak season",
            steps=3,
            opens=8,
            closes=17,
            weekdays=EVERY_DAY,
            appeal=1.25,
        ),
        SequencePlan(name="Manufacturing DACH", steps=4, opens=6, closes=15, appeal=0.8),
        SequencePlan(name="Fintech ops leaders", steps=3, opens=14, closes=23, appeal=0.95),
        SequencePlan(
            name="Agencies Australia & NZ", steps=3, opens=0, closes=7, weekdays=EVERY_DAY, appeal=1.2
        ),
        SequencePlan(
            name="Recruiters Singapore", steps=3, opens=1, closes=10, weekdays=EVERY_DAY, appeal=1.05
        ),
        SequencePlan(name="IT services India", steps=4, opens=4, closes=13, weekdays=EVERY_DAY),
        SequencePlan(
            name="West Coast startups", steps=3, opens=16, closes=24, weekdays=EVERY_DAY, appeal=1.2
        ),
        SequencePlan(name="Webinar follow-up", steps=2, opens=12, closes=21, weekdays=EVERY_DAY, appeal=1.6),
        SequencePlan(name="Webinar follow-up", steps=3, opens=7, closes=16, status="paused", appeal=1.4),
        SequencePlan(
            name="Win-back 2023 customers", steps=2, opens=9, closes=17, status="paused", appeal=0.7
        ),
    ),
    domains=(
        DomainPlan(name="getacme.example", health=93),
        DomainPlan(name="tryacme.example", health=88),
        DomainPlan(name="acme-mail.example", health=90),
        DomainPlan(name="acmehq.example", health=84, state="warming"),
        DomainPlan(name="useacme.example", health=71),
        DomainPlan(name="acme-team.example", health=95),
        DomainPlan(name="helloacme.example", health=86),
        DomainPlan(name="acmegrowth.example", health=91),
        DomainPlan(name="meetacme.example", health=62),
    ),
    inboxes=60,
    leads=5_000,
    queue=480,
)

GLOBEX = AccountPlan(
    workspace="globex",
    sequences=(
        SequencePlan(name="Clinics", steps=3, opens=8, closes=17, weekdays=EVERY_DAY),
        SequencePlan(name="Dental practices", steps=2, opens=13, closes=22),
    ),
    domains=(
        DomainPlan(name="globex-mail.example", health=92),
        DomainPlan(name="tryglobex.example", health=87),
    ),
    inboxes=6,
    leads=200,
    queue=30,
)

EMPTY = (AccountPlan(workspace="acme"), AccountPlan(workspace="globex"))
BELIEVABLE = (ACME, GLOBEX)
