"""Stored deliveries, processed once by the router: repeats are merged, and one reply has one card in each channel.

An arrival's row is itself the outbox of the next step: it is stored `pending`, which is lowered in the transaction
that finds out which delivery it is and writes the alert and its posts, so that no crash comes between.

The service reports a reply as `lead.replied`, and again with its classification, in whatever order. The most specific
event gets the card: a less specific one adds nothing, and a more specific one takes over the existing card.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from shared.api.event_kinds import ONLY_WITH_WORDS, PAUSED, REPLIES, kind_of
from shared.records.records import Subscription
from shared.store import facts, jobs, messages
from shared.store.db.columns import NOW
from shared.store.db.engine import Repository, Transaction, ValuesRefused, blames_values, probes
from shared.store.db.schema import alerts, deliveries, posts
from shared.store.facts import SUBSCRIPTION
from shared.store.jobs import DOMAIN, look_now
from shared.store.messages import PlannedPost, State
from shared.store.people import Candidates, Turn, take
from shared.store.post_kinds import ALERT, REPLACED, TURNED
from shared.store.queue import intake
from shared.store.queue.intake import alert_id

ERASED = "erased"
"""The problem of a delivery whose person was erased: sent again, it must not bring them back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDelivery:
    """A delivery with news: it is new, or it came again."""

    id: int
    alert_id: str
    workspace: str
    body: bytes
    found: bool
    received_at: float
    last_at: float
    seen: int
    is_new: bool
    arrivals: int = 1
    """How many of its arrivals were taken together."""
    alert: str | None = None
    """The alert that shows it already."""
    ended: str = ""
    """The alert of an incident that is over, which the same body has told of."""
    subscriptions: Sequence[Subscription] = ()
    """Those of its workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Same:
    """One delivery: the row that stays, and the arrivals that came after it."""

    first: sa.Row[Any]
    later: Sequence[sa.Row[Any]]
    there: bool
    """The router has looked at it before."""


def gather(tx: Transaction, *, limit: int) -> Sequence[PendingDelivery]:
    """Take up to `limit` unrouted arrivals, merged into deliveries, in the order they came."""
    arrived = tx.execute(CAME, {"limit": limit}).all()
    if not arrived:
        return ()
    by_key: defaultdict[bytes, list[sa.Row[Any]]] = defaultdict(list)
    for row in arrived:
        by_key[row.dkey].append(row)
    known = {row.dkey: row for row in tx.execute(THERE, {"keys": [*by_key]})}
    found = [_same(rows, known.get(key)) for key, rows in by_key.items()]
    _put_away(tx, surplus={row.id for row in arrived} - {one.first.id for one in found})
    erased = {row.dkey for row in known.values() if row.problem == ERASED}
    return [
        _merged(one, by_key[one.first.dkey])
        for one in found
        if (one.later or not one.there) and one.first.dkey not in erased
    ]


_ARRIVED = [
    deliveries.c[name] for name in ("id", "dkey", "workspace", "found", "received_at", "last_at", "seen")
]


CAME: sa.Select[Any] = (
    sa.select(*_ARRIVED, deliveries.c.body, sa.null().label("known"))
    .where(deliveries.c.pending)
    .order_by(deliveries.c.received_at, deliveries.c.id)
    .limit(sa.bindparam("limit", type_=sa.Integer))
    .with_for_update(skip_locked=True)
)
"""Unrouted arrivals that no other process has locked."""
THERE: sa.Select[Any] = (
    sa.select(*_ARRIVED, deliveries.c.problem, alerts.c.id.label("known"))
    .outerjoin(alerts, alerts.c.delivery_id == deliveries.c.id)
    .where(deliveries.c.dkey.in_(sa.bindparam("keys", expanding=True)), sa.not_(deliveries.c.pending))
    .order_by(deliveries.c.dkey)
    .with_for_update(of=deliveries)
)
"""Those that were looked at before, locked in one order for all processes."""


def _same(rows: Sequence[sa.Row[Any]], known: sa.Row[Any] | None) -> _Same:
    first, rest = (rows[0], rows[1:]) if known is None else (known, rows)
    return _Same(first=first, later=[row for row in rest if not row.found], there=known is not None)


def _put_away(tx: Transaction, *, surplus: Collection[int]) -> None:
    """An arrival after the first is counted, and leaves no row."""
    if surplus:
        tx.execute(sa.delete(deliveries).where(deliveries.c.id.in_(surplus)))


def _merged(one: _Same, arrived: Sequence[sa.Row[Any]]) -> PendingDelivery:
    row = one.first
    last_at = one.later[-1].received_at if one.later else row.last_at
    return PendingDelivery(
        id=row.id,
        alert_id=alert_id(row.dkey),
        workspace=row.workspace,
        body=arrived[-1].body,
        found=row.found,
        received_at=row.received_at,
        last_at=last_at,
        seen=row.seen + len(one.later),
        is_new=not one.there,
        arrivals=len(arrived),
        alert=row.known,
    )


UNKNOWN_AFTER = 21 * 86_400.0
"""Seconds after which nobody looks any more whether an incident is over."""
WITHIN = 3600.0
"""Seconds between two events of one reply, at most."""
COMPARED = 100
"""The newest alerts of a lead that an event is compared with; more than are routed at once. Whoever sends thousands of a
lead within the hour gets a card for an event whose reply has one behind all these, and holds up nobody else."""
UNNOTICED = 60.0
"""Seconds after which a card that turns into another one is announced in its thread: updates don't notify anyone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyCard:
    """A card that shows a reply, planned or posted."""

    workspace: str
    channel: str
    email: str
    kind: str
    reply: str
    """A hash of its text; empty where the event has none."""
    alert: str = ""
    id: int = 0
    state: str = ""
    sent_at: float | None = None

    def shows(self, other: ReplyCard) -> bool:
        """Whether both are of the same reply, in the same channel."""
        here = (self.workspace, self.channel, self.email) == (other.workspace, other.channel, other.email)
        if not (self.reply and other.reply):
            return here and not {self.kind, other.kind} & {*ONLY_WITH_WORDS}
        return here and self.reply == other.reply

    @property
    def says(self) -> int:
        return REPLIES[self.kind]


