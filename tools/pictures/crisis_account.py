"""A made-up account that goes through a crisis, by the hour: the same at every call, for pictures. Pure."""

from __future__ import annotations

from collections.abc import Sequence as Many
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.api.models import Inbox, Lead, Sequence, StatsRow
from shared.api.pace import BudgetState
from shared.domain.snapshot import Reading, Snapshot

START = datetime(2026, 11, 18, 6, 0, tzinfo=UTC)
"""The first hour: everything is healthy. A Wednesday."""
CALM, FIRST, WORST, OVER = 1, 5, 9, 30
"""Hours after the start."""
PEOPLE = ("ana", "ben", "cleo", "dana", "eli", "femi", "gus", "hana")


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What happens to a domain, in hours after the start; paused domains rest, and warm up for six hours."""

    name: str
    inboxes: int
    at_risk: float = 99
    bad: float = 99
    paused: float = 99
    back: float = 99


COURSES = (
    Course(name="useacme.example", inboxes=7, at_risk=2, bad=3, paused=4, back=16),
    Course(name="tryacme.example", inboxes=7, at_risk=3, bad=4.5, paused=6, back=18),
    Course(name="getacme.example", inboxes=6, at_risk=3.5, bad=6, paused=7.5, back=20),
    Course(name="meetacme.example", inboxes=7, at_risk=5, bad=7, paused=8.5, back=21),
    Course(name="acmehq.example", inboxes=7, at_risk=6, bad=8.5, back=12),
    Course(name="helloacme.example", inboxes=6, at_risk=7.5, back=13),
    Course(name="acmemail.example", inboxes=7),
    Course(name="joinacme.example", inboxes=6),
    Course(name="withacme.example", inboxes=7),
)
SEQUENCES = (
    "SaaS founders – Europe",
    "SaaS founders – North America",
    "Fintech ops leaders",
    "Webinar follow-up",
    "Recruiters Singapore",
    "Agencies Australia & NZ",
    "E-commerce brands, peak season",
    "IT services India",
    "Manufacturing DACH",
    "West Coast startups",
)
LEADS = (
    ("Maya", "Sharma", "Harbor Freight Lines"),
    ("Sven", "Lindqvist", "Helio Energy"),
    ("Lucía", "Moreno", "Indigo Travel"),
    ("Rebecca", "Ricci", "Alder Health"),
    ("Priya", "Nair", "Silverline Foods"),
    ("Tom", "Okoro", "Basalt Dental"),
    ("Maja", "Vogel", "Topaz Logistics"),
)


def at(hours: float) -> datetime:
    """The moment that many hours after the start."""
    return START + timedelta(hours=hours)


def account(hours: float, *, workspace: str = "acme", courses: Many[Course] = COURSES) -> Snapshot:
    """The account as it is read then."""
    now = at(hours)

    def read(value: Any) -> Reading[Any]:
        return Reading(value=value, read_at=now)

    boxes = tuple(_inbox(course, number, hours) for course in courses for number in range(course.inboxes))
    paused = 3 if hours < FIRST else 5
    sequences = tuple(
        Sequence(id=f"sq_{n}", name=name, status="paused" if n % 10 in (3, 7, 2, 8, 5)[: paused - 1] else "active",
                 steps=3 + n % 3)
        for n, name in enumerate(SEQUENCES)
    )  # fmt: skip

    def rows(*groups: str, scale: int = 1) -> tuple[StatsRow, ...]:
        return tuple(
            StatsRow(group=group, sends=(2_900 - 211 * n % 1_900) // scale, replies=(38 + 29 * n % 61) // scale,
                     positive_replies=(9 + 5 * n % 13) // scale, meetings=(2 + 3 * n % 5) // scale)
            for n, group in enumerate(groups)
        )  # fmt: skip

    leads = tuple(
        Lead(id=f"ld_{n}", email=f"{first.lower()}@{company.split()[0].lower()}.example", status="interested",
             first_name=first, last_name=last, company=company)
        for n, (first, last, company) in enumerate(LEADS)
    )  # fmt: skip
    return Snapshot(
        workspace=workspace,
        sequences=read(sequences),
        inboxes=read(boxes),
        stats={
            "sequence": read(rows(*(one.id for one in sequences))),
            "step": read(rows("1", "2", "3")),
            "variant": read(rows("A", "B")),
            "inbox": read(rows(*(box.email for box in boxes), scale=8)),
        },
        today=read(StatsRow(group="today", sends=round(130 + 64 * min(hours, WORST)), replies=9,
                            positive_replies=3, meetings=1)),
        previous=read(StatsRow(group="previous", sends=21_480, replies=640, positive_replies=139, meetings=37)),
        interested=read(leads),
        budget=BudgetState(rate=9.5, used_last_second=2),
    )  # fmt: skip


def _inbox(course: Course, number: int, hours: float) -> Inbox:
    healthy = 96 - (number * 5 + len(course.name)) % 12
    score, status = healthy, "active"
    if course.back <= hours:
        score, status = 82 + number, "warming" if course.paused < 99 and hours < course.back + 6 else "active"
    elif course.paused <= hours:
        score, status = 34 + number * 3, "resting"
    elif course.bad <= hours:
        score = 44 + number * 5
    elif course.at_risk <= hours:
        score = 63 + number * 4
    return Inbox(
        email=f"{PEOPLE[number]}@{course.name}",
        health_score=float(score),
        daily_limit=30 + number,
        status=status,
    )
