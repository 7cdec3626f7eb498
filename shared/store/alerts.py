"""Alerts: who takes care of each, when people are reminded, and how what it is about stands.

The first click wins: each act is one UPDATE of an alert that is in a state which allows it, by the table of
`shared.domain.reply_states`. A reply waits for a claim while `waiting_since` is set.

When an alert is looked at for reminders is a job of the kind `remind`, put when its card is sent and after each act;
`looks` says when to look again. Reminders are planned in the transaction that marks them in the alert's row, so that
each is planned once, with any number of processes and crashes.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

import sqlalchemy as sa

from shared.domain.alert import Alert
from shared.domain.dns_facts import in_dns
from shared.domain.event_kinds import ACKNOWLEDGED, CLAIMABLE, DNS, INTERESTED, PAUSED
from shared.domain.reply_states import ACK, State, states_for
from shared.domain.wall_clock import DAY, moment
from shared.frozen import frozen
from shared.guardrails.rule import subject_key
from shared.records import Actor, AuditEntry
from shared.store import facts, jobs, messages
from shared.store.audit import add_entry
from shared.store.db.engine import Repository, Transaction, method, portions, reads, writes
from shared.store.db.schema import alerts, deliveries, literal, posts
from shared.store.facts import Fact
from shared.store.jobs import Job
from shared.store.messages import ALERT_ROWS, COLUMNS, OWN, Planned, PlannedPost, alert_of, read_alerts
from shared.store.post_kinds import ALERT, TRACE, TURN, UNACKNOWLEDGED, UNFINISHED

MOST_CLAIMED = 50
MAIL_SECONDS = 30.0
"""The longest time from a click on `Claim & reply` to the visit that it causes."""
CLAIMED_WITHIN_SECONDS = 30 * DAY
"""A claim before that, never marked done, is not work that anybody waits for."""
NAMED_WITHIN_SECONDS, MOST_NAMED = 30 * DAY, 2_000
"""The time in which a done reply can be reopened by its name, and the replies that are searched for a name."""
PASSES = 1
"""The number of times that a reply passes to another person before it is the group's."""
BACK, ASKED = "back", "asked"
"""An ended snooze of an unclaimed reply, and the reminder that the owner of a claimed one asked for."""
TOGETHER_SECONDS = 5.0
"""Reminders that are due within this time are planned together: many at once become one message."""
LONGEST_REMINDER_SECONDS = 4 * 3600.0
"""Between two reminders of one paused domain, at most."""
PAUSED_SECONDS = 21 * DAY
"""The age after which the card of a paused domain is left as it is, and nobody looks any more whether it is over."""
MOVED = json.dumps({"moved": True})
"""The state of a card about DNS, once the card of the domain's pause shows it instead."""
NAME_LETTERS = 300
"""Letters of a sequence's name that are kept with an alert."""


@frozen
class Candidates:
    """The people who may get the turn of a reply, as the settings, the clock and Slack have it."""

    rota: str
    people: tuple[str, ...]
    """The people in the order in which they take turns."""
    gone: frozenset[str] = frozenset()
    """The people who aren't members any more."""
    names: Mapping[str, str] = field(default_factory=dict)
    group: str = ""
    """The group that is mentioned when it is nobody's turn."""
    pass_after: float | None = None
    quiet_until: float | None = None
    """Nobody is mentioned before, so nothing passes on either."""

    def ends_at(self, now: float) -> float | None:
        """The time at which a turn passes on that begins now."""
        return None if self.pass_after is None else (self.quiet_until or now) + self.pass_after


@frozen
class Turn:
    """The turn of a reply; without an owner it is the group's."""

    owner: str = ""
    name: str = ""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that the alert's row keeps of it."""
        return {"owner": self.owner, "owner_name": self.name}


@frozen
class AlertChange:
    """An alert after an act, and whether the act changed it."""

    alert: Alert
    changed: bool


@frozen
class Trace:
    """The note about a change in the card's thread, and whom it mentions."""

    note: str
    mention: str = ""
    channel: str = ""
    """The channel of the mention, if that isn't the first card's: who is mentioned must be able to read it."""


WriteTrace = Callable[[Alert], Trace]
"""Words the trace of a change, given how the alert stood before it. Pure: it runs inside the transaction."""