def lock(tx: Transaction, leads: Collection[tuple[str, str]]) -> None:
    """Let one process at a time decide on a lead's replies; SQLite has one writer in any case."""
    if not tx.is_postgresql:
        return
    names = (hashlib.sha256(f"{workspace}\0{email}".encode()).digest()[:8] for workspace, email in leads)
    for key in sorted(int.from_bytes(name, signed=True) for name in names):
        tx.execute(sa.select(sa.func.pg_advisory_xact_lock(key)))


def merge(
    tx: Transaction, rows: Sequence[dict[str, Any]], replies: Mapping[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """The posts that are still to be planned; `replies` has workspace, kind, email and reply by alert."""
    mine = [row for row in rows if row["alert_id"] in replies and row["kind"] == ALERT]
    if not mine:
        return list(rows)
    of_leads = {
        (replies[name]["workspace"], replies[name]["email"]): name for name in {r["alert_id"] for r in mine}
    }
    known = _cards(tx, of_leads.values())
    # A repeat of what took over a card: the card has the name of the event that it was planned for.
    shown = _shown(tx, {row["alert_id"] for row in mine})
    merged = {row["dedupe"] for row in mine if (row["alert_id"], row["channel"]) in shown}
    for row in sorted(mine, key=lambda row: -REPLIES[replies[row["alert_id"]]["kind"]]):
        if row["dedupe"] in merged:
            continue
        card = ReplyCard(channel=row["channel"], **replies[row["alert_id"]])
        same = [one for one in known if one.says != card.says and one.shows(card)]
        if any(one.says > card.says for one in same):
            merged.add(row["dedupe"])
        elif same:
            _take_over(tx, same[-1], row)
            merged.add(row["dedupe"])
        known.append(card)
    return [row for row in rows if row["dedupe"] not in merged]


_SHOWN = sa.select(posts.c.alert_id, posts.c.channel).where(
    posts.c.alert_id.in_(sa.bindparam("names", expanding=True)), posts.c.kind.in_([ALERT, REPLACED])
)
_NEW, _NEAR = alerts.alias("new"), alerts.alias("near")
_NEWEST = (
    sa.select(_NEAR.c.id)
    .where(_NEAR.c.workspace == _NEW.c.workspace, _NEAR.c.email == _NEW.c.email)
    .where(_NEAR.c.received_at > NOW - WITHIN)
    .order_by(_NEAR.c.received_at.desc())
    .limit(COMPARED)
    .correlate(_NEW)
)
"""Of the lead of an alert."""


def _cards_of(newest: Any) -> sa.Select[Any]:
    """The cards of `newest`, which are alerts joined to one of each lead."""
    return (
        sa.select(
            *(posts.c[name] for name in ("id", "workspace", "channel", "state", "sent_at")),
            *(alerts.c[name] for name in ("email", "kind", "reply")),
            alerts.c.id.label("alert"),
        )
        .select_from(newest.join(posts, posts.c.alert_id == alerts.c.id))
        .where(_NEW.c.id.in_(sa.bindparam("names", expanding=True)))
        .where(alerts.c.kind.in_(REPLIES), posts.c.kind == ALERT)
        .order_by(posts.c.id)
    )


# Each engine has its own way to look up the newest alerts by an index for each lead.
_EACH = _NEWEST.lateral("newest")
_CARDS_POSTGRESQL = _cards_of(_NEW.join(_EACH, sa.true()).join(alerts, alerts.c.id == _EACH.c.id))
_CARDS_SQLITE = _cards_of(_NEW.join(alerts, alerts.c.id.in_(_NEWEST)))


def _shown(tx: Transaction, names: Collection[str]) -> set[tuple[str, str]]:
    """Alerts with the channels that have a card of them, planned or posted."""
    return {(row.alert_id, row.channel) for row in tx.execute(_SHOWN, {"names": [*names]})}


def _cards(tx: Transaction, names: Collection[str]) -> list[ReplyCard]:
    """The cards of the newest alerts of the leads of these, of which each has another lead."""
    query = _CARDS_POSTGRESQL if tx.is_postgresql else _CARDS_SQLITE
    rows = tx.execute(query, {"names": [*names], "now": tx.now})
    return [ReplyCard(**row._asdict()) for row in rows]


def _take_over(tx: Transaction, card: ReplyCard, row: Mapping[str, Any]) -> None:
    """Have a card show another event of its reply, and announce it if it would go unnoticed."""
    values = {name: row[name] for name in ("alert_id", "urgency", "condensed", "mention")}
    _keep_claim(tx, of=card.alert, on=row["alert_id"])
    if card.state == State.HELD and row["held_until"] is None:
        values |= {"state": State.READY, "held_until": None}
        messages.wake(tx, [card.channel])
    if card.state not in {State.READY, State.HELD}:  # Slack may have it as it was
        values |= {"turned": True, "held_until": row["held_until"]}
    messages.redraw(tx, posts.c.id == card.id, values=values)
    seen = card.sent_at is not None and (row["mention"] or tx.now - card.sent_at > UNNOTICED)
    if seen:
        note = PlannedPost(
            dedupe=f"{row['dedupe']}:turned",
            channel=card.channel,
            kind=TURNED,
            urgency=row["urgency"],
            mention=row["mention"],
            alert_id=row["alert_id"],
        )
        messages.plan(tx, note, workspace=card.workspace)
    messages.renew_unsure(tx, [card.id])
    look_now(tx, [row["alert_id"]])


_CLAIM = ("claimed_by", "claimed_name", "claimed_at", "assigned_name")


def _keep_claim(tx: Transaction, *, of: str, on: str) -> None:
    """Who claimed a reply has it, whatever event of it is shown next."""
    query = sa.select(*(alerts.c[name] for name in _CLAIM)).where(
        alerts.c.id == of, alerts.c.claimed_by != ""
    )
    if claim := tx.execute(query).first():
        free = (alerts.c.id == on) & (alerts.c.claimed_by == "")
        claimed = {**claim._asdict(), "worked_since": claim.claimed_at, "waiting_since": None}
        tx.execute(sa.update(alerts).where(free).values(**claimed))


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnPlan:
    """A rota that is to choose the owner of a new alert."""

    candidates: Candidates
    channels: Mapping[str, float | None]
    """Those that mention the owner, with the end of their quiet hours where they are in any."""
    late: PlannedPost | None = None
    """What mentions the owner when the quiet hours are over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How a pending delivery was routed. `problem` says why it isn't a known event."""

    kind: str = ""
    problem: str = ""
    email: str = ""
    domain: str = ""
    sequence: str = ""
    detail: str = ""
    """What a count of them may ask: hard or soft, the day of a return."""
    reply: str = ""
    """A hash of what the lead wrote."""
    remind_at: float | None = None
    """When to remind of it unless it is acknowledged."""
    inbox: str = ""
    waits: bool = False
    """It can be claimed."""
    posts: tuple[PlannedPost, ...] = ()
    turn: TurnPlan | None = None
    """Whose turn the reply may be, where its route has a rota."""


Decide = Callable[[PendingDelivery], Decision]


class Deliveries(Repository):
    """Deliveries on their way to being alerts."""

    async def route(self, decide: Decide, *, limit: int = 50) -> Sequence[tuple[PendingDelivery, Decision]]:
        """Turn pending deliveries into alerts and posts; returns what was decided on each.

        Where the database refuses a value, they are routed one by one, and the culprit is set aside.
        """
        try:
            return await self.database.write(lambda tx: _route(tx, decide, limit=limit))
        except ValuesRefused:
            return await self.database.write(lambda tx: _route_singly(tx, decide, limit=limit))

    @probes
    def oldest_unrouted_age(self, tx: Transaction) -> float:
        """Seconds that the oldest delivery has waited for the router; 0 when none waits."""
        at = tx.scalar(_OLDEST)
        return 0.0 if at is None else max(0.0, self.database.clock() - at)


def _route(tx: Transaction, decide: Decide, *, limit: int) -> Sequence[tuple[PendingDelivery, Decision]]:
    """Decide on up to `limit` pending deliveries and write what follows; returns what was decided."""
    decided = [(one, decide(one)) for one in _news(tx, limit=limit)]
    _settle(tx, decided)
    return decided


def _route_singly(
    tx: Transaction,
    decide: Decide,
    *,
    limit: int,
) -> Sequence[tuple[PendingDelivery, Decision]]:
    """Like `route`, but a delivery that the database refuses is set aside with its body, and the others go on."""
    decided: list[tuple[PendingDelivery, Decision]] = []
    for pending in _news(tx, limit=limit):
        decision = decide(pending)
        try:
            with tx.connection.begin_nested():
                _settle(tx, [(pending, decision)])
        except Exception as error:
            if not blames_values(error):
                raise
            decision = Decision(problem=f"the database refuses it: {type(error).__name__}")
            _settle(tx, [(pending, decision)])
        decided.append((pending, decision))
    return decided


def _news(tx: Transaction, *, limit: int) -> Sequence[PendingDelivery]:
    found = gather(tx, limit=limit)
    subscribed = subscriptions_of(tx, {one.workspace for one in found}) if found else {}
    ended = _ended(tx, [one for one in found if not one.is_new])
    return [
        replace(one, subscriptions=subscribed.get(one.workspace, ()), ended=ended.get(one.id, ""))
        for one in found
    ]


def _ended(tx: Transaction, repeats: Sequence[PendingDelivery]) -> Mapping[int, str]:
    """The alerts of the incidents that are over, of which these repeats have told, by delivery."""
    if not repeats:
        return {}
    over = alerts.c.recovered_at.is_not(None) | (alerts.c.received_at <= NOW - UNKNOWN_AFTER)
    names = [name for one in repeats for name in (one.alert_id, one.alert) if name]
    query = sa.select(alerts.c.id).where(alerts.c.id.in_(names), alerts.c.domain != "", over)
    found = set(tx.scalars(query, {"now": tx.now}))
    return {one.id: name for one in repeats for name in (one.alert_id, one.alert) if name and name in found}


def subscriptions_of(tx: Transaction, workspaces: Collection[str]) -> Mapping[str, Sequence[Subscription]]:
    """What the channels of these workspaces want to be told, in one order."""
    found: defaultdict[str, list[Subscription]] = defaultdict(list)
    for one in facts.listed(tx, SUBSCRIPTION, workspaces=workspaces):
        channel, event, sequence, inbox = json.loads(one.key)
        wanted = Subscription(
            channel=channel,
            event=event,
            sequence=sequence,
            inbox=inbox,
            condensed=bool(one.value.get("condensed")),
        )
        found[one.workspace].append(wanted)
    return found


_OLDEST = (
    sa.select(deliveries.c.received_at)
    .where(deliveries.c.pending)
    .order_by(deliveries.c.received_at, deliveries.c.id)
    .limit(1)
)


def _settle(tx: Transaction, decided: Sequence[tuple[PendingDelivery, Decision]]) -> None:
    if not decided:
        return
    in_one_order = sorted(
        decided, key=lambda pair: pair[0].alert_id
    )  # lest two processes lock each other out
    leads = {(row.workspace, intake.address(d.email)) for row, d in decided if _is_reply(d)}
    lock(tx, leads | {_incident_key(row, d) for row, d in decided if _is_incident(d)})
    tx.execute(_SETTLED, [_settled(row, d) for row, d in in_one_order])
    adopted, late = intake.join(tx, _leads(decided))
    joined = _join_incidents(tx, decided)
    shown = {row.id: joined.get(row.id) or row.alert or adopted.get(row.id) for row, _ in decided}
    _reopen(tx, [(row, d) for row, d in decided if row.ended and row.id not in joined])
    # A repeat of what stands on a card already changes nothing that people see, so the card isn't edited.
    repeats = {row.id for row, _ in decided if not (row.is_new or row.ended or row.id in joined)}
    messages.repaint(tx, [name for key, name in shown.items() if name and key not in repeats])
    new = [(row, d) for row, d in decided if not shown[row.id] and d.posts and row.id not in late]
    turns = {row.alert_id: take(tx, d.turn.candidates) for row, d in new if d.turn}
    raised = [{**_alert(row, d), **_turn(d, turns.get(row.alert_id), tx.now)} for row, d in new]
    if raised:
        tx.execute(tx.insert_once(alerts), raised)
    for row, _ in decided:
        if row.is_new and row.id in joined:  # the card says what was reported last
            tx.execute(_TOLD_BY, {"alert": joined[row.id], "delivery": row.id})
    # A paused domain is looked up before all that are merely due: its DNS may be why.
    again = {d.domain for row, d in decided if row.ended and row.id not in joined and _is_incident(d)}
    jobs.hurry(tx, DOMAIN, again | {d.domain for _, d in new if _is_incident(d)})
    own = [(row, d) for row, d in decided if shown[row.id] in {None, row.alert_id}]
    news = [(row, d) for row, d in own if row.id not in late]
    rows = [
        messages.post_row(p, workspace=r.workspace, alert=r.alert_id, now=tx.now)
        for r, d in news
        for p in _called(d, turns.get(r.alert_id))
    ]
    rows += [
        messages.post_row(
            replace(post, dedupe=f"{joined[row.id]}:{post.channel}"),
            workspace=row.workspace,
            alert=joined[row.id],
            now=tx.now,
        )
        for row, d in decided
        if row.id in joined
        for post in d.posts
        if post.kind == ALERT
    ]
    replies = {row.alert_id: _reply(row, d) for row, d in news if _is_reply(d)}
    messages.plan_rows(tx, merge(tx, rows, replies))


def _is_incident(decision: Decision) -> bool:
    return bool(kind_of(decision.kind).acknowledged and decision.domain and decision.posts)


def _incident_key(row: PendingDelivery, decision: Decision) -> tuple[str, str]:
    return row.workspace, decision.domain


def _join_incidents(
    tx: Transaction, decided: Sequence[tuple[PendingDelivery, Decision]]
) -> Mapping[int, str]:
    """Deliveries about an incident that has an alert already, with its id: one incident is one card."""
    told = [(row, d) for row, d in decided if _is_incident(d)]
    if not told:
        return {}
    is_open = (
        alerts.c.domain.in_({d.domain for _, d in told})
        & alerts.c.recovered_at.is_(None)
        & (alerts.c.kind == sa.literal(PAUSED, literal_execute=True))  # in the words of its index
        & (alerts.c.received_at > NOW - UNKNOWN_AFTER)
    )
    query = sa.select(alerts.c.workspace, alerts.c.domain, alerts.c.id).where(is_open)
    rows = tx.execute(query.order_by(alerts.c.received_at), {"now": tx.now})
    open_ids = {(row.workspace, row.domain): row.id for row in rows}
    joined = dict[int, str]()
    for row, decision in told:
        its = open_ids.setdefault(_incident_key(row, decision), row.ended or row.alert_id)
        if its not in {row.alert_id, row.alert, row.ended}:
            joined[row.id] = its
    return joined


def _reopen(tx: Transaction, again: Sequence[tuple[PendingDelivery, Decision]]) -> None:
    """An incident that is told of once more after its end is as new, on its card."""
    for row, decision in again:
        if _is_incident(decision):
            values: dict[str, Any] = {
                "recovered_at": None,
                "standing": "",
                "acked_name": "",
                "acked_at": None,
            }
            values |= {"ack_reminders": 0, "ack_due_at": decision.remind_at, "received_at": row.last_at}
            tx.execute(sa.update(alerts).where(alerts.c.id == row.ended).values(**values))
            if row.ended:
                look_now(tx, [row.ended])


_TOLD_BY = (
    sa.update(alerts).where(alerts.c.id == sa.bindparam("alert")).values(delivery_id=sa.bindparam("delivery"))
)


def _turn(decision: Decision, turn: Turn | None, now: float) -> dict[str, Any]:
    """What the row of a new alert says of whose turn it is."""
    if decision.turn is None or turn is None:
        return {"rota": "", **Turn().columns, "turn_ends_at": None}
    candidates = decision.turn.candidates
    ends_at = candidates.ends_at(now) if turn.owner else None
    return {"rota": candidates.rota, **turn.columns, "turn_ends_at": ends_at}


def _called(decision: Decision, turn: Turn | None) -> Sequence[PlannedPost]:
    """The posts of a decision; those under a rota mention whose turn it is, outside of quiet hours."""
    plan = decision.turn
    if plan is None or turn is None:
        return decision.posts
    who = turn.owner or plan.candidates.group
    called = {channel for channel, quiet in plan.channels.items() if quiet is None}
    posts = [replace(one, mention=who) if one.channel in called else one for one in decision.posts]
    return [*posts, *([replace(plan.late, mention=who)] if plan.late else [])]


def _is_reply(decision: Decision) -> bool:
    return decision.kind in REPLIES and bool(decision.email and decision.posts)


def _reply(row: PendingDelivery, decision: Decision) -> dict[str, Any]:
    email = intake.address(decision.email)
    return {"workspace": row.workspace, "kind": decision.kind, "email": email, "reply": decision.reply}


def _leads(decided: Sequence[tuple[PendingDelivery, Decision]]) -> Sequence[intake.Mention]:
    return [
        intake.Mention(
            delivery=row.id,
            found=row.found,
            lead=(row.workspace, d.kind, intake.address(d.email)),
            shown=bool(d.posts),
        )
        for row, d in decided
        if d.email and row.alert is None
    ]


def _alert(row: PendingDelivery, decision: Decision) -> dict[str, Any]:
    return {
        "id": row.alert_id,
        "delivery_id": row.id,
        "workspace": row.workspace,
        "kind": decision.kind,
        "email": intake.address(decision.email),
        "received_at": row.received_at,
        "sequence": decision.sequence,
        "domain": decision.domain,
        "reply": decision.reply,
        "ack_due_at": decision.remind_at,
        "waiting_since": row.received_at if decision.waits else None,
        "undelivered": row.found,
    }


_COUNTED = ("seen", "last_at")
_READ = ("kind", "problem", "domain", "sequence", "inbox", "detail")
_SETTLED = (
    sa.update(deliveries)
    .where(deliveries.c.id == sa.bindparam("row"))
    .values(pending=False, **{name: sa.bindparam(f"new_{name}") for name in (*_READ, *_COUNTED)})
)


def _settled(row: PendingDelivery, decision: Decision) -> dict[str, Any]:
    counted = {f"new_{name}": getattr(row, name) for name in _COUNTED}
    return {"row": row.id, **{f"new_{name}": getattr(decision, name) for name in _READ}, **counted}
