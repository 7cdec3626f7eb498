"""Deliveries, committed together before they are answered, and leads that were found through the API.

A delivery's row is itself the outbox of the next step: it is stored `pending`, which is lowered in the transaction
that finds out which delivery it is and writes the alert and its posts, so that no crash comes between. Repeats are
merged, and one reply has one card in each channel.

The service reports a reply as `lead.replied`, and again with its classification, in whatever order. The most specific
event gets the card: a less specific one adds nothing, and a more specific one takes over the existing card. A delivery
and a lead that was found are joined into one alert, whichever is routed first.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import sqlalchemy as sa

from shared.domain.event_kinds import ACKNOWLEDGED, INTERESTED, ONLY_WITH_WORDS, PAUSED, REPLIES, kind_of
from shared.domain.wall_clock import DAY
from shared.frozen import frozen
from shared.records import Subscription
from shared.store import facts, jobs, messages
from shared.store.alerts import PAUSED_SECONDS, Candidates, Turn, open_cards, take
from shared.store.db import migrate
from shared.store.db.engine import (
    Repository,
    Transaction,
    ValuesRefused,
    blames_values,
    method,
    portions,
    probes,
    reads,
    writes,
)
from shared.store.db.schema import (
    NOW,
    alembic_version,
    alerts,
    deliveries,
    known_leads,
    posts,
    sightings,
)
from shared.store.messages import Planned, PlannedPost
from shared.store.post_kinds import ALERT, REPLACED, TURNED

ERASED = "erased"
"""The problem of a delivery whose person was erased: sent again, it must not bring them back."""
ADOPTED_SECONDS = 90_000.0
"""The time in which a delivery takes over the alert of its lead that was found; the sender tries for a day."""
WITHIN_SECONDS = 3600.0
"""Between two events of one reply, at most."""
COMPARED = 100
"""The newest alerts of a lead that an event is compared with; more than are routed at once. Whoever sends thousands of a
lead within the hour gets a card for an event whose reply has one behind all these, and holds up nobody else."""
UNNOTICED_SECONDS = 60.0
"""The age from which a card that turns into another one is announced in its thread: updates don't notify anyone."""
NOTED_SECONDS = DAY
"""The time after which it is written down again that a lead is still listed."""
_BEGUN = ""
"""The row that says that a first look at a workspace's leads has been taken."""

_INTO = """INSERT INTO deliveries
    (pending, found, dkey, workspace, body, received_at, last_at)"""
_POSTGRESQL = f"""{_INTO}
    SELECT true, %s, dkey, workspace, body, at, at
    FROM unnest(%s::bytea[], %s::text[], %s::bytea[], %s::float8[]) AS new(dkey, workspace, body, at)"""  # noqa: S608 constants alone
# It stays as it is, and the database has to write it.
_REWRITTEN = (
    sa.update(alembic_version)
    .values(version_num=alembic_version.c.version_num)
    .returning(alembic_version.c.version_num)
)


@frozen
class Arrival:
    """One signed body, as it came to one workspace."""

    workspace: str
    body: bytes
    at: float

    @property
    def dkey(self) -> bytes:
        """The hash that all repeats of a delivery have in common."""
        return hashlib.sha256(b"%b\0%b" % (self.workspace.encode(), self.body)).digest()


def alert_id(dkey: bytes) -> str:
    """The id of the alert of a delivery."""
    return f"al_{dkey.hex()[:20]}"


def address(email: str) -> str:
    """The form that two spellings of one lead's address have in common."""
    return email.strip().lower()


def lead_key(email: str) -> str:
    """The hash by which `known_leads` remembers an address: recognizing it takes no address that could be read."""
    return hashlib.sha256(address(email).encode("utf-8", "surrogatepass")).hexdigest()


def insert(tx: Transaction, batch: Sequence[Arrival], *, found: bool = False) -> None:
    """Write deliveries; `found`: those that never came, which no count of the service's has."""
    if not batch:
        return
    rows = [(arrival.dkey, arrival.workspace, arrival.body, arrival.at) for arrival in batch]
    if tx.is_postgresql:
        columns = [list(column) for column in zip(*rows, strict=True)]
        tx.connection.exec_driver_sql(_POSTGRESQL, (found, *columns))
    else:
        tx.connection.exec_driver_sql(_sqlite(len(batch), found=found), tuple(chain.from_iterable(rows)))