@frozen
class Due:
    """A reminder that is due in the thread of an alert's card in one channel."""

    alert: Alert
    channel: str
    what: str
    """remind, escalate, back (from a snooze), asked (by its owner), unfinished (claimed, and not done), unacknowledged, or turn."""
    mention: str = ""
    round: int = 0
    """The number of changes of its card, and of reminders of its domain, before: for all time."""
    bundled: bool = False
    """Its card shares a message with others."""
    missed_by: str = ""
    """The name of the person whose turn has passed on; empty: it was nobody's."""
    candidates: Candidates | None = None
    """The people who could get the turn that has passed on; None: it is another reminder."""


@frozen
class ReminderTimes:
    """The seconds after which a person is reminded; None for never."""

    remind: float | None = None
    escalate: float | None = None
    unfinished: float | None = None


@frozen
class ReminderWords:
    """The functions that word what is due, and name who may get a turn. Pure."""

    times: ReminderTimes
    plan: Callable[[Sequence[Due], float], Planned]
    candidates: Callable[[Alert, float], Candidates | None]
    """It gives None where the alert's rota isn't in the settings any more."""


# The conditions of indexes, and with literals, because a database uses a partial index only in its very words.
_c = alerts.c
_IS_FREE = _c.claimed_by == literal("")
_IS_CLAIMED = _c.claimed_by != literal("")
_IS_OPEN = _c.handled_at.is_(None)
IN_STATE: Mapping[State, sa.ColumnElement[bool]] = {
    State.DONE: _c.handled_at.is_not(None),
    State.CLAIMED: _IS_CLAIMED & _IS_OPEN,
    State.SNOOZED: _IS_FREE & _IS_OPEN & _c.snoozed_until.is_not(None),
    State.UNCLAIMED: _IS_FREE & _IS_OPEN & _c.snoozed_until.is_(None),
}
"""The states of a reply in the words of the database, as `Alert.state` has them."""
IS_INTERESTED = _c.kind == literal(INTERESTED)
_IS_CLAIMABLE = _c.kind.in_(CLAIMABLE)
_HAS_ROTA = _c.rota != literal("")
_ASLEEP: Mapping[str, Any] = {"waiting_since": None, "turn_ends_at": None}
"""Nobody is to be reminded of it, and it passes to nobody."""
_NOT_SNOOZED: Mapping[str, Any] = {"snoozed_until": None, "snoozed_name": "", "snoozed_by": ""}
_OLDEST = (_c.received_at, _c.id)
NO_TURN = Turn().columns
CLAIMED_BY = (
    ALERT_ROWS.where(_c.claimed_by == sa.bindparam("person"), IN_STATE[State.CLAIMED])
    .order_by(_c.claimed_at.desc())
    .limit(MOST_CLAIMED)
)
"""The alerts that a person has claimed and not marked done, the newest claim first."""


def is_unclaimed(workspace: str) -> sa.ColumnElement[bool]:
    """The interested replies that wait for a claim."""
    return (_c.workspace == workspace) & IS_INTERESTED & _c.waiting_since.is_not(None)


def count_unclaimed(tx: Transaction, workspace: str) -> tuple[int, float | None]:
    """Count the interested replies that wait for a claim; also when the oldest came."""
    query = sa.select(sa.func.count(), sa.func.min(_c.received_at)).where(is_unclaimed(workspace))
    count, oldest = tx.execute(query).one()
    return count, oldest


def _cards_of(alert: str) -> sa.Select[Any]:
    """The channels with a card of an alert, the first first, each with its workspace, newest version and `ts`."""
    newest = (sa.func.max(posts.c[name]).label(name) for name in ("version", "ts"))
    cards = sa.select(posts.c.channel, posts.c.workspace, *newest)
    cards = cards.where(posts.c.alert_id == alert, posts.c.kind == ALERT)
    return cards.group_by(posts.c.channel, posts.c.workspace).order_by(sa.func.min(posts.c.id))


def _key(actor: Actor) -> str:
    """The id of a user of Slack, or a name where there is none."""
    return actor.id or actor.name


def find(tx: Transaction, alert: str) -> Alert | None:
    """The state of an alert; None if it doesn't exist."""
    return next(iter(read_alerts(tx, ALERT_ROWS.where(_c.id == alert))), None)


