"""Who takes care of an alert: claims (the first click wins), snoozes and acknowledgements.

A note in the card's thread keeps what the card no longer shows: who released or took over the reply. A reply waits
while `waiting_since` is set. After each act, `shared.store.alerts.reminders` looks when a reminder is due.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from shared.api.event_kinds import ACKNOWLEDGED, CLAIMABLE
from shared.records.audit import Actor
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.schema import alerts, posts
from shared.store.queue import outbox
from shared.store.queue.alert_row import ALERT_ROWS, OWN, AlertChange, AlertRow, read_alerts
from shared.store.queue.cards import look_now
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import ALERT, TRACE, TURN, UNFINISHED
from shared.store.queue.posts import State


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The note about a change in the card's thread, and whom it mentions."""

    note: str
    mention: str = ""
    channel: str = ""
    """Where the mention is, if that isn't the first card: who is mentioned must be able to read it."""


WriteTrace = Callable[[AlertRow], Trace]
"""Words the trace of a change, given how the alert stood before it. Pure: it runs inside the transaction."""
MOST_CLAIMED = 50
MAIL_SECONDS = 30.0
"""After a click on `Claim & reply`, how long the visit that it causes may take to come."""
_CLAIMABLE = alerts.c.kind.in_(CLAIMABLE)
_NOT_SNOOZED: dict[str, Any] = {"snoozed_until": None, "snoozed_name": "", "snoozed_by": ""}
_AWAKE: dict[str, Any] = {**_NOT_SNOOZED, "nudges": 0}
_ASLEEP: dict[str, Any] = {"waiting_since": None, "turn_ends_at": None}
"""Nobody is to be reminded of it, and it passes to nobody."""
_NO_TURN: dict[str, Any] = {"owner": "", "owner_name": ""}
_BY_ID = ALERT_ROWS.where(alerts.c.id == sa.bindparam("alert"))
CLAIMED_BY = (
    ALERT_ROWS.where(alerts.c.claimed_by == sa.bindparam("person"))
    .where(alerts.c.claimed_by != sa.literal("", literal_execute=True), alerts.c.handled_at.is_(None))
    .order_by(alerts.c.claimed_at.desc())
    .limit(MOST_CLAIMED)
)


