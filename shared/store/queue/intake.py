"""What comes in: deliveries, committed together before they are answered, and leads found through the API.

A delivery and a lead that was found are joined into one alert, whichever is routed first.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import sqlalchemy as sa

from shared.api.event_kinds import INTERESTED
from shared.store.db import migrate
from shared.store.db.columns import NOW
from shared.store.db.engine import Repository, Transaction, portions, reads, writes
from shared.store.db.installation_schema import alembic_version
from shared.store.db.schema import alerts, deliveries, known_leads, sightings

_INTO = """INSERT INTO deliveries
    (seen, pending, dkey, workspace, body, received_at, last_at)"""
_POSTGRESQL = f"""{_INTO}
    SELECT 1, true, dkey, workspace, body, at, at
    FROM unnest(%s::bytea[], %s::text[], %s::bytea[], %s::float8[]) AS new(dkey, workspace, body, at)"""  # noqa: S608 constants alone

# It stays as it is, and the database has to write it.
_REWRITTEN = (
    sa.update(alembic_version)
    .values(version_num=alembic_version.c.version_num)
    .returning(alembic_version.c.version_num)
)
_PROBE = sa.Table("write_probe", sa.MetaData(), sa.Column("bytes", sa.LargeBinary))
"""There only while a write of deliveries is tried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One signed body, as it came to one workspace."""

    workspace: str
    body: bytes
    at: float

    @property
    def dkey(self) -> bytes:
        return hashlib.sha256(b"%b\0%b" % (self.workspace.encode(), self.body)).digest()


def alert_id(dkey: bytes) -> str:
    return f"al_{dkey.hex()[:20]}"


class Arrivals(Repository):
    """Deliveries as they come in."""

    async def append(self, batch: Sequence[Arrival]) -> None:
        """Commit the arrivals of one batch."""
        if batch:
            await self.database.append(lambda tx: insert(tx, batch))

    @writes
    def check(self, tx: Transaction) -> None:
        """Raise `RecordsUnavailable` unless the database can be written to, and no newer version has upgraded it."""
        if str(tx.scalar(_REWRITTEN)) != migrate.HEAD:
            migrate.read_state(tx.connection).check()

    async def try_out(self, size: int) -> None:
        """Write so many bytes, and drop them again: a small write may fit on a disk on which no delivery does.

        Raises `RecordsUnavailable`.
        """
        await self.database.write(lambda tx: _write_bytes(tx, size))
        await self.database.write(_drop_bytes)


def _write_bytes(tx: Transaction, size: int) -> None:
    tx.execute(sa.schema.CreateTable(_PROBE, if_not_exists=True))
    tx.execute(sa.insert(_PROBE), {"bytes": secrets.token_bytes(size)})  # random: PostgreSQL would pack zeros


def _drop_bytes(tx: Transaction) -> None:
    tx.execute(sa.schema.DropTable(_PROBE, if_exists=True))


def insert(tx: Transaction, batch: Sequence[Arrival]) -> None:
    """Write the arrivals of one batch."""
    if tx.is_postgresql:
        tx.connection.exec_driver_sql(_POSTGRESQL, (*_columns(batch),))
    else:
        tx.connection.exec_driver_sql(_sqlite(len(batch)), (*_values(batch),))


def _columns(batch: Sequence[Arrival]) -> tuple[list[object], ...]:
    return (
        [one.dkey for one in batch],
        [one.workspace for one in batch],
        [one.body for one in batch],
        [one.at for one in batch],
    )


def _values(batch: Sequence[Arrival]) -> Iterator[object]:
    for one in batch:
        yield from (one.dkey, one.workspace, one.body, one.at)


@lru_cache(maxsize=512)
def _sqlite(size: int) -> str:
    """Four values a row; the moment of the arrival is also that of the newest."""
    rows = (f"(1,1,?{n},?{n + 1},?{n + 2},?{n + 3},?{n + 3})" for n in range(1, 1 + 4 * size, 4))
    return f"{_INTO} VALUES {','.join(rows)}"


_HEARD = sa.select(sa.func.min(sightings.c.at)).where(sightings.c.workspace == sa.bindparam("workspace"))


def heard_since(tx: Transaction, workspace: str) -> float | None:
    """When the first delivery of those that are kept came to a workspace: earlier events are unknown; None: none has."""
    at: float | None = tx.scalar(_HEARD, {"workspace": workspace})
    return at


ADOPTED_WITHIN = 90_000.0
"""Seconds; the sender tries for a day."""

Lead = tuple[str, str, str]
"""Workspace, kind of event, address."""
LONGEST_ADDRESS = 320
"""Characters of an address that is stored whole: 64 before the @ and 255 after it (RFC 5321)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A delivery that has no alert yet, and its lead."""

    delivery: int
    found: bool
    lead: Lead
    shown: bool
    """Whether it is posted anywhere."""


def address(email: str) -> str:
    """What two spellings of one lead's address have in common, short enough for an index.

    A text that is too long for an address ends in its hash, so that two of them stay different.
    """
    text = email.strip().lower()
    if len(text) <= LONGEST_ADDRESS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[: LONGEST_ADDRESS - len(digest)]}{digest}"


def lead_key(email: str) -> str:
    """What `known_leads` remembers an address by: recognizing it takes no address that could be read."""
    return hashlib.sha256(address(email).encode("utf-8", "surrogatepass")).hexdigest()


def join(tx: Transaction, mentions: Sequence[Mention]) -> tuple[Mapping[int, str], Collection[int]]:
    """The deliveries that take over the alert of what was found before, and the found ones that come too late."""
    _lock(tx, {one.lead for one in mentions})
    delivered = [one for one in mentions if not one.found]
    adopted = _adopt(tx, {one.lead: one.delivery for one in delivered})
    shown = {one.lead for one in delivered if one.shown}
    return adopted, _too_late(tx, [one for one in mentions if one.found], shown)


def _lock(tx: Transaction, leads: Collection[Lead]) -> None:
    """Let one process at a time decide on a lead that the API showed; SQLite has one writer in any case."""
    if leads and tx.is_postgresql:
        row = known_leads.c.workspace, known_leads.c.lead
        rows = sa.select(*row).where(sa.tuple_(*row).in_({(lead[0], lead_key(lead[2])) for lead in leads}))
        tx.execute(rows.order_by(*row).with_for_update())


_FOUND = (
    sa.select(alerts.c.id, alerts.c.workspace, alerts.c.kind, alerts.c.email)
    .where(alerts.c.email.in_(sa.bindparam("emails", expanding=True)), alerts.c.undelivered)
    .where(alerts.c.received_at > NOW - ADOPTED_WITHIN)
)


def _adopt(tx: Transaction, late: dict[Lead, int]) -> Mapping[int, str]:
    if not late:
        return {}
    values = {"emails": [email for _, _, email in late], "now": tx.now}
    adopted: dict[int, str] = {}
    for name, *key in tx.execute(_FOUND, values).all():
        delivery = late.pop(tuple(key), None)
        if delivery is not None:
            taken = sa.update(alerts).where(alerts.c.id == name)
            tx.execute(taken.values(delivery_id=delivery, undelivered=False))
            adopted[delivery] = name
    return adopted


def _too_late(tx: Transaction, found: Sequence[Mention], shown: Collection[Lead]) -> Collection[int]:
    """Found while their delivery was on the way: that has its alert, or gets it in this transaction."""
    if not found:
        return ()
    query = sa.select(alerts.c.workspace, alerts.c.kind, alerts.c.email)
    rows = tx.execute(query.where(alerts.c.email.in_({one.lead[2] for one in found})))
    there = {*shown, *(tuple(row) for row in rows)}
    late: set[int] = set()
    for one in found:
        if one.lead in there:
            late.add(one.delivery)
        there.add(one.lead)
    return late


_BEGUN = ""
"""The row that says that a first look has been taken."""
NOTED = 86_400.0
"""Seconds after which it is written down again that a lead is still listed."""


class Compared(NamedTuple):
    """How many listed leads were found late, how many may still get their delivery, and how many were not known yet."""

    late: int
    candidates: int
    unknown: int


class FoundLeads(Repository):
    """Interested leads that the API shows."""

    @reads
    def has_begun(self, tx: Transaction, workspace: str) -> bool:
        """Whether a first look at all leads has been taken."""
        c = known_leads.c
        return tx.scalar(sa.select(c.lead).where(c.workspace == workspace, c.lead == _BEGUN)) is not None

    @writes
    def remember(self, tx: Transaction, workspace: str, leads: Collection[str]) -> None:
        """Of a first look, which an empty `compare` ends: these leads are no news."""
        _remember(tx, workspace, sorted(leads), since=None)

    @writes
    def compare(
        self, tx: Transaction, workspace: str, bodies: Mapping[str, bytes], *, grace: float
    ) -> Compared:
        """Store a found delivery for each of these leads that is news."""
        known = _known(tx, workspace, sorted(bodies))
        if _BEGUN not in known:
            _remember(tx, workspace, [_BEGUN, *bodies], since=None)
            return Compared(0, 0, len(bodies))
        unknown = {lead for lead in bodies if lead not in known or known[lead] is not None}
        announced = _announced(tx, workspace, unknown)
        _remember(tx, workspace, sorted(announced), since=None)
        ripe = sorted(
            lead
            for lead in unknown - announced
            if lead in known and tx.now - (known[lead] or tx.now) >= grace
        )
        _remember(tx, workspace, sorted(unknown - announced - set(known)), since=tx.now)
        _remember(tx, workspace, ripe, since=None)
        store_own(tx, [Arrival(workspace=workspace, body=bodies[lead], at=tx.now) for lead in ripe])
        return Compared(len(ripe), len(unknown - announced) - len(ripe), len(unknown))


def _known(tx: Transaction, workspace: str, leads: Sequence[str]) -> dict[str, float | None]:
    """Since when each lead is a candidate, None: no news; of those that are listed, which are noted as seen."""
    c, found = known_leads.c, dict[str, float | None]()
    for chunk in portions([_BEGUN, *leads]):
        keys = {_key(lead): lead for lead in chunk}
        mine = (c.workspace == workspace) & c.lead.in_(keys)
        rows = tx.execute(sa.select(c.lead, c.candidate_since, c.seen_at).where(mine)).all()
        found |= {keys[row.lead]: row.candidate_since for row in rows}
        stale = [row.lead for row in rows if row.lead and (row.seen_at or 0.0) < tx.now - NOTED]
        if stale:
            seen = sa.update(known_leads).where(c.workspace == workspace, c.lead.in_(stale))
            tx.execute(seen.values(seen_at=tx.now))
    return found


def _key(lead: str) -> str:
    return lead_key(lead) if lead else _BEGUN


def _announced(tx: Transaction, workspace: str, leads: set[str]) -> set[str]:
    mine = (alerts.c.workspace == workspace) & (alerts.c.kind == INTERESTED)
    found: set[str] = set()
    for chunk in portions(sorted(leads)):
        query = sa.select(alerts.c.email).where(mine, alerts.c.email.in_(chunk))
        found |= set(tx.execute(query).scalars())
    return found


def _remember(tx: Transaction, workspace: str, leads: Sequence[str], *, since: float | None) -> None:
    if not leads:
        return
    rows = [
        {
            "workspace": workspace,
            "lead": _key(lead),
            "candidate_since": since,
            "seen_at": tx.now if lead else None,
        }
        for lead in leads
    ]
    tx.execute(tx.upsert(known_leads, "candidate_since"), rows)


def store_own(tx: Transaction, found: Sequence[Arrival]) -> None:
    """Write what the bot found out itself, as deliveries that never came: no count of the service's has them."""
    if not found:
        return
    rows = [
        {
            "dkey": one.dkey,
            "workspace": one.workspace,
            "body": one.body,
            "found": True,
            "received_at": one.at,
            "last_at": one.at,
            "seen": 1,
            "pending": True,
        }
        for one in found
    ]
    tx.execute(tx.insert_once(deliveries), rows)