def update_subject(
    tx: Transaction,
    alert: str,
    standing: str,
    *,
    note: PlannedPost | None = None,
    recovered: bool = False,
    held_until: Callable[[str], float | None] = lambda _channel: None,
) -> bool:
    """Store the state of an alert's subject; False: there is no such alert, or it has that state.

    `held_until`: until when a note waits in a channel.
    """
    is_news = _c.recovered_at.is_(None) if recovered else _c.standing != standing
    values = {"standing": standing, **({"recovered_at": tx.now} if recovered else {})}
    if not tx.update(alerts, (_c.id == alert) & is_news, **values):
        return False
    messages.repaint(tx, [alert])
    if note is None:
        return True
    for card in tx.execute(_cards_of(alert)).all():
        in_channel = replace(
            note,
            channel=card.channel,
            dedupe=f"{note.dedupe}:{card.channel}",
            alert_id=alert,
            held_until=held_until(card.channel),
        )
        messages.plan(tx, [(card.workspace, in_channel)])
    return True


class Alerts(Repository):
    """Alerts, what people do with them, and what follows for their cards."""

    find = reads(method(find))
    update = writes(method(update_subject))

    @writes
    def act(
        self,
        tx: Transaction,
        alert: str,
        verb: str,
        actor: Actor,
        *,
        until: float = 0.0,
        reason: str = "",
        instead_of: str = "",
        person: Actor | None = None,
        trace: WriteTrace | None = None,
        line: str = "",
        about: str = "",
    ) -> AlertChange | None:
        """Do what a person does with an alert, if its state allows it; None if it doesn't exist.

        `until`: the end of a snooze, or the time of a reminder. `person`: to whom it is assigned. A colleague's
        alert is changed only if the colleague is `instead_of`: whoever was faster keeps what they did. `line` and
        `about` are the words of its entry in the audit.
        """
        owner = person or actor
        taken = (_c.claimed_by == instead_of) & (_c.claimed_by != _key(owner))
        whose: Mapping[str, sa.ColumnElement[bool]] = {
            "takeover": taken,
            "assign": taken,
            "reopen": sa.true(),
            "wake": _c.snoozed_until.is_not(None),  # nobody loses anything, and there may be no reminder
            ACK: _c.kind.in_(ACKNOWLEDGED) & _c.acked_at.is_(None) & _c.recovered_at.is_(None),
        }
        mine = _c.claimed_by.in_(("", _key(actor), instead_of))
        allowed = sa.or_(*(IN_STATE[state] for state in states_for(verb)))
        which = (_c.id == alert) & allowed & whose.get(verb, mine)
        before = find(tx, alert) if trace else None
        values = _values(tx, verb, actor, owner=owner, until=until, reason=reason)
        changed = tx.update(alerts, which, **values) > 0
        after = find(tx, alert)
        if after is None or not changed:
            return AlertChange(alert=after, changed=False) if after else None
        # The person sees it before all others.
        messages.repaint(tx, [alert], clicked=True)
        jobs.put(tx, "remind", alert, how="sooner")
        # What quiet hours hold and nobody needs any more: whose turn it was, that it isn't done.
        moot = [TURN] * (after.waiting_since is None) + [UNFINISHED] * (after.state is State.DONE)
        held = (posts.c.alert_id == alert) & posts.c.kind.in_(moot) & (posts.c.state == "held")
        tx.delete(posts, held)
        if trace and before:
            _leave(tx, before, trace(before))
        if line:
            at, workspace = moment(tx.now), after.workspace
            entry = AuditEntry(at=at, actor=actor, workspace=workspace, command=line, result=about)
            add_entry(tx, entry)
        return AlertChange(alert=after, changed=True)

    @writes
    def expect_visit(self, tx: Transaction, alert: str, actor: Actor) -> bool:
        """Have the next visit of who clicked `Claim & reply` open their mail program; False if it isn't theirs."""
        own = (_c.id == alert) & (_c.claimed_by == _key(actor)) & IN_STATE[State.CLAIMED]
        return tx.update(alerts, own, mail_until=tx.now + MAIL_SECONDS) == 1

    @writes
    def take_visit(self, tx: Transaction, alert: str) -> bool:
        """Take a visit that is expected, once for each click: the next visit is someone else's."""
        expected = (_c.id == alert) & (_c.mail_until > tx.now)
        return tx.update(alerts, expected, mail_until=None) == 1

    @reads
    def in_message(self, tx: Transaction, places: Collection[str], ts: str) -> Alert | None:
        """The alert that a message shows; None where it shows none, or several."""
        where = posts.c.channel.in_(places) & (posts.c.ts == ts) & (posts.c.alert_id != "")
        names = tx.scalars(sa.select(posts.c.alert_id).where(where).distinct().limit(2)).all()
        return find(tx, names[0]) if len(names) == 1 else None

    @reads
    def cards(self, tx: Transaction, alert: str) -> Mapping[str, str]:
        """The channels that have a card of an alert, the first first, with its `ts`, which is empty until it is posted."""
        return {card.channel: card.ts for card in tx.execute(_cards_of(alert))}

    @reads
    def standings(self, tx: Transaction, workspace: str, *, most: int) -> tuple[int, Sequence[Alert]]:
        """Count the unclaimed; also list, without their words, `most` of the unclaimed, the snoozed and the claimed."""
        here = (_c.workspace == workspace) & IS_INTERESTED
        lately = _c.claimed_at.is_not(None) & (_c.claimed_at > tx.now - CLAIMED_WITHIN_SECONDS)
        queries = (
            sa.select(*OWN).where(is_unclaimed(workspace)).order_by(*_OLDEST),
            sa.select(*OWN).where(here, IN_STATE[State.SNOOZED]).order_by(_c.snoozed_until, _c.id),
            sa.select(*OWN)
            .where(here, lately, IN_STATE[State.CLAIMED])
            .order_by(_c.claimed_at.desc(), _c.id),
        )
        count, _ = count_unclaimed(tx, workspace)
        return count, [row for query in queries for row in read_alerts(tx, query.limit(most))]

    @reads
    def with_words(self, tx: Transaction, ids: Sequence[str]) -> Mapping[str, Alert]:
        """The alerts of these ids with their deliveries."""
        queries = [ALERT_ROWS.where(_c.id.in_(some)) for some in portions(ids)]
        return {row.id: row for query in queries for row in read_alerts(tx, query)}

    @reads
    def candidates(self, tx: Transaction, workspace: str, person: str, *, done: bool) -> Sequence[Alert]:
        """The replies that a line may name, with their words, the newest first: open ones, or those done lately.

        What the person has claimed is among them whatever its kind.
        """
        when = _c.handled_at > tx.now - NAMED_WITHIN_SECONDS if done else _IS_OPEN
        query = ALERT_ROWS.where(_c.workspace == workspace, IS_INTERESTED, when)
        named = read_alerts(tx, query.order_by(_c.received_at.desc(), _c.id).limit(MOST_NAMED))
        own = [] if done else read_alerts(tx, CLAIMED_BY, {"person": person})
        return list({row.id: row for row in (*own, *named) if row.workspace == workspace}.values())

    @writes
    def remind(self, tx: Transaction, claimed: Sequence[Job], words: ReminderWords) -> int:
        """Plan the reminders that are due, and put off their jobs; returns how many messages there will be."""
        ids = [job.key for job in claimed]
        sent = {row.alert_id: row.at for row in tx.execute(_FIRST_SENT, {"ids": ids})}
        due: defaultdict[str, list[str]] = defaultdict(list)
        reminders: list[Due] = []
        for alert in read_alerts(tx, _LOCKED, {"ids": ids}):
            for what in (what for what, at in _looks(alert, words.times, sent).items() if at <= tx.now):
                if what == TURN:
                    candidates = words.candidates(alert, tx.now)
                    reminders += _pass_on(tx, alert, candidates, shown_at=sent[alert.id])
                else:
                    due[what].append(alert.id)
                    tx.update(alerts, _c.id == alert.id, **_marked(tx, alert, what, words.times))
        messages.repaint(
            tx, [name for what, names in due.items() if what != UNACKNOWLEDGED for name in names]
        )
        for what, names in due.items():
            reminders += _posted_cards(tx, what, names)
        planned = words.plan(reminders, tx.now)
        messages.plan(tx, planned)
        _put_off(tx, claimed, sent, words.times)
        return len(planned)

    @writes
    def note_times(self, tx: Transaction, times: ReminderTimes) -> None:
        """Have all open alerts looked at where these times aren't those that were in force before."""
        before = facts.find(tx, "times", "")
        if before is None or before.value != asdict(times):
            facts.put(tx, "times", "", asdict(times))
            jobs.wake_all(tx, "remind")

    @reads
    def paused_domains(self, tx: Transaction, workspace: str) -> Sequence[Alert]:
        """Paused domains that have not recovered, the newest first."""
        return open_cards(tx, workspace, (PAUSED,))

    @writes
    def take_dns(self, tx: Transaction, workspace: str, domain: str) -> None:
        """Let the card of a domain's broken DNS point to that of its pause, which shows it from now on."""
        for row in open_cards(tx, workspace, (DNS,)):
            if in_dns(row.domain) == in_dns(domain):
                update_subject(tx, row.id, MOVED, recovered=True)


