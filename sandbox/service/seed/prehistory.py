"""Simulates the nine weeks before the first day in memory, by the campaign's rules."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from sqlalchemy import Connection

from sandbox.service.base.clock import DAY, HOUR, day_of
from sandbox.service.base.schema import responses
from sandbox.service.campaign import rules
from sandbox.service.campaign.daily_counts import Cell, CountBuffer
from sandbox.service.campaign.rows import insert_all
from sandbox.service.campaign.rules import Window

HISTORY_DAYS = 65
"""Enough for the last 30 days and the 30 before them, which reports compare."""
BACKED_DAYS = 30
"""Of so many days, today included, every count has its lead; it is the default range of GET /stats."""


@dataclass(slots=True, kw_only=True)
class LeadHistory:
    """One lead's way through a sequence so far."""

    serial: int
    sequence: int
    inbox: int
    created_at: float
    pk: int | None = None
    """Its row, where that is known beforehand; None for a lead that has been removed since."""
    step: int = 0
    status: str = "active"
    due_at: float | None = None
    last_active_at: float = 0.0
    """When something last happened to it: a send, a response or a meeting."""

    def note_activity(self, at: float) -> None:
        """Keep the newest moment: a meeting is played after the lead's later replies, but may come before them."""
        self.last_active_at = max(self.last_active_at, at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """A response that will show after the first day has begun."""

    history: LeadHistory
    kind: str
    due_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A response that showed before the first day."""

    history: LeadHistory
    kind: str
    step: int
    at: float


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
class Prehistory:
    """Plays senders day by day until `now`, and keeps histories, pending responses and counts."""

    seed: int
    now: float
    histories: list[LeadHistory] = field(default_factory=list)
    pending: list[Pending] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    buffer: CountBuffer = field(default_factory=CountBuffer)

    def insert_pending(self, connection: Connection) -> None:
        """The responses that are still to come, of leads that are still there."""
        rows = (
            {
                "lead_pk": one.history.pk,
                "inbox_pk": one.history.inbox,
                "step": one.history.step,
                "kind": one.kind,
                "due_at": one.due_at,
            }
            for one in self.pending
            if one.history.pk is not None
        )
        insert_all(connection, responses, rows)

    def simulate(self, sender: Sender) -> None:
        """Send from one inbox for all those weeks: follow-ups that are due first, else a new lead."""
        waiting: list[tuple[float, int, LeadHistory]] = []
        key = (self.seed, sender.inbox)
        slot = (day_of(self.now) - HISTORY_DAYS) * DAY
        until = min(self.now, sender.sends_until)
        while True:
            slot = rules.next_slot(sender.window, limit=sender.daily_limit, after=slot, key=key)
            if slot > until:
                break
            history = (
                heapq.heappop(waiting)[2] if waiting and waiting[0][0] <= slot else self._start(sender, slot)
            )
            self._send(history, sender, at=slot)
            if history.due_at is not None:
                heapq.heappush(waiting, (history.due_at, history.serial, history))

    def _start(self, sender: Sender, slot: float) -> LeadHistory:
        history = LeadHistory(
            serial=len(self.histories) + 1,
            sequence=sender.sequence,
            inbox=sender.inbox,
            created_at=slot - 6 * HOUR,
        )
        self.histories.append(history)
        return history

    def _send(self, history: LeadHistory, sender: Sender, *, at: float) -> None:
        history.step += 1
        history.due_at = None
        cell = self._cell(history, sender, at=at)
        self.buffer.count(cell, "sends")
        history.note_activity(at)
        result = rules.outcome(
            seed=self.seed,
            lead=-history.serial,  # rows count upwards from 1: the past rolls its own dice
            step=history.step,
            variant=cell.variant,
            day=cell.day,
            health=sender.health,
            appeal=sender.appeal * rules.mood(seed=self.seed, sequence=sender.sequence, day=cell.day),
        )
        if result.kind == "silence":
            self._wait(history, sender, at=at)
        elif at + result.delay > self.now:
            self.expect(history, result.kind, due_at=at + result.delay)
        else:
            self.settle(history, result.kind, steps=sender.steps, cell=cell, at=at + result.delay)

    def _cell(self, history: LeadHistory, sender: Sender, *, at: float) -> Cell:
        variant = rules.variant_of(seed=self.seed, lead=-history.serial, step=history.step)
        return Cell(sender.workspace, day_of(at), sender.sequence, history.step, variant, sender.inbox)

    def _wait(self, history: LeadHistory, sender: Sender, *, at: float) -> None:
        if history.step < sender.steps:
            history.due_at = at + rules.step_gap(history.step)
        else:
            self._finish(history, at=at)

    def _finish(self, history: LeadHistory, *, at: float) -> None:
        """All steps are sent: the lead is through unless an answer comes first."""
        done_at = at + rules.FINISH_AFTER
        if done_at > self.now:
            self.expect(history, "completed", due_at=done_at)
        else:
            history.status = "completed"
            self._record(history, "completed", at=done_at)

    def _record(self, history: LeadHistory, kind: str, *, at: float) -> None:
        history.note_activity(at)
        self.settled.append(Settled(history=history, kind=kind, step=history.step, at=at))

    def expect(self, history: LeadHistory, kind: str, *, due_at: float) -> None:
        """Let a response show after the first day has begun."""
        self.pending.append(Pending(history=history, kind=kind, due_at=due_at))

    def settle(self, history: LeadHistory, kind: str, *, steps: int, cell: Cell, at: float) -> None:
        """Let a response take effect: counts, status, and what follows from it later."""
        cell = cell._replace(day=day_of(at))
        self._record(history, kind, at=at)
        for what in rules.COUNTED[kind]:
            self.buffer.count(cell, what)
        if kind == "bounce_soft":
            history.step -= 1
            history.due_at = at + DAY
        elif kind == "ooo":
            away = rules.days_away(seed=self.seed, lead=-history.serial, step=history.step)
            if history.step < steps:
                history.due_at = at + DAY * away
            else:
                self._finish(history, at=at)
        if kind in rules.FINAL:
            history.status = rules.FINAL[kind]
        again = rules.writes_again(kind, seed=self.seed, lead=-history.serial, step=history.step)
        if again is not None and at + again.delay > self.now:
            self.expect(history, again.kind, due_at=at + again.delay)
        elif again is not None:
            self.settle(history, again.kind, steps=steps, cell=cell, at=at + again.delay)
        if kind in {"interested", "turned"}:
            self._book_meeting(history, cell, at=at)

    def _book_meeting(self, history: LeadHistory, cell: Cell, *, at: float) -> None:
        delay = rules.books_meeting(seed=self.seed, lead=-history.serial, step=history.step)
        if delay is None:
            return
        if at + delay > self.now:
            self.expect(history, "meeting", due_at=at + delay)
        else:
            history.note_activity(at + delay)
            self.buffer.count(cell._replace(day=day_of(at + delay)), "meetings")
