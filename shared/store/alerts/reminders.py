"""When an open alert is looked at next, and what is planned then: one job of the kind `remind` for each.

A job is put when the alert's card is sent and after each act; `looks` says when to look again. Reminders are planned
in the transaction that marks them in the alert's row, so that each is planned once, with any number of processes
and crashes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from shared.api.event_kinds import CLAIMABLE
from shared.store import facts, jobs
from shared.store.alerts import turns
from shared.store.alerts.turns import Passed
from shared.store.db.columns import NOW
from shared.store.db.engine import Repository, Transaction, writes
from shared.store.db.schema import alerts, posts
from shared.store.facts import TIMES
from shared.store.jobs import REMIND, Job
from shared.store.queue import outbox
from shared.store.queue.alert_row import ALERT_ROWS, AlertRow, Due, read_alerts
from shared.store.queue.cards import posted_cards
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import ALERT, UNACKNOWLEDGED
from shared.store.queue.posts import State
from shared.store.queue.turns import Candidates

BACK, TURN = "back", "turn"
TOGETHER_SECONDS = 5.0
"""What is due within so many seconds is looked at together: many reminders at once become one message."""
LONGEST_SECONDS = 4 * 3600.0
"""Between two reminders of one paused domain, at most."""

Planned = Sequence[tuple[str, PlannedPost]]
"""Messages to come, with their workspaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderTimes:
    """After how many seconds a person is reminded; None: never."""

    remind: float | None = None
    escalate: float | None = None
    unfinished: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderWords:
    """What is planned for what is due, and who may get a turn. Pure."""

    times: ReminderTimes
    due: Callable[[Sequence[Due], float], Planned]
    passed: Callable[[Sequence[Passed], float], Planned]
    candidates: Callable[[AlertRow, float], Candidates | None]
    """None where the alert's rota isn't in the settings any more."""


def looks(alert: AlertRow, times: ReminderTimes) -> Mapping[str, float]:
    """When each reminder of an alert is due, as the alert stands."""
    due: dict[str, float | None] = {BACK: alert.snoozed_until}
    if alert.waiting_since is not None:
        due[TURN] = alert.turn_ends_at
        if alert.nudges == 0 and alert.turn_ends_at is None:  # a turn that passes on is a reminder
            due["remind"] = _after(alert.waiting_since, times.remind)
        if alert.nudges == 1:
            due["escalate"] = _after(alert.waiting_since, times.escalate)
    if alert.claimed_by and alert.handled_at is None and alert.claim_nudges == 0:
        due["unfinished"] = _after(alert.worked_since, times.unfinished)
    if times.remind is not None and alert.acked_at is None and alert.recovered_at is None:
        due[UNACKNOWLEDGED] = alert.ack_due_at
    return {what: at for what, at in due.items() if at is not None}


def _after(since: float | None, seconds: float | None) -> float | None:
    return None if since is None or seconds is None else since + seconds


def is_open(alert: AlertRow) -> bool:
    """Whether a reminder of it may be due one day, as settings and people go."""
    if alert.kind in CLAIMABLE:
        return alert.handled_at is None
    return alert.ack_due_at is not None and alert.acked_at is None and alert.recovered_at is None


_OF = alerts.c.id.in_(sa.bindparam("ids", expanding=True))
_LOCKED = ALERT_ROWS.where(_OF).order_by(alerts.c.id).with_for_update(of=alerts)
_FIRST_SENT = (
    sa.select(posts.c.alert_id, sa.func.min(posts.c.sent_at).label("at"))
    .where(posts.c.alert_id.in_(sa.bindparam("ids", expanding=True)))
    .where(posts.c.kind == ALERT, posts.c.state == State.SENT)
    .group_by(posts.c.alert_id)
)
_IS_FREE = alerts.c.claimed_by == sa.literal("", literal_execute=True)
_WAITS_AGAIN = sa.case((alerts.c.kind.in_(CLAIMABLE) & _IS_FREE, NOW), else_=None)
_FOLLOWS_ROTA = _IS_FREE & (alerts.c.rota != sa.literal("", literal_execute=True))
_MARKED: Mapping[str, Mapping[str, Any]] = {
    BACK: {
        "snoozed_until": None,  # by whom it was snoozed stays written
        "nudges": 0,
        "waiting_since": _WAITS_AGAIN,
        "turn_ends_at": sa.case((_FOLLOWS_ROTA, NOW), else_=None),
    },
    "remind": {"nudges": 1},
    "escalate": {"nudges": 2},
    "unfinished": {"claim_nudges": 1},
}
_MARKS = {what: sa.update(alerts).where(_OF).values(**values) for what, values in _MARKED.items()}
_REMINDED = (
    sa.update(alerts)
    .where(alerts.c.id == sa.bindparam("alert"))
    .values(ack_due_at=sa.bindparam("next"), ack_reminders=alerts.c.ack_reminders + 1)
)