def _values(
    tx: Transaction, verb: str, actor: Actor, *, owner: Actor, until: float, reason: str
) -> dict[str, Any]:
    """The values that an act gives an alert that allows it."""
    snoozed = {"snoozed_until": until, "snoozed_name": actor.name, "snoozed_by": actor.id}
    claimed = {
        "claimed_by": _key(owner),
        "claimed_name": owner.name,
        "claimed_at": tx.now,
        "assigned_name": "",
        "worked_since": tx.now,
        "claim_nudges": 0,
        "mail_until": None,
        **_ASLEEP,
        **_NOT_SNOOZED,
    }
    handled = {
        "handled_name": actor.name,
        "handled_at": tx.now,
        "closed_reason": reason,
        "nudges": 0,
        **_ASLEEP,
        **_NOT_SNOOZED,
    }
    released = {
        "claimed_by": "",
        "claimed_name": "",
        "claimed_at": None,
        "assigned_name": "",
        # Its next turn is someone else's, and begins at once.
        "passed": sa.func.trim(_c.passed + " " + _c.claimed_by),
        **NO_TURN,
        **_NOT_SNOOZED,
        **_unclaimed(tx, which=_IS_CLAIMABLE),
    }
    reopened = {
        "handled_name": "",
        "handled_at": None,
        "closed_reason": "",
        # It is unclaimed again unless a person has it, who is reminded again, and not at once.
        "worked_since": tx.now,
        "claim_nudges": 0,
        "passed": "",
        **NO_TURN,
        **_unclaimed(tx),
    }
    values: Mapping[str, dict[str, Any]] = {
        "claim": claimed,
        "takeover": claimed,
        "assign": {**claimed, "assigned_name": actor.name},
        "release": released,
        "snooze": {**snoozed, **_ASLEEP},
        "remind": snoozed,
        "wake": {**_NOT_SNOOZED, **_unclaimed(tx)},
        "done": handled,
        "dismiss": handled,
        "reopen": reopened,
        ACK: {"acked_name": actor.name, "acked_at": tx.now, "ack_due_at": None},
    }
    return values[verb]


