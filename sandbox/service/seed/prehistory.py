"""The nine weeks before the first day, played in memory by the rules of the campaign; what is left is the account."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from sandbox.service.base.clock import DAY, HOUR, day_of
from sandbox.service.campaign import rules
from sandbox.service.campaign.daily_counts import Cell, TallySheet
from sandbox.service.campaign.rules import Window

HISTORY_DAYS = 65
"""Enough for the last 30 days and the 30 before them, which reports compare."""


@dataclass(slots=True, kw_only=True)
class Journey:
    """One lead's way through a sequence so far."""

    serial: int
    sequence: int
    inbox: int
    created_at: float
    step: int = 0
    status: str = "active"
    due_at: float | None = None
    settled_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A response that will show after the first day has begun."""

    journey: Journey
    kind: str
    due_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """An inbox and the sequence it sends for."""

    workspace: int
    inbox: int
    sequence: int
    window: Window
    steps: int
    appeal: float
    health: float
    daily_limit: int
    sends_until: float


@dataclass(slots=True, kw_only=True)
class Rehearsal:
    """Plays senders day by day until `now`, and keeps journeys, pending responses and counts."""

    seed: int
    now: float
    journeys: list[Journey] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    sheet: TallySheet = field(default_factory=TallySheet)

    def play(self, sender: Sender) -> None:
        """Send from one inbox for all those weeks: follow-ups that are due first, else a new lead."""
        waiting: list[tuple[float, int, Journey]] = []
        key = (self.seed, sender.inbox)
        slot = (day_of(self.now) - HISTORY_DAYS) * DAY
        until = min(self.now, sender.sends_until)
        while True:
            slot = rules.next_slot(sender.window, limit=sender.daily_limit, after=slot, key=key)
            if slot > until:
                break
            journey = (
                heapq.heappop(waiting)[2] if waiting and waiting[0][0] <= slot else self._start(sender, slot)
            )
            self._send(journey, sender, at=slot)
            if journey.due_at is not None:
                heapq.heappush(waiting, (journey.due_at, journey.serial, journey))

    def _start(self, sender: Sender, slot: float) -> Journey:
        journey = Journey(
            serial=len(self.journeys) + 1,
            sequence=sender.sequence,
            inbox=sender.inbox,
            created_at=slot - 6 * HOUR,
        )
        self.journeys.append(journey)
        return journey

    def _send(self, journey: Journey, sender: Sender, *, at: float) -> None:
        journey.step += 1
        journey.due_at = None
        cell = self._cell(journey, sender, at=at)
        self.sheet.count(cell, "sends")
        result = rules.outcome(
            seed=self.seed,
            lead=-journey.serial,  # rows count upwards from 1: the past rolls its own dice
            step=journey.step,
            variant=cell.variant,
            day=cell.day,
            health=sender.health,
            appeal=sender.appeal,
        )
        if result.kind == "silence":
            self._wait(journey, sender, at=at)
        elif at + result.delay > self.now:
            self._expect(journey, result.kind, due_at=at + result.delay)
        else:
            self._settle(journey, sender, result.kind, cell=cell, at=at + result.delay)

    def _cell(self, journey: Journey, sender: Sender, *, at: float) -> Cell:
        variant = rules.variant_of(seed=self.seed, lead=-journey.serial, step=journey.step)
        return Cell(sender.workspace, day_of(at), sender.sequence, journey.step, variant, sender.inbox)

    def _wait(self, journey: Journey, sender: Sender, *, at: float) -> None:
        if journey.step < sender.steps:
            journey.due_at = at + rules.step_gap(journey.step)
        elif at + rules.FINISH_AFTER > self.now:
            self._expect(journey, "completed", due_at=at + rules.FINISH_AFTER)
        else:
            journey.status, journey.settled_at = "completed", at + rules.FINISH_AFTER

    def _expect(self, journey: Journey, kind: str, *, due_at: float) -> None:
        self.pending.append(Pending(journey=journey, kind=kind, due_at=due_at))

    def _settle(self, journey: Journey, sender: Sender, kind: str, *, cell: Cell, at: float) -> None:
        cell = cell._replace(day=day_of(at))
        journey.settled_at = at
        for what in rules.COUNTED[kind]:
            self.sheet.count(cell, what)
        if kind == "bounce_soft":
            journey.step -= 1
            journey.due_at = at + DAY
        elif kind == "ooo":
            journey.due_at = at + DAY * rules.days_away(
                seed=self.seed, lead=-journey.serial, step=journey.step
            )
            journey.due_at = journey.due_at if journey.step < sender.steps else None
        if kind in rules.FINAL:
            journey.status = rules.FINAL[kind]
        elif journey.due_at is None:
            journey.status = "completed"
        if kind == "interested":
            self._arrange(journey, cell, at=at)

    def _arrange(self, journey: Journey, cell: Cell, *, at: float) -> None:
        delay = rules.books_meeting(seed=self.seed, lead=-journey.serial, step=journey.step)
        if delay is None:
            return
        if at + delay > self.now:
            self._expect(journey, "meeting", due_at=at + delay)
        else:
            self.sheet.count(cell._replace(day=day_of(at + delay)), "meetings")