def _of_rota(at: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """When a turn is looked at that begins anew; never where the alert follows no rota."""
    return sa.case((alerts.c.rota != sa.literal("", literal_execute=True), at), else_=None)


class Alerts(Repository):
    """Alerts and who takes care of each."""

    @writes
    def claim(self, tx: Transaction, alert: str, actor: Actor) -> AlertChange | None:
        """Claim an alert for a person; None if it doesn't exist."""
        free = (alerts.c.claimed_by == "") & alerts.c.handled_at.is_(None)
        return _change(tx, alert, free, _taken(tx, actor))

    @writes
    def take_over(
        self, tx: Transaction, alert: str, actor: Actor, *, instead_of: str, trace: WriteTrace | None = None
    ) -> AlertChange | None:
        """Take over an alert from the person who has it, if that is `instead_of`; None if it doesn't exist."""
        theirs = alerts.c.claimed_by.not_in(("", _person(actor))) & (alerts.c.claimed_by == instead_of)
        return _change(tx, alert, theirs & alerts.c.handled_at.is_(None), _taken(tx, actor), trace=trace)

    @writes
    def expect_visit(self, tx: Transaction, alert: str, actor: Actor) -> bool:
        """Have the next visit of who clicked `Claim & reply` open their mail program; False if it isn't theirs."""
        own = (alerts.c.id == alert) & (alerts.c.claimed_by == _person(actor)) & alerts.c.handled_at.is_(None)
        until = sa.update(alerts).where(own).values(mail_until=tx.now + MAIL_SECONDS)
        return tx.execute(until).rowcount == 1

    @writes
    def take_visit(self, tx: Transaction, alert: str) -> bool:
        """Whether a visit is expected, once for each click: the next visit is somebody else's."""
        expected = (alerts.c.id == alert) & (alerts.c.mail_until > tx.now)
        return tx.execute(sa.update(alerts).where(expected).values(mail_until=None)).rowcount == 1

    @writes
    def assign(
        self,
        tx: Transaction,
        alert: str,
        person: Actor,
        *,
        by: Actor,
        instead_of: str = "",
        trace: WriteTrace | None = None,
    ) -> AlertChange | None:
        """Give an alert to a person: one that nobody has, or that `instead_of` has; None if it doesn't exist.

        Whoever was faster keeps what they did: it isn't taken from anybody else than who had it when it was offered.
        """
        theirs = (alerts.c.claimed_by == instead_of) & (alerts.c.claimed_by != person.id)
        values = _taken(tx, person) | {"assigned_name": by.name}
        return _change(tx, alert, theirs & alerts.c.handled_at.is_(None), values, trace=trace)

    @writes
    def release(
        self,
        tx: Transaction,
        alert: str,
        actor: Actor,
        *,
        instead_of: str = "",
        trace: WriteTrace | None = None,
    ) -> AlertChange | None:
        """Release an alert of the person's own, or of `instead_of`; None if it doesn't exist."""
        waits = sa.case((_CLAIMABLE & alerts.c.handled_at.is_(None), tx.now), else_=None)
        values = {
            "claimed_by": "",
            "claimed_name": "",
            "claimed_at": None,
            "assigned_name": "",
            "waiting_since": waits,
            **_AWAKE,
            # Its next turn is somebody else's, and begins at once.
            "passed": _with(alerts.c.claimed_by),
            **_turn_over(tx, when=waits.is_not(None)),
        }
        theirs = (alerts.c.claimed_by != "") & alerts.c.claimed_by.in_((_person(actor), instead_of))
        return _change(tx, alert, theirs, values, trace=trace)

    @writes
    def snooze(self, tx: Transaction, alert: str, actor: Actor, *, until: float) -> AlertChange | None:
        """Snooze an unclaimed alert; None if it doesn't exist."""
        open_ = (alerts.c.claimed_by == "") & alerts.c.handled_at.is_(None)
        values = {**_snoozed(actor, until), **_ASLEEP}
        return _change(tx, alert, open_, values)

    @writes
    def remind(self, tx: Transaction, alert: str, actor: Actor, *, until: float) -> AlertChange | None:
        """Have the person who claimed an alert reminded of it; None if it doesn't exist."""
        own = (alerts.c.claimed_by == _person(actor)) & alerts.c.handled_at.is_(None)
        return _change(tx, alert, own, _snoozed(actor, until))

    @writes
    def wake(self, tx: Transaction, alert: str) -> AlertChange | None:
        """End a snooze; None if the alert doesn't exist."""
        asleep = (alerts.c.id == alert) & alerts.c.snoozed_until.is_not(None)
        claimable = sa.case((_CLAIMABLE & (alerts.c.claimed_by == ""), tx.now), else_=None)
        values = {**_AWAKE, "waiting_since": claimable, "turn_ends_at": _of_rota(claimable)}
        return _change(tx, alert, asleep, values)

    @writes
    def handle(
        self,
        tx: Transaction,
        alert: str,
        actor: Actor,
        *,
        reason: str = "",
        instead_of: str = "",
        trace: WriteTrace | None = None,
    ) -> AlertChange | None:
        """Mark an alert done, or closed for a `reason`; None if it doesn't exist.

        It may be unclaimed, the person's own, or the claim of `instead_of`.
        """
        values = {
            **_AWAKE,
            "handled_name": actor.name,
            "handled_at": tx.now,
            "closed_reason": reason,
            **_ASLEEP,
        }
        whose = alerts.c.claimed_by.in_(("", _person(actor), instead_of))
        changed = _change(tx, alert, whose & alerts.c.handled_at.is_(None), values, trace=trace)
        if changed and changed.changed:
            late = (posts.c.alert_id == alert) & (posts.c.kind == UNFINISHED) & (posts.c.state == State.HELD)
            tx.execute(sa.delete(posts).where(late))
        return changed

    @writes
    def reopen(self, tx: Transaction, alert: str) -> AlertChange | None:
        """Reopen an alert: it is unclaimed again unless a person has it. None if it doesn't exist."""
        waits = sa.case((_CLAIMABLE & (alerts.c.claimed_by == ""), tx.now), else_=None)
        values = {
            "handled_name": "",
            "handled_at": None,
            "closed_reason": "",
            "waiting_since": waits,
            "worked_since": tx.now,  # who has it is reminded anew, and not at once
            "claim_nudges": 0,
            "nudges": 0,
            "passed": "",
            **_turn_over(tx, when=waits.is_not(None)),
        }
        return _change(tx, alert, alerts.c.handled_at.is_not(None), values)

    @reads
    def find(self, tx: Transaction, alert: str) -> AlertRow | None:
        """The state of an alert; None if it doesn't exist."""
        return _read(tx, alert)

    @reads
    def claimed_by(self, tx: Transaction, person: str) -> Sequence[AlertRow]:
        """The alerts that a person has claimed and not handled, the newest first."""
        return read_alerts(tx, CLAIMED_BY, {"person": person})

    @reads
    def in_message(self, tx: Transaction, places: Collection[str], ts: str) -> AlertRow | None:
        """The alert that a message shows; None where it shows none, or several."""
        where = posts.c.channel.in_(places) & (posts.c.ts == ts) & (posts.c.alert_id != "")
        found = tx.scalars(sa.select(posts.c.alert_id).where(where).distinct().limit(2)).all()
        return _read(tx, found[0]) if len(found) == 1 else None

    @reads
    def channels(self, tx: Transaction, alert: str) -> Sequence[str]:
        """The channels that have a card of an alert, posted or planned, the first first."""
        where = (posts.c.alert_id == alert) & (posts.c.kind == ALERT)
        query = sa.select(posts.c.channel).where(where).group_by(posts.c.channel)
        return tx.scalars(query.order_by(sa.func.min(posts.c.id))).all()

    @reads
    def messages(self, tx: Transaction, ids: Sequence[str]) -> Mapping[str, tuple[str, str]]:
        """Channel and `ts` of each alert's message, as far as it was posted."""
        where = posts.c.alert_id.in_(ids) & (posts.c.ts != "") & (posts.c.kind == ALERT)
        query = (
            sa.select(posts.c.alert_id, posts.c.channel, posts.c.ts).where(where).order_by(posts.c.id.desc())
        )
        return {row.alert_id: (row.channel, row.ts) for row in tx.execute(query)}


def _with(person: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    return sa.func.trim(alerts.c.passed + " " + person)


def _turn_over(tx: Transaction, *, when: sa.ColumnElement[bool]) -> dict[str, Any]:
    """It is nobody's turn, until it passes on with the next sweep."""
    return {**_NO_TURN, "turn_ends_at": sa.case((when, _of_rota(sa.literal(tx.now))), else_=None)}


def _person(actor: Actor) -> str:
    """Who has an alert: the id of a user of Slack, or a name where nobody gave one."""
    return actor.id or actor.name


def _snoozed(actor: Actor, until: float) -> dict[str, Any]:
    return {"snoozed_until": until, "snoozed_name": actor.name, "snoozed_by": actor.id}


def _taken(tx: Transaction, actor: Actor) -> dict[str, Any]:
    return {
        "claimed_by": _person(actor),
        "claimed_name": actor.name,
        "claimed_at": tx.now,
        "assigned_name": "",
        "worked_since": tx.now,
        "claim_nudges": 0,
        "mail_until": None,
        **_ASLEEP,
        **_NOT_SNOOZED,
    }


def _change(
    tx: Transaction,
    alert: str,
    which: sa.ColumnElement[bool],
    values: dict[str, Any],
    *,
    trace: WriteTrace | None = None,
) -> AlertChange | None:
    """Change an alert in the state that `which` describes, and have its messages redrawn."""
    before = _read(tx, alert) if trace else None
    changed = tx.execute(sa.update(alerts).where(alerts.c.id == alert, which).values(**values)).rowcount == 1
    if changed:
        outbox.repaint(tx, [alert], clicked=True)
        look_now(tx, [alert])
    if changed and trace and before:
        _leave(tx, before, trace(before))
    after = _read(tx, alert)
    if changed and after and after.rota and after.waiting_since is None:
        held = (posts.c.alert_id == alert) & (posts.c.kind == TURN) & (posts.c.state == State.HELD)
        tx.execute(sa.delete(posts).where(held))
    return None if after is None else AlertChange(alert=after, changed=changed)


def _leave(tx: Transaction, before: AlertRow, trace: Trace) -> None:
    """Plan the trace in the thread of each of the alert's cards; one of them mentions who is to know."""
    cards = sa.select(posts.c.channel, posts.c.workspace, sa.func.max(posts.c.version).label("version"))
    shown = (posts.c.alert_id == before.id) & (posts.c.kind == ALERT) & (posts.c.state == State.SENT)
    query = cards.where(shown).group_by(posts.c.channel, posts.c.workspace).order_by(sa.func.min(posts.c.id))
    found = tx.execute(query).all()
    mentions = next((card.channel for card in found if trace.channel in {"", card.channel}), "")
    for card in found:
        planned = PlannedPost(
            dedupe=f"{before.id}:{card.channel}:{TRACE}:{card.version}",
            channel=card.channel,
            kind=TRACE,
            urgency=2,
            note=trace.note,
            condensed=True,
            mention=trace.mention if card.channel == mentions else "",
            alert_id=before.id,
        )
        outbox.plan(tx, planned, workspace=card.workspace)


def _read(tx: Transaction, alert: str) -> AlertRow | None:
    return next(iter(read_alerts(tx, _BY_ID, {"alert": alert})), None)


class Acknowledgements(Repository):
    """Paused domains and who takes care of each."""

    @writes
    def acknowledge(self, tx: Transaction, alert: str, actor: Actor) -> AlertChange | None:
        """Put a person's name on it unless it has one; None if the paused domain doesn't exist."""
        which = (alerts.c.id == alert) & (alerts.c.kind.in_(ACKNOWLEDGED))
        free = which & alerts.c.acked_at.is_(None) & alerts.c.recovered_at.is_(None)
        taken = {"acked_name": actor.name, "acked_at": tx.now, "ack_due_at": None}
        changed = tx.execute(sa.update(alerts).where(free).values(**taken)).rowcount == 1
        if changed:
            outbox.repaint(tx, [alert], clicked=True)
            look_now(tx, [alert])
        row = next(iter(read_alerts(tx, sa.select(*OWN).where(which))), None)
        return None if row is None else AlertChange(alert=row, changed=changed)