def _unclaimed(
    tx: Transaction, *, which: sa.ColumnElement[bool] = _IS_CLAIMABLE & _IS_FREE
) -> dict[str, Any]:
    """A reply waits for a claim from now on, and the turn of its rota begins again."""
    waits = sa.case((which, tx.now), else_=None)
    return {"waiting_since": waits, "turn_ends_at": sa.case((_HAS_ROTA, waits), else_=None), "nudges": 0}


def _leave(tx: Transaction, before: Alert, trace: Trace) -> None:
    """Plan the trace in the thread of each of the alert's cards; one of them mentions who is to know."""
    cards = tx.execute(_cards_of(before.id).where(posts.c.state == "sent")).all()
    mentions = next((card.channel for card in cards if trace.channel in {"", card.channel}), "")
    for card in cards:
        planned = PlannedPost(
            dedupe=f"{before.id}:{card.channel}:{TRACE}:{card.version}",
            channel=card.channel,
            kind=TRACE,
            note=trace.note,
            condensed=True,
            mention=trace.mention if card.channel == mentions else "",
            alert_id=before.id,
        )
        messages.plan(tx, [(card.workspace, planned)])


def _looks(alert: Alert, times: ReminderTimes, sent: Mapping[str, float]) -> Mapping[str, float]:
    """The times at which the reminders of an alert are due, as the alert stands.

    Those that follow its card are none before it is in a channel, as `sent` has it.
    """
    due: dict[str, float | None] = {ASKED if alert.claimed_by else BACK: alert.snoozed_until}
    since, is_shown = alert.waiting_since, alert.id in sent
    if is_shown and since is not None:
        due[TURN] = alert.turn_ends_at
        # A turn that passes on is a reminder.
        if alert.nudges == 0 and alert.turn_ends_at is None and times.remind is not None:
            due["remind"] = since + times.remind
        if alert.nudges == 1 and times.escalate is not None:
            due["escalate"] = since + times.escalate
    is_mine = is_shown and alert.state is State.CLAIMED and alert.claim_nudges == 0
    if is_mine and alert.worked_since is not None and times.unfinished is not None:
        due[UNFINISHED] = alert.worked_since + times.unfinished
    if is_shown and times.remind is not None and alert.acked_at is None and alert.recovered_at is None:
        due[UNACKNOWLEDGED] = alert.ack_due_at
    return {what: at for what, at in due.items() if at is not None}