@lru_cache(maxsize=512)
def _sqlite(size: int, *, found: bool) -> str:
    """Four values a row; the moment of the arrival is also that of the newest."""
    rows = (f"(1,{found:d},?{n},?{n + 1},?{n + 2},?{n + 3},?{n + 3})" for n in range(1, 1 + 4 * size, 4))
    return f"{_INTO} VALUES {','.join(rows)}"


class Arrivals(Repository):
    """Deliveries as they come in, each batch committed before it is answered."""

    append = writes(method(insert))

    @writes
    def check(self, tx: Transaction) -> None:
        """Raise `RecordsUnavailable` unless the database can be written to, and no newer version has upgraded it."""
        if str(tx.scalar(_REWRITTEN)) != migrate.HEAD:
            migrate.read_state(tx.connection).check()

    async def try_out(self, size: int) -> None:
        """Write so many bytes, and drop them again: a small write may fit on a disk on which no delivery does.

        Raises `RecordsUnavailable`.
        """
        content = {"bytes": secrets.token_hex(size)}  # random: PostgreSQL would pack zeros
        await self.database.write(lambda tx: facts.put(tx, "probe", "", content))
        await self.database.write(lambda tx: facts.drop(tx, "probe", ""))


def heard_since(tx: Transaction, workspace: str) -> float | None:
    """The time of the first kept delivery of a workspace: earlier events are unknown; None where none came."""
    first = sa.select(sa.func.min(sightings.c.at)).where(sightings.c.workspace == workspace)
    at: float | None = tx.scalar(first)
    return at


class Compared(NamedTuple):
    """The numbers of listed leads that were found late, that may still get their delivery, and that were not known yet."""

    late: int
    candidates: int
    unknown: int


class FoundLeads(Repository):
    """Interested leads that the API shows."""

    @reads
    def has_begun(self, tx: Transaction, workspace: str) -> bool:
        """True once a first look at all leads has been taken."""
        return tx.has((known_leads.c.workspace == workspace) & (known_leads.c.lead == _BEGUN))

    @writes
    def remember(self, tx: Transaction, workspace: str, leads: Collection[str]) -> None:
        """Note leads of a first look, which an empty `compare` ends: they aren't news."""
        _remember(tx, workspace, leads)

    @writes
    def compare(
        self, tx: Transaction, workspace: str, bodies: Mapping[str, bytes], *, grace: float
    ) -> Compared:
        """Store a found delivery for each of these leads that is news."""
        since = _candidates(tx, workspace, sorted(bodies))
        if _BEGUN not in since:
            _remember(tx, workspace, {_BEGUN, *bodies})
            return Compared(0, 0, len(bodies))
        unknown = {lead for lead in bodies if since.get(lead, tx.now) is not None}
        query = sa.select(alerts.c.email).where(alerts.c.workspace == workspace, alerts.c.kind == INTERESTED)
        chunks = portions(sorted(unknown))
        announced = {email for some in chunks for email in tx.scalars(query.where(alerts.c.email.in_(some)))}
        waiting = unknown - announced
        ripe = sorted(lead for lead in waiting & {*since} if tx.now - (since[lead] or tx.now) >= grace)
        _remember(tx, workspace, announced.union(ripe))
        _remember(tx, workspace, waiting - {*since}, since=tx.now)
        found = [Arrival(workspace=workspace, body=bodies[lead], at=tx.now) for lead in ripe]
        insert(tx, found, found=True)
        return Compared(len(ripe), len(waiting) - len(ripe), len(unknown))


def _candidates(tx: Transaction, workspace: str, leads: Sequence[str]) -> dict[str, float | None]:
    """The time since which each listed lead is a candidate, None where it is known already; they are noted as seen."""
    c, since = known_leads.c, dict[str, float | None]()
    for chunk in portions([_BEGUN, *leads]):
        keys = {_key(lead): lead for lead in chunk}
        mine = (c.workspace == workspace) & c.lead.in_(keys)
        rows = tx.execute(sa.select(c.lead, c.candidate_since).where(mine))
        since |= {keys[row.lead]: row.candidate_since for row in rows}
        stale = sa.or_(c.seen_at.is_(None), c.seen_at < tx.now - NOTED_SECONDS) & (c.lead != _BEGUN)
        tx.update(known_leads, mine & stale, seen_at=tx.now)
    return since