class Reminders(Repository):
    """Reminders that are due."""

    @writes
    def look(self, tx: Transaction, claimed: Sequence[Job], words: ReminderWords) -> int:
        """Plan what is due of these alerts, and put off their jobs; returns how many messages there will be."""
        ids = [job.key for job in claimed]
        sent = {row.alert_id: row.at for row in tx.execute(_FIRST_SENT, {"ids": ids})}
        marked: defaultdict[str, list[str]] = defaultdict(list)
        passed: list[Passed] = []
        for alert in read_alerts(tx, _LOCKED, {"ids": ids}):
            due = [what for what, at in _looks(alert, words.times, sent).items() if at <= tx.now]
            for what in due:
                if what == TURN:
                    candidates = words.candidates(alert, tx.now)
                    passed += turns.pass_on(tx, alert, candidates, sent[alert.id])
                else:
                    marked[what].append(alert.id)
                if what == UNACKNOWLEDGED:
                    pause = (words.times.remind or 0.0) * 2.0 ** min(alert.ack_reminders + 1, 16)
                    later = tx.now + min(LONGEST_SECONDS, pause)
                    tx.execute(_REMINDED, {"alert": alert.id, "next": later})
        for what, names in marked.items():
            if what in _MARKS:
                tx.execute(_MARKS[what], {"ids": names, "now": tx.now})
                outbox.repaint(tx, names)
        reminders = [one for what, names in marked.items() for one in posted_cards(tx, what, names)]
        planned = [*words.due(reminders, tx.now), *words.passed(passed, tx.now)]
        for workspace, post in planned:
            outbox.plan(tx, post, workspace=workspace)
        _put_off(tx, claimed, sent, words.times)
        return len(planned)

    @writes
    def note_times(self, tx: Transaction, times: ReminderTimes) -> None:
        """Have all open alerts looked at where these times aren't those that were in force before."""
        before = facts.find(tx, TIMES, "")
        if before is None or before.value != asdict(times):
            facts.put(tx, TIMES, "", asdict(times))
            jobs.wake_all(tx, REMIND)


def _looks(alert: AlertRow, times: ReminderTimes, sent: Mapping[str, float]) -> Mapping[str, float]:
    """The same as `looks`, without reminders that follow a card which isn't in any channel yet."""
    due = looks(alert, times)
    return due if alert.id in sent else {what: at for what, at in due.items() if what == BACK}


def _put_off(
    tx: Transaction, claimed: Sequence[Job], sent: Mapping[str, float], times: ReminderTimes
) -> None:
    """Have each alert looked at when its next reminder is due; it sleeps until an act where none is."""
    rows = {row.id: row for row in read_alerts(tx, _LOCKED, {"ids": [job.key for job in claimed]})}
    for job in sorted(claimed, key=lambda job: job.key):
        alert = rows.get(job.key)
        due = _looks(alert, times, sent) if alert else {}
        if (alert is None or not is_open(alert)) and not due and jobs.done(tx, job):
            continue
        after = None
        if due:
            at = math.ceil(min(due.values()) / TOGETHER_SECONDS) * TOGETHER_SECONDS
            after = max(0.0, at - tx.now)
        jobs.again(tx, job, after=after, attempts=0)