_IDS: sa.BindParameter[Any] = sa.bindparam("ids", expanding=True)
_LOCKED = ALERT_ROWS.where(_c.id.in_(_IDS)).order_by(_c.id).with_for_update(of=alerts)
_SENT_CARD = posts.c.alert_id.in_(_IDS) & (posts.c.kind == ALERT) & (posts.c.state == "sent")
_FIRST_SENT = (
    sa.select(posts.c.alert_id, sa.func.min(posts.c.sent_at).label("at"))
    .where(_SENT_CARD)
    .group_by(posts.c.alert_id)
)
_CARDS = (
    sa.select(*(posts.c[name] for name in ("channel", "mention", "version", "bundle")), *COLUMNS)
    .join(alerts, _c.id == posts.c.alert_id)
    .join(deliveries, deliveries.c.id == _c.delivery_id)
    .where(_SENT_CARD)
    .order_by(posts.c.id)
)


def _posted_cards(tx: Transaction, what: str, ids: Sequence[str]) -> Iterable[Due]:
    """A reminder for each card of these alerts that is in a channel."""
    for channel, mention, version, bundle, *values in tx.execute(_CARDS, {"ids": [*ids]}):
        alert = alert_of(values)
        yield Due(
            alert=alert,
            channel=channel,
            what=what,
            mention=mention,
            round=version + alert.ack_reminders,
            bundled=bundle != "",
        )


def _marked(tx: Transaction, alert: Alert, what: str, times: ReminderTimes) -> Mapping[str, Any]:
    """The values that a reminder leaves in the row; by whom a reply was snoozed stays written."""
    if what == UNACKNOWLEDGED:
        pause = (times.remind or 0.0) * 2.0 ** min(alert.ack_reminders + 1, 16)
        later = tx.now + min(LONGEST_REMINDER_SECONDS, pause)
        return {"ack_due_at": later, "ack_reminders": alert.ack_reminders + 1}
    marks = {"remind": {"nudges": 1}, "escalate": {"nudges": 2}, UNFINISHED: {"claim_nudges": 1}}
    return marks.get(what) or {"snoozed_until": None, **_unclaimed(tx)}


def _put_off(
    tx: Transaction, claimed: Sequence[Job], sent: Mapping[str, float], times: ReminderTimes
) -> None:
    """Have each alert looked at when its next reminder is due; it sleeps until an act where none is."""
    rows = {row.id: row for row in read_alerts(tx, _LOCKED, {"ids": [job.key for job in claimed]})}
    for job in sorted(claimed, key=lambda job: job.key):
        alert = rows.get(job.key)
        due = _looks(alert, times, sent) if alert else {}
        # A reply that isn't done, and an incident that may need a reminder, are looked at again, as settings and people go.
        is_open = alert and (
            alert.state is not State.DONE
            if alert.kind in CLAIMABLE
            else alert.ack_due_at is not None and alert.acked_at is None and alert.recovered_at is None
        )
        if not (is_open or due) and jobs.done(tx, job):
            continue
        after = None
        if due:
            at = math.ceil(min(due.values()) / TOGETHER_SECONDS) * TOGETHER_SECONDS
            after = max(0.0, at - tx.now)
        jobs.again(tx, job, after=after)