def _key(lead: str) -> str:
    return lead_key(lead) if lead else _BEGUN


def _remember(tx: Transaction, workspace: str, leads: Collection[str], *, since: float | None = None) -> None:
    rows = [
        {
            "workspace": workspace,
            "lead": _key(lead),
            "candidate_since": since,
            "seen_at": tx.now if lead else None,
        }
        for lead in sorted(leads)
    ]
    if rows:
        tx.execute(tx.upsert(known_leads, "candidate_since"), rows)


@frozen
class PendingDelivery:
    """A delivery with news: it is new, or it came again."""

    id: int
    alert_id: str
    workspace: str
    body: bytes
    found: bool
    received_at: float
    last_at: float
    is_new: bool
    arrivals: int = 1
    """The number of its arrivals that were taken together."""
    alert: str | None = None
    """The alert that shows it already."""
    subscriptions: Sequence[Subscription] = ()
    """The subscriptions of its workspace."""


@frozen
class TurnPlan:
    """A rota that is to choose the owner of a new alert."""

    candidates: Candidates
    channels: Mapping[str, float | None]
    """The channels that mention the owner, with the end of their quiet hours where they are in any."""
    late: PlannedPost | None = None
    """The message that mentions the owner when the quiet hours are over."""


@frozen
class Decision:
    """The route of a pending delivery. `problem` says why it isn't a known event."""

    kind: str = ""
    problem: str = ""
    email: str = ""
    domain: str = ""
    sequence: str = ""
    detail: str = ""
    """A detail that counts need: hard or soft, the day of a return."""
    reply: str = ""
    """A hash of what the lead wrote."""
    remind_at: float | None = None
    """The time at which to remind of it unless it is acknowledged."""
    inbox: str = ""
    waits: bool = False
    """It can be claimed."""
    posts: tuple[PlannedPost, ...] = ()
    turn: TurnPlan | None = None
    """The choice of whose turn the reply is, where its route has a rota."""

    @property
    def is_incident(self) -> bool:
        """True for a paused domain that is shown anywhere."""
        return bool(kind_of(self.kind).acknowledged and self.domain and self.posts)

    @property
    def is_reply(self) -> bool:
        """True for a reply that is shown anywhere."""
        return self.kind in REPLIES and bool(self.email and self.posts)


Decide = Callable[[PendingDelivery], Decision]
Decided = Sequence[tuple[PendingDelivery, Decision]]


class Deliveries(Repository):
    """Deliveries on their way to being alerts."""

    async def route(self, decide: Decide, *, limit: int = 50) -> Decided:
        """Turn up to `limit` pending deliveries into alerts and posts; returns what was decided on each.

        Where the database refuses a value, they are routed one by one, and the culprit is set aside with its body.
        """
        try:
            return await self.database.write(lambda tx: _route(tx, decide, limit=limit))
        except ValuesRefused:
            return await self.database.write(lambda tx: _route(tx, decide, limit=limit, singly=True))

    @probes
    def oldest_unrouted_age(self, tx: Transaction) -> float:
        """Seconds that the oldest delivery has waited for the router; 0 when none waits."""
        at = tx.scalar(_OLDEST)
        return 0.0 if at is None else max(0.0, self.database.clock() - at)


def _route(tx: Transaction, decide: Decide, *, limit: int, singly: bool = False) -> Decided:
    decided = [(pending, decide(pending)) for pending in _gather(tx, limit=limit)]
    if singly:
        return [_settle_alone(tx, pending, decision) for pending, decision in decided]
    _settle(tx, decided)
    return decided


def _settle_alone(
    tx: Transaction, pending: PendingDelivery, decision: Decision
) -> tuple[PendingDelivery, Decision]:
    try:
        with tx.connection.begin_nested():  # what is refused takes nothing else with it
            _settle(tx, [(pending, decision)])
    except Exception as error:
        if not blames_values(error):
            raise
        decision = Decision(problem=f"the database refuses it: {type(error).__name__}")
        _settle(tx, [(pending, decision)])
    return pending, decision


