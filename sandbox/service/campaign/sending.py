"""Sends what is due: each inbox uses its slots in turn, follow-ups before new leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, ScalarSelect, bindparam, insert, select, update

from sandbox.service.base.clock import day_of
from sandbox.service.base.schema import inboxes, leads, responses, sequences
from sandbox.service.campaign import rules
from sandbox.service.campaign.daily_counts import Cell, CountBuffer
from sandbox.service.campaign.rules import Window
from sandbox.service.campaign.scenarios import Scenario


def _of_first_follow_up(column: Column[int]) -> ScalarSelect[int]:
    """A column of the follow-up that an inbox sends next, read along with the inbox; mostly it is all it needs."""
    return (
        select(column)
        .where(
            leads.c.sequence_pk == inboxes.c.sequence_pk,
            leads.c.inbox_pk == inboxes.c.pk,
            leads.c.due_at <= bindparam("until"),
        )
        .order_by(leads.c.due_at, leads.c.pk)
        .limit(1)
        .correlate(inboxes)
        .scalar_subquery()
    )


_DUE_INBOXES = (
    select(
        inboxes,
        _of_first_follow_up(leads.c.pk).label("follow_up"),
        _of_first_follow_up(leads.c.step).label("follow_up_step"),
        sequences.c.status.label("sequence_status"),
        sequences.c.steps,
        sequences.c.opens,
        sequences.c.closes,
        sequences.c.weekdays,
        sequences.c.appeal,
    )
    .join(sequences, sequences.c.pk == inboxes.c.sequence_pk)
    .where(inboxes.c.next_slot_at <= bindparam("until"))
    .order_by(inboxes.c.next_slot_at, inboxes.c.pk)
)
_WAITING = select(leads.c.pk, leads.c.step).where(
    leads.c.sequence_pk == bindparam("sequence"), leads.c.due_at <= bindparam("until")
)
_FOLLOW_UPS = (
    _WAITING.where(leads.c.inbox_pk == bindparam("inbox"))
    .order_by(leads.c.due_at, leads.c.pk)
    .limit(bindparam("room"))
)
_NEW = (
    _WAITING.where(leads.c.inbox_pk.is_(None)).order_by(leads.c.due_at, leads.c.pk).limit(bindparam("room"))
)
_SENT = (
    update(leads)
    .where(leads.c.pk == bindparam("lead"))
    .values(step=bindparam("at_step"), due_at=bindparam("next_due"), inbox_pk=bindparam("inbox"))
)
_MOVE_ON = update(inboxes).where(inboxes.c.pk == bindparam("inbox")).values(next_slot_at=bindparam("slot"))


class Waiting(NamedTuple):
    """A lead that is due, and the steps it was sent so far."""

    pk: int
    step: int


@dataclass(slots=True, kw_only=True)
class Round:
    """The sends of one stretch of time, collected and then written in a few statements."""

    seed: int
    scenario: Scenario
    founded_at: float
    buffer: CountBuffer
    rooms: Counter[int] = field(default_factory=Counter)
    """How many slots the inboxes of each sequence have."""
    queues: dict[int, Iterator[Waiting]] = field(default_factory=dict)
    """The new leads of each sequence that no inbox has taken yet."""
    sent: list[dict[str, Any]] = field(default_factory=list)
    expected: list[dict[str, Any]] = field(default_factory=list)
    moved: list[dict[str, Any]] = field(default_factory=list)

    def run(self, connection: Connection, *, until: float) -> None:
        """Let every inbox that has a slot by `until` use it."""
        turns = [
            (inbox, self._slots(inbox, until=until))
            for inbox in connection.execute(_DUE_INBOXES, {"until": until}).all()
        ]
        for inbox, slots in turns:
            if inbox.sequence_status == "active" and inbox.status != "resting":
                waiting = self._waiting(connection, inbox, room=len(slots), until=until)
                for at, lead in zip(slots, waiting, strict=False):
                    self._send(lead, inbox, at=at)
        for statement, rows in (
            (_SENT, self.sent),
            (insert(responses), self.expected),
            (_MOVE_ON, self.moved),
        ):
            if rows:
                connection.execute(statement, rows)

    def _slots(self, inbox: Any, *, until: float) -> list[float]:
        window = Window.of(inbox)
        slots, slot = [], inbox.next_slot_at
        while slot <= until:
            slots.append(slot)
            slot = rules.next_slot(window, limit=inbox.daily_limit, after=slot, key=(self.seed, inbox.pk))
        self.moved.append({"inbox": inbox.pk, "slot": slot})
        self.rooms[inbox.sequence_pk] += len(slots)
        return slots

    def _waiting(self, connection: Connection, inbox: Any, *, room: int, until: float) -> list[Waiting]:
        """The leads for so many slots: follow-ups, then new leads that no other inbox has taken in this round."""
        found = []
        if inbox.follow_up is not None:
            found.append(Waiting(inbox.follow_up, inbox.follow_up_step))
            if room > 1:
                where = {"sequence": inbox.sequence_pk, "inbox": inbox.pk, "until": until, "room": room}
                found = [Waiting(*lead) for lead in connection.execute(_FOLLOW_UPS, where)]
        if len(found) < room:
            found += islice(self._new(connection, inbox.sequence_pk, until=until), room - len(found))
        return found

    def _new(self, connection: Connection, sequence: int, *, until: float) -> Iterator[Waiting]:
        queue = self.queues.get(sequence)
        if queue is None:
            where = {"sequence": sequence, "until": until, "room": self.rooms[sequence]}
            queue = (Waiting(*lead) for lead in connection.execute(_NEW, where).all())
            self.queues[sequence] = queue
        return queue

    def _send(self, lead: Waiting, inbox: Any, *, at: float) -> None:
        step = lead.step + 1
        variant = rules.variant_of(seed=self.seed, lead=lead.pk, step=step)
        cell = Cell(inbox.workspace_pk, day_of(at), inbox.sequence_pk, step, variant, inbox.pk)
        self.buffer.count(cell, "sends")
        result = rules.outcome(
            seed=self.seed,
            lead=lead.pk,
            step=step,
            variant=variant,
            day=cell.day,
            health=inbox.health,
            appeal=inbox.appeal * rules.mood(seed=self.seed, sequence=inbox.sequence_pk, day=cell.day),
            conditions=self.scenario.conditions(at - self.founded_at, domain=inbox.domain_pk),
        )
        due = None
        if result.kind != "silence":
            self._expect(lead, inbox, kind=result.kind, step=step, due_at=at + result.delay)
        elif step < inbox.steps:
            due = at + rules.step_gap(step)
        else:
            self._expect(lead, inbox, kind="completed", step=step, due_at=at + rules.FINISH_AFTER)
        self.sent.append({"lead": lead.pk, "at_step": step, "next_due": due, "inbox": inbox.pk})

    def _expect(self, lead: Waiting, inbox: Any, *, kind: str, step: int, due_at: float) -> None:
        self.expected.append(
            {"lead_pk": lead.pk, "inbox_pk": inbox.pk, "step": step, "kind": kind, "due_at": due_at}
        )