def _pass_on(
    tx: Transaction, alert: Alert, candidates: Candidates | None, *, shown_at: float
) -> Iterable[Due]:
    """Pass on a turn that is over, unless it began later than it seems; None: the rota isn't in the settings any more.

    `shown_at`: when the alert's first card was sent.
    """
    ends: float | None = None
    if candidates and candidates.quiet_until:
        ends = candidates.ends_at(tx.now)
    elif candidates and alert.owner:  # it began with the card, or with the end of a snooze
        ends = max(shown_at, alert.waiting_since or 0.0) + (candidates.pass_after or 0.0)
    if candidates is None or (ends is not None and ends > tx.now):
        tx.update(alerts, _c.id == alert.id, turn_ends_at=ends)
        return ()
    had = [*alert.passed.split(), *alert.owner.split()]
    in_rota = {*candidates.people}.intersection(had)
    turn = take(tx, candidates, passed=had) if len(in_rota) <= PASSES else Turn()
    ends_at = candidates.ends_at(tx.now) if turn.owner else None
    nudges = max(alert.nudges, 1)  # this was its reminder
    tx.update(
        alerts, _c.id == alert.id, passed=" ".join(had), turn_ends_at=ends_at, nudges=nudges, **turn.columns
    )
    # Of the cards whose route has the rota; others mention whom their own rule names.
    called = (posts.c.alert_id == alert.id) & (posts.c.kind == ALERT) & posts.c.mention.in_(had)
    cards = [due for due in _posted_cards(tx, TURN, [alert.id]) if due.mention in {"", *had}]
    tx.update(posts, called, mention=turn.owner or candidates.group)
    messages.repaint(tx, [alert.id])
    missed_by = alert.owner_name or alert.owner
    return [replace(due, missed_by=missed_by, candidates=candidates) for due in cards]


def open_cards(tx: Transaction, workspace: str, kinds: Collection[str]) -> Sequence[Alert]:
    """The alerts about a domain that are not over, the newest first, without their words."""
    since = _c.received_at > tx.now - PAUSED_SECONDS
    where = (_c.workspace == workspace) & since & _c.kind.in_(kinds) & _c.recovered_at.is_(None)
    return read_alerts(tx, sa.select(*OWN).where(where).order_by(_c.received_at.desc()))


def open_card(tx: Transaction, workspace: str, domain: str) -> Alert | None:
    """The alert of a domain's pause, or else of its broken DNS, while it is not over; `domain` in small letters."""
    # In Python: a domain is compared by its key everywhere, which a database can't compute.
    cards = [
        row
        for row in open_cards(tx, workspace, (PAUSED, DNS))
        if domain in {subject_key(row.domain), in_dns(row.domain)}
    ]
    return min(cards, key=lambda row: row.kind != PAUSED, default=None)


# -- the turns of replies, and the absences of people

# A turn is chosen in the transaction that plans its posts, so that no crash skips or doubles it. Who had the last turn of
# a rota is a fact, which is locked until the choice is committed.


def take(tx: Transaction, candidates: Candidates, *, passed: Collection[str] = ()) -> Turn:
    """Choose the next turn and write it down; it is nobody's where all are away or had it before."""
    away = {absence.key for absence in facts.listed(tx, "absence") if _lasts(absence, now=tx.now)}
    free = {*candidates.people} - candidates.gone - away - {*passed}
    if not free:
        return Turn()
    people, last = candidates.people, str(facts.lock(tx, "rota", candidates.rota).get("last", ""))
    start = people.index(last) + 1 if last in people else 0
    owner = next((one for one in (*people[start:], *people[:start]) if one in free), "")
    facts.put(tx, "rota", candidates.rota, {"last": owner})
    return Turn(owner=owner, name=candidates.names.get(owner, ""))


class Turns(Repository):
    """People who say that they are away."""

    @writes
    def leave(self, tx: Transaction, person: Actor, *, until: float | None) -> None:
        """Write down that a person is away, and have their turns passed on; None: until they say that they are back."""
        facts.put(tx, "absence", person.id, at=until)
        mine = (_c.owner == person.id) & _c.turn_ends_at.is_not(None)
        passed = sa.func.trim(_c.passed + " " + _c.owner)
        over = sa.update(alerts).where(mine).values(turn_ends_at=tx.now, passed=passed, **NO_TURN)
        jobs.put(tx, "remind", *tx.scalars(over.returning(_c.id)), how="sooner")

    @writes
    def come_back(self, tx: Transaction, person: str) -> bool:
        """Write down that a person is back; False if they weren't away."""
        absence = facts.find(tx, "absence", person)
        return facts.drop(tx, "absence", person) and absence is not None and _lasts(absence, now=tx.now)


def _lasts(absence: Fact, *, now: float) -> bool:
    return absence.at is None or absence.at > now