_BY_ARRIVAL = (deliveries.c.received_at, deliveries.c.id)
_OLDEST = sa.select(deliveries.c.received_at).where(deliveries.c.pending).order_by(*_BY_ARRIVAL).limit(1)
_ARRIVED = [deliveries.c[name] for name in ("id", "dkey", "workspace", "found", "received_at", "last_at")]
CAME: sa.Select[Any] = (
    sa.select(*_ARRIVED, deliveries.c.body, sa.null().label("alert"))
    .where(deliveries.c.pending)
    .order_by(*_BY_ARRIVAL)
    .limit(sa.bindparam("limit", type_=sa.Integer))
    .with_for_update(skip_locked=True)
)
"""Unrouted arrivals that no other process has locked."""
THERE: sa.Select[Any] = (
    sa.select(*_ARRIVED, deliveries.c.problem, alerts.c.id.label("alert"))
    .outerjoin(alerts, alerts.c.delivery_id == deliveries.c.id)
    .where(deliveries.c.dkey.in_(sa.bindparam("keys", expanding=True)), sa.not_(deliveries.c.pending))
    .order_by(deliveries.c.dkey)
    .with_for_update(of=deliveries)
)
"""Deliveries that were looked at before, locked in one order for all processes."""


def _gather(tx: Transaction, *, limit: int) -> Sequence[PendingDelivery]:
    """Take up to `limit` unrouted arrivals, merged into deliveries with news, in the order they came."""
    by_key: defaultdict[bytes, list[sa.Row[Any]]] = defaultdict(list)
    for row in tx.execute(CAME, {"limit": limit}):
        by_key[row.dkey].append(row)
    if not by_key:
        return ()
    before = {row.dkey: row for row in tx.execute(THERE, {"keys": [*by_key]})}
    retired = _retire(tx, before)
    before = {key: row for key, row in before.items() if key not in retired}
    stays = {before[key].id if key in before else rows[0].id for key, rows in by_key.items()}
    surplus = {row.id for rows in by_key.values() for row in rows} - stays
    if surplus:  # an arrival after the first is counted, and leaves no row
        tx.delete(deliveries, deliveries.c.id.in_(surplus))
    subscribed = subscriptions_of(tx, {rows[0].workspace for rows in by_key.values()})
    pending: list[PendingDelivery] = []
    for key, rows in by_key.items():
        there = before.get(key)
        first, again = (there, rows) if there else (rows[0], rows[1:])
        later = [row for row in again if not row.found]
        if there and (not later or there.problem == ERASED):  # it says nothing new, or its person was erased
            continue
        delivery = PendingDelivery(
            id=first.id,
            alert_id=alert_id(retired.get(key, key)),
            workspace=first.workspace,
            body=rows[-1].body,
            found=first.found,
            received_at=first.received_at,
            last_at=later[-1].received_at if later else first.last_at,
            is_new=not there,
            arrivals=len(rows),
            alert=first.alert,
            subscriptions=subscribed.get(first.workspace, ()),
        )
        pending.append(delivery)
    return pending


def _retire(tx: Transaction, before: Mapping[bytes, sa.Row[Any]]) -> Mapping[bytes, bytes]:
    """Give deliveries whose incident is over another hash: whoever sends the same bytes again has news.

    Returns the new hashes by the old ones.
    """
    names = {row.alert or alert_id(key): key for key, row in before.items()}
    over = alerts.c.recovered_at.is_not(None) | (alerts.c.received_at <= NOW - PAUSED_SECONDS)
    ended = sa.select(alerts.c.id).where(alerts.c.id.in_(names), alerts.c.kind.in_(ACKNOWLEDGED), over)
    retired = dict[bytes, bytes]()
    for name in tx.scalars(ended, {"now": tx.now}).all() if names else ():
        key = names[name]
        number = before[key].id
        retired[key] = hashlib.sha256(b"%b%d" % (key, number)).digest()
        tx.update(deliveries, deliveries.c.id == number, dkey=retired[key])
    return retired


