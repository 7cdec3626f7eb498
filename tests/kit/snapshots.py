"""An account as it was read, in memory, a feed that delivers it, and a clock that a test moves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Many
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from shared.api.models import Inbox, Lead, Sequence, StatsRow
from shared.api.pace import BudgetState
from shared.domain.card import Fact
from shared.domain.snapshot import Reading, Snapshot
from shared.records import DomainPast, Incident
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Tick, intervals
from tui.feed.startup import ServiceFeed
from tui.feed.workspace_state import WorkspaceState
from tui.model.board import Board, compose
from tui.model.happened import Mark

NOW = datetime(2026, 3, 2, 14, 32, 7, tzinfo=UTC)
NAMES = ("SaaS founders – Europe", "Fintech ops leaders", "Webinar follow-up", "Recruiters Singapore")
DOMAINS = ("useacme.example", "acmehq.example", "tryacme.example", "getacme.example")


class Clock:
    """A clock that moves when it is told."""

    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> datetime:
        return self.time

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.time += timedelta(seconds=seconds)


class FakeFeed(ServiceFeed):
    """Delivers the ticks that it is given, and remembers what it was asked for."""

    def __init__(
        self, *, history: HistoryAccess | None = None, sends: Mapping[str, int | None] | None = None
    ) -> None:
        self.history, self.has_bot = history, False
        self.deliver: Callable[[Tick], object] = lambda _: None
        self.requested: list[tuple[str, ...]] = []
        self.closed = False
        self.marks: Many[Mark] = ()
        self.pasts: dict[str, DomainPast] = {}
        self.dns: dict[str, tuple[tuple[Fact, ...], tuple[str, ...]]] = {}
        self._sends = sends or {}

    def start(self, deliver: Callable[[Tick], object], fail: Callable[[Exception], object]) -> None:
        self.deliver = deliver

    def read_now(self, *names: str) -> None:
        self.requested.append(names)

    async def sent_today(self) -> Mapping[str, int | None]:
        return self._sends

    async def recorded_marks(self, snapshot: Snapshot, *, start: datetime, end: datetime) -> Many[Mark]:
        return [mark for mark in self.marks if start <= mark.at <= end]

    async def domain_dns(self, domain: str) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        return self.dns.get(domain, ((), ()))

    async def domain_pasts(self, domains: Many[str]) -> Mapping[str, DomainPast]:
        return {domain: self.pasts[domain] for domain in domains if domain in self.pasts}

    async def aclose(self) -> None:
        self.closed = True


def acme(*, history: HistoryAccess | None = None) -> WorkspaceState:
    """A workspace that shows what it is given."""
    return WorkspaceState(workspace="acme", feed=FakeFeed(history=history))


def an_inbox(number: int) -> Inbox:
    score = (57, 73, 91, 88, 95, 84, 66, 92)[number % 8]
    status = ("resting", "active", "active", "warming")[number % 4]
    domain = DOMAINS[number % len(DOMAINS)]
    return Inbox(
        email=f"person{number:02}@{domain}", health_score=float(score), daily_limit=30 + number, status=status
    )


def reading(value: Any, *, at: datetime = NOW) -> Reading[Any]:
    """A value as it was read."""
    return Reading(value=value, read_at=at)


def fired(**about: Any) -> Incident:
    """A guardrail that fires on a sequence now, unless `about` says otherwise."""
    known = {
        "workspace": "acme",
        "rule": "many",
        "subject": "sq_1",
        "action": "",
        "sentence": "",
        "label": "",
    }
    return Incident(**{**known, "note": "", "id": 1, "held_at": 0.0, "began_at": NOW.timestamp(), **about})


def account(*, inboxes: int = 24, now: datetime = NOW, **changes: Any) -> Snapshot:
    read = partial(reading, at=now)
    boxes = tuple(an_inbox(number) for number in range(inboxes))
    sequences = tuple(
        Sequence(id=f"sq_{n}", name=name, status="paused" if n == 2 else "active", steps=3 + n % 2)
        for n, name in enumerate(NAMES)
    )

    def rows(*groups: str) -> tuple[StatsRow, ...]:
        return tuple(
            StatsRow(
                group=g, sends=4_000 + 731 * n, replies=310 + 17 * n, positive_replies=140 + n, meetings=50
            )
            for n, g in enumerate(groups)
        )

    leads = tuple(
        Lead(
            id=f"ld_{n}",
            email=f"{first.lower()}@{company.lower()}.example",
            status="interested",
            first_name=first,
            last_name="Sharma",
            company=company,
        )
        for n, (first, company) in enumerate((("Maya", "Harbor"), ("Sven", "Helio"), ("Lucía", "Indigo")))
    )
    snapshot = Snapshot(
        workspace="acme",
        sequences=read(sequences),
        inboxes=read(boxes),
        stats={
            "sequence": read(rows(*(s.id for s in sequences))),
            "step": read(rows("1", "2", "3")),
            "variant": read(rows("A", "B")),
            "inbox": read(rows(*(box.email for box in boxes))),
        },
        today=read(StatsRow(group="today", sends=412, replies=31, positive_replies=12, meetings=3)),
        previous=read(
            StatsRow(group="previous", sends=16_000, replies=1_500, positive_replies=700, meetings=190)
        ),
        interested=read(leads),
        budget=BudgetState(rate=9.5, used_last_second=2),
    )
    return replace(snapshot, **changes)


def board_of(snapshot: Snapshot, **more: Any) -> Board:
    """The board of a snapshot at a base interval of 30 s."""
    return compose(snapshot, intervals=intervals(30), **more)


def tick_of(snapshot: Snapshot, *, beats: int = 1, changes: tuple[Mark, ...] = ()) -> Tick:
    """A tick with that snapshot."""
    return Tick(board=board_of(snapshot), beats=beats, changes=changes)


def failing(
    snapshot: Snapshot, *, since: datetime, error: str = "The outreach service can't be reached."
) -> Snapshot:
    """The same values, with every source failing since then."""

    def fail(reading: Reading[Any]) -> Reading[Any]:
        return replace(reading, error=error, failed_since=since)

    names = ("sequences", "inboxes", "today", "previous", "interested")
    parts: dict[str, Any] = {name: fail(getattr(snapshot, name)) for name in names}
    return replace(snapshot, stats={g: fail(r) for g, r in snapshot.stats.items()}, **parts)