def subscriptions_of(tx: Transaction, workspaces: Collection[str]) -> Mapping[str, Sequence[Subscription]]:
    """The subscriptions of the channels of these workspaces, in one order."""
    wanted: defaultdict[str, list[Subscription]] = defaultdict(list)
    for fact in facts.listed(tx, "subscription", workspaces=workspaces):
        of = dict(zip(("channel", "event", "sequence", "inbox"), json.loads(fact.key), strict=True))
        wanted[fact.workspace].append(Subscription(**of, condensed=bool(fact.value.get("condensed"))))
    return wanted


_READ = ("kind", "problem", "domain", "sequence", "inbox", "detail")
_SETTLED = (
    sa.update(deliveries)
    .where(deliveries.c.id == sa.bindparam("row"))
    .values(pending=False, **{name: sa.bindparam(f"new_{name}") for name in (*_READ, "last_at")})
)


def _settle(tx: Transaction, decided: Decided) -> None:
    """Write what was decided: the deliveries, their alerts, and their posts."""
    if not decided:
        return
    incidents = [(row, decision) for row, decision in decided if decision.is_incident]
    subjects = {(row.workspace, address(decision.email)) for row, decision in decided if decision.email}
    subjects |= {(row.workspace, decision.domain) for row, decision in incidents}
    _lock(tx, subjects)
    # In one order, lest two processes lock each other out.
    ordered = sorted(decided, key=lambda pair: pair[0].alert_id)
    settled = [
        {"row": row.id, "new_last_at": row.last_at}
        | {f"new_{name}": getattr(decision, name) for name in _READ}
        for row, decision in ordered
    ]
    tx.execute(_SETTLED, settled)
    adopted, late = _join(tx, decided)
    joined = _join_incidents(tx, incidents)
    cards = {row.id: joined.get(row.id) or row.alert or adopted.get(row.id) for row, _ in decided}
    # A paused domain is looked up before all that are merely due: its DNS may be why.
    jobs.hurry(tx, "domain", {decision.domain for row, decision in incidents if cards[row.id] is None})
    # A repeat of what stands on a card already changes nothing that people see, so the card isn't edited.
    changed = [cards[row.id] for row, _ in decided if row.is_new or row.id in joined]
    messages.repaint(tx, [name for name in changed if name])
    raised, planned, replies = list[dict[str, Any]](), list[tuple[str, PlannedPost]](), dict[str, ReplyCard]()
    for row, decision in decided:
        name, own_posts = row.alert_id, decision.posts
        if row.id in joined:
            name = joined[row.id]
            own_posts = tuple(
                replace(post, dedupe=f"{name}:{post.channel}") for post in own_posts if post.kind == ALERT
            )
        elif cards[row.id] not in {None, name} or row.id in late:
            continue
        elif cards[row.id] is None and own_posts:
            turn = take(tx, decision.turn.candidates) if decision.turn else None
            raised.append(_alert(row, decision, turn, now=tx.now))
            own_posts = _called(decision, turn)
        if decision.is_reply:
            replies[name] = ReplyCard(
                workspace=row.workspace,
                email=address(decision.email),
                kind=decision.kind,
                reply=decision.reply,
            )
        planned += [(row.workspace, replace(post, alert_id=name)) for post in own_posts]
    if raised:
        tx.execute(tx.insert_once(alerts), raised)
    for row, _ in decided:
        if row.is_new and row.id in joined:  # the card says what was reported last
            tx.update(alerts, alerts.c.id == joined[row.id], delivery_id=row.id)
    messages.plan(tx, _merge(tx, planned, replies))


def _alert(row: PendingDelivery, decision: Decision, turn: Turn | None, *, now: float) -> dict[str, Any]:
    """The row of a new alert."""
    candidates = decision.turn.candidates if decision.turn else None
    has_owner = candidates and turn and turn.owner
    return {
        "id": row.alert_id,
        "delivery_id": row.id,
        "workspace": row.workspace,
        "kind": decision.kind,
        "email": address(decision.email),
        "received_at": row.received_at,
        "sequence": decision.sequence,
        "domain": decision.domain,
        "reply": decision.reply,
        "ack_due_at": decision.remind_at,
        "waiting_since": row.received_at if decision.waits else None,
        "undelivered": row.found,
        "rota": candidates.rota if candidates else "",
        **(turn or Turn()).columns,
        "turn_ends_at": candidates.ends_at(now) if candidates and has_owner else None,
    }


def _called(decision: Decision, turn: Turn | None) -> tuple[PlannedPost, ...]:
    """The posts of a decision; those under a rota mention whose turn it is, outside of quiet hours."""
    plan = decision.turn
    if plan is None or turn is None:
        return decision.posts
    who = turn.owner or plan.candidates.group
    called = {channel for channel, quiet in plan.channels.items() if quiet is None}
    late = (replace(plan.late, mention=who),) if plan.late else ()
    return *(replace(post, mention=who) if post.channel in called else post for post in decision.posts), *late


def _join_incidents(tx: Transaction, incidents: Decided) -> Mapping[int, str]:
    """Deliveries about an incident that has an alert already, with its id: one incident is one card."""
    open_ids, joined = dict[tuple[str, str], str](), dict[int, str]()
    for workspace in {row.workspace for row, _ in incidents}:
        for card in reversed(open_cards(tx, workspace, (PAUSED,))):
            open_ids[workspace, card.domain] = card.id
    for row, decision in incidents:
        its = open_ids.setdefault((row.workspace, decision.domain), row.alert_id)
        if its not in {row.alert_id, row.alert}:
            joined[row.id] = its
    return joined


_FOUND = (
    sa.select(alerts.c.id, alerts.c.workspace, alerts.c.kind, alerts.c.email)
    .where(alerts.c.email.in_(sa.bindparam("emails", expanding=True)), alerts.c.undelivered)
    .where(alerts.c.received_at > NOW - ADOPTED_SECONDS)
)


def _join(tx: Transaction, decided: Decided) -> tuple[Mapping[int, str], Collection[int]]:
    """The deliveries that take over the alert of what was found before, and the found ones that come too late."""
    about = [
        (row, decision, (row.workspace, decision.kind, address(decision.email)))
        for row, decision in decided
        if decision.email and row.alert is None
    ]
    came = {lead: row.id for row, _, lead in about if not row.found}
    adopted = dict[int, str]()
    if came:
        values = {"emails": [email for _, _, email in came], "now": tx.now}
        for name, *key in tx.execute(_FOUND, values).all():
            delivery = came.pop(tuple(key), None)
            if delivery is not None:
                tx.update(alerts, alerts.c.id == name, delivery_id=delivery, undelivered=False)
                adopted[delivery] = name
    late, found = set[int](), [(row.id, lead) for row, _, lead in about if row.found]
    if found:
        # Found while their delivery was on the way: that has its alert, or gets it in this transaction.
        there = {lead for row, decision, lead in about if not row.found and decision.posts}
        query = sa.select(alerts.c.workspace, alerts.c.kind, alerts.c.email)
        rows = tx.execute(query.where(alerts.c.email.in_({lead[2] for _, lead in found})))
        there |= {tuple(row) for row in rows}
        for number, lead in found:
            if lead in there:
                late.add(number)
            there.add(lead)
    return adopted, late


def _lock(tx: Transaction, subjects: Collection[tuple[str, str]]) -> None:
    """Let one process at a time decide on a lead, or a domain; SQLite has one writer in any case."""
    if tx.is_postgresql and subjects:
        digests = (hashlib.sha256("\0".join(subject).encode()).digest()[:8] for subject in subjects)
        tx.execute(_LOCK, {"keys": sorted(int.from_bytes(digest, signed=True) for digest in digests)})


_LOCK = sa.text("SELECT pg_advisory_xact_lock(key) FROM unnest(CAST(:keys AS bigint[])) AS key")


@frozen
class ReplyCard:
    """A card that shows a reply, planned or posted."""

    workspace: str
    channel: str = ""
    email: str
    kind: str
    reply: str
    """A hash of its text; empty where the event has none."""
    alert: str = ""
    id: int = 0
    state: str = ""
    sent_at: float | None = None

    def shows(self, other: ReplyCard) -> bool:
        """True if both are of the same reply, in the same channel."""
        here = (self.workspace, self.channel, self.email) == (other.workspace, other.channel, other.email)
        if not (self.reply and other.reply):
            return here and not {self.kind, other.kind} & {*ONLY_WITH_WORDS}
        return here and self.reply == other.reply

    @property
    def detail(self) -> int:
        """The rank of its event by how much it says about the reply."""
        return REPLIES[self.kind]


def _merge(tx: Transaction, planned: Planned, replies: Mapping[str, ReplyCard]) -> Planned:
    """The posts that are still to be planned, as a card of each reply may be there; `replies` by alert."""
    mine = [post for _, post in planned if post.alert_id in replies and post.kind == ALERT]
    if not mine:
        return planned
    names = {post.alert_id for post in mine}
    leads = sorted({(replies[name].workspace, replies[name].email) for name in names})
    cards: list[ReplyCard] = []
    for workspace, email in leads:
        cards += tx.read(ReplyCard, _CARDS, {"of": workspace, "email": email, "now": tx.now})
    # A repeat of what took over a card: the card has the name of the event that it was planned for.
    posted = {(row.alert_id, row.channel) for row in tx.execute(_SHOWN, {"names": [*names]})}
    merged = {post.dedupe for post in mine if (post.alert_id, post.channel) in posted}
    for post in sorted(mine, key=lambda post: -replies[post.alert_id].detail):
        if post.dedupe in merged:
            continue
        card = replace(replies[post.alert_id], channel=post.channel)
        same = [other for other in cards if other.detail != card.detail and other.shows(card)]
        if same:
            merged.add(post.dedupe)
        if same and all(other.detail < card.detail for other in same):
            _take_over(tx, same[-1], post)
        cards.append(card)
    return [(workspace, post) for workspace, post in planned if post.dedupe not in merged]


_SHOWN: sa.Select[Any] = sa.select(posts.c.alert_id, posts.c.channel).where(
    posts.c.alert_id.in_(sa.bindparam("names", expanding=True)), posts.c.kind.in_([ALERT, REPLACED])
)
_NEWEST = (
    sa.select(alerts.c.id)
    .where(alerts.c.workspace == sa.bindparam("of"), alerts.c.email == sa.bindparam("email"))
    .where(alerts.c.received_at > NOW - WITHIN_SECONDS)
    .order_by(alerts.c.received_at.desc())
    .limit(COMPARED)
)
_CARDS = (
    sa.select(
        *(posts.c[name] for name in ("id", "workspace", "channel", "state", "sent_at")),
        *(alerts.c[name] for name in ("email", "kind", "reply")),
        alerts.c.id.label("alert"),
    )
    .join(posts, posts.c.alert_id == alerts.c.id)
    .where(alerts.c.id.in_(_NEWEST), alerts.c.kind.in_(REPLIES), posts.c.kind == ALERT)
    .order_by(posts.c.id)
)
"""The cards of the newest alerts of a lead."""


def _take_over(tx: Transaction, card: ReplyCard, post: PlannedPost) -> None:
    """Have a card show another event of its reply, and announce it if it would go unnoticed."""
    values: dict[str, Any] = {
        name: getattr(post, name) for name in ("alert_id", "urgency", "condensed", "mention")
    }
    # Who claimed the reply keeps it, whatever event of it is shown next.
    columns = (alerts.c[name] for name in ("claimed_by", "claimed_name", "claimed_at", "assigned_name"))
    query = sa.select(*columns).where(alerts.c.id == card.alert, alerts.c.claimed_by != "")
    if claim := tx.execute(query).first():
        free = (alerts.c.id == post.alert_id) & (alerts.c.claimed_by == "")
        tx.update(alerts, free, **claim._asdict(), worked_since=claim.claimed_at, waiting_since=None)
    if post.held_until is None:
        messages.move(tx, "released", posts.c.id == card.id)
    if card.state not in {"ready", "held"}:  # Slack may have it as it was
        values |= {"turned": True, "held_until": post.held_until}
    messages.redraw(tx, posts.c.id == card.id, **values)
    if card.sent_at is not None and (post.mention or tx.now - card.sent_at > UNNOTICED_SECONDS):
        note = PlannedPost(
            dedupe=f"{post.dedupe}:turned",
            channel=card.channel,
            kind=TURNED,
            mention=post.mention,
            alert_id=post.alert_id,
        )
        messages.plan(tx, [(card.workspace, note)])
    messages.renew_unsure(tx, [card.id])
    jobs.put(tx, "remind", post.alert_id, how="sooner")
