"""Stored guardrails: added rules, switches, and the counts for evaluation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa

from shared.domain.wall_clock import DAY, HOUR
from shared.guardrails.activity import domain_of
from shared.guardrails.rule import EVENT_OF, subject_key
from shared.records.guardrails import ALL, CLOSED, POLL, CountSample, Happening, Incident, StoredRule, Switch
from shared.store import facts
from shared.store.db.engine import Repository, Transaction, portions, reads, writes
from shared.store.db.guardrail_schema import incidents, samples
from shared.store.db.schema import sightings
from shared.store.facts import RULE, SWITCH, Fact
from shared.store.incidents import read_incident
from shared.store.queue.intake import heard_since

SLOT = 900.0
"""Seconds: a day's counts are kept once in each, and each hour once when they are older than `THINNED`."""
THINNED, KEPT = 3 * DAY, 40 * DAY
SAMPLES_AT_ONCE = 250
"""Rows that one transaction writes or deletes, so that the intake never waits long."""
MARK = {"workspace": ALL, "day": 0, "slot": 0, "scope": "thinned", "key": ""}
"""The row whose time says until when everything is thinned; of no workspace, so that nothing counts it."""
LEFT_OUT = -1
"""In the place of a count that the service left out."""
_SAMPLE = [
    samples.c[name] for name in ("scope", "key", "day", "at", "sends", "replies", "positive", "health")
]
_KEY = list(samples.primary_key.columns)
_HAPPENING = [sightings.c[name] for name in ("at", "kind", "sequence", "inbox", "domain")]


class Guardrails(Repository):
    """Implements `shared.records.guardrails.GuardRecords`."""

    @reads
    def rules(self, tx: Transaction, workspace: str) -> Sequence[StoredRule]:
        """Those of one workspace, by name."""
        return [_rule(one) for one in facts.listed(tx, RULE, workspaces=[workspace])]

    @reads
    def all_rules(self, tx: Transaction) -> Mapping[str, Sequence[StoredRule]]:
        """Those of every workspace that has any."""
        found: defaultdict[str, list[StoredRule]] = defaultdict(list)
        for one in facts.listed(tx, RULE):
            found[one.workspace].append(_rule(one))
        return found

    @writes
    def add_rule(self, tx: Transaction, workspace: str, rule: StoredRule) -> bool:
        """Add a rule; False: one of this name is there."""
        added = facts.add(tx, RULE, rule.name, asdict(rule), workspace=workspace, at=tx.now)
        if added:
            facts.drop(tx, SWITCH, rule.name, workspace=workspace)
        return added

    @writes
    def remove_rule(self, tx: Transaction, workspace: str, name: str) -> bool:
        """Remove a rule with its switch; whether there was one."""
        facts.drop(tx, SWITCH, name, workspace=workspace)
        return facts.drop(tx, RULE, name, workspace=workspace)

    @reads
    def switches(self, tx: Transaction, workspace: str) -> Sequence[Switch]:
        return [_switch(one) for one in facts.listed(tx, SWITCH, workspaces={workspace, ALL})]

    @reads
    def all_switches(self, tx: Transaction) -> Mapping[str, Sequence[Switch]]:
        """The same of every workspace; that of all under `ALL`."""
        found: defaultdict[str, list[Switch]] = defaultdict(list)
        for one in facts.listed(tx, SWITCH):
            found[one.workspace].append(_switch(one))
        return found

    @writes
    def switch_off(self, tx: Transaction, workspace: str, switch: Switch) -> None:
        """Turn a rule off, or all of them in every workspace."""
        put_switch(tx, workspace if switch.rule else ALL, switch)

    @writes
    def switch_on(self, tx: Transaction, workspace: str, rule: str) -> bool:
        """Turn a rule, or all of them, on again; whether it was off."""
        return facts.drop(tx, SWITCH, rule, workspace=workspace if rule else ALL)

    @writes
    def rest_undone(self, tx: Transaction, change: int, by: str) -> Switch | None:
        """Snooze the rule whose pause was taken back; None: that change was no guardrail's."""
        query = sa.select(incidents.c.workspace, incidents.c.rule).where(incidents.c.change == change)
        row = tx.execute(query).one_or_none() if change else None
        if row is None:
            return None
        switch = Switch(rule=row.rule, by=by, at=tx.now, until=tx.now + DAY)
        before = facts.find(tx, SWITCH, row.rule, workspace=row.workspace)
        if before is None or before.at is not None:  # what a person turned off stays off
            put_switch(tx, row.workspace, switch)
        return switch

    @reads
    def incidents(self, tx: Transaction, workspace: str, since: float) -> Sequence[Incident]:
        which = (incidents.c.workspace == workspace) & (incidents.c.began_at >= since)
        query = sa.select(incidents).where(which).order_by(incidents.c.id.desc())
        return [read_incident(row) for row in tx.execute(query)]

    @reads
    def happenings(
        self, tx: Transaction, workspace: str, since: float, until: float = float("inf")
    ) -> Sequence[Happening]:
        s = sightings.c
        which = (s.workspace == workspace) & (s.at >= since) & (s.at < until)
        query = sa.select(*_HAPPENING).where(which, s.kind.in_([*EVENT_OF.values()])).order_by(s.at)
        return [Happening(**row._asdict()) for row in tx.execute(query)]

    @reads
    def seen_on(self, tx: Transaction, workspace: str, domain: str, since: float) -> Mapping[str, int]:
        """How many of those deliveries each sequence had on a domain, by the key of its name."""
        s = sightings.c
        which = (s.workspace == workspace) & (s.at >= since) & s.kind.in_([*EVENT_OF.values()])
        query = sa.select(s.sequence, s.domain, s.inbox, sa.func.count()).where(which)
        counts: Counter[str] = Counter()
        for sequence, known, inbox, count in tx.execute(query.group_by(s.sequence, s.domain, s.inbox)):
            if (subject_key(known) or domain_of(inbox)) == domain:
                counts[subject_key(sequence)] += count
        return counts

    @reads
    def origin(self, tx: Transaction, workspace: str, sequence: str, kind: str, since: float) -> str:
        """The domain from which at least half of a sequence's deliveries of a kind came; empty: there is none."""
        s = sightings.c
        which = (s.workspace == workspace) & (s.at >= since) & (s.kind == kind)
        query = sa.select(s.sequence, s.domain, s.inbox, sa.func.count()).where(which)
        counts: Counter[str] = Counter()
        for name, known, inbox, count in tx.execute(query.group_by(s.sequence, s.domain, s.inbox)):
            if subject_key(name) == sequence:
                counts[subject_key(known) or domain_of(inbox)] += count
        most = max(counts, key=lambda domain: counts[domain], default="")
        return most if counts[most] * 2 >= counts.total() else ""

    @reads
    def happened(
        self, tx: Transaction, since: float, until: float = float("inf")
    ) -> Sequence[tuple[int, str, Happening]]:
        """The deliveries of every workspace in this time, each with its number and its workspace."""
        s = sightings.c
        query = sa.select(s.delivery_id, s.workspace, *_HAPPENING).order_by(s.at)
        query = query.where(s.at >= since, s.at < until, s.kind.in_([*EVENT_OF.values()]))
        return [
            (number, name, Happening(at=at, kind=kind, sequence=sequence, inbox=inbox, domain=domain))
            for number, name, at, kind, sequence, inbox, domain in tx.execute(query)
        ]

    @reads
    def heard_since(self, tx: Transaction, workspace: str) -> float | None:
        return heard_since(tx, workspace)

    @reads
    def samples(
        self,
        tx: Transaction,
        workspace: str,
        since: float,
        until: float = float("inf"),
        *,
        last_only: bool = False,
    ) -> Sequence[CountSample]:
        query = _between(since, until, last_only=last_only, workspace=workspace)
        return [_sample(values) for _, *values in tx.execute(query)]

    @reads
    def sampled(
        self, tx: Transaction, since: float, until: float = float("inf"), *, last_only: bool = False
    ) -> Sequence[tuple[str, CountSample]]:
        """The counts of every workspace in this time, each with its workspace; or only the last of each day in it."""
        query = _between(since, until, last_only=last_only)
        return [(name, _sample(values)) for name, *values in tx.execute(query)]

    @reads
    def closed_days(self, tx: Transaction, workspace: str) -> frozenset[int]:
        """The days whose whole counts are kept."""
        closed = (samples.c.workspace == workspace) & (samples.c.scope == CLOSED)
        return frozenset(tx.scalars(sa.select(samples.c.day).where(closed)))

    async def keep(self, workspace: str, new: Sequence[CountSample]) -> None:
        """Keep counts: the newest of each slot. What comes last is written last."""
        rows = [
            {"workspace": workspace, "slot": int(one.at % 86_400 // SLOT), **asdict(one), **_counts(one)}
            for one in new
        ]
        for portion in portions(rows, SAMPLES_AT_ONCE):
            await self._keep(portion)

    @writes
    def _keep(self, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
        statement = tx.insert(samples)
        values = ("at", "sends", "replies", "positive", "health")
        newest = {name: statement.excluded[name] for name in values}
        tx.execute(
            statement.on_conflict_do_update(
                index_elements=_KEY, set_=newest, where=samples.c.at < statement.excluded.at
            ),
            rows,
        )

    async def prune(self) -> None:
        """Keep one row of each hour of what is older, nothing of what is old; in portions, as others write too."""
        await self._forget_incidents()
        while gone := await self._expired():
            await self._delete(gone)
        start, end = await self._unthinned()
        while start < end:
            crowded = await self._crowded(start)
            for portion in portions(crowded, SAMPLES_AT_ONCE):
                await self._delete(portion)
            start += HOUR
            if crowded or start >= end:
                await self._mark(start)

    @writes
    def _forget_incidents(self, tx: Transaction) -> None:
        old = (incidents.c.began_at < tx.now - KEPT) & incidents.c.ended_at.is_not(None)
        tx.execute(sa.delete(incidents).where(old))

    @reads
    def _expired(self, tx: Transaction) -> Sequence[Mapping[str, Any]]:
        query = (
            sa.select(*_KEY).where(samples.c.at < tx.now - KEPT).order_by(samples.c.at).limit(SAMPLES_AT_ONCE)
        )
        return [row._asdict() for row in tx.execute(query)]

    @reads
    def _unthinned(self, tx: Transaction) -> tuple[float, float]:
        """The first hour that isn't thinned yet, and the first that is too new for it."""
        end = (tx.now - THINNED) // HOUR * HOUR
        marked = sa.and_(*(samples.c[name] == value for name, value in MARK.items()))
        start = tx.scalar(sa.select(samples.c.at).where(marked))
        if start is None or start > end:  # a clock that was ahead has marked too much
            start = tx.scalar(sa.select(sa.func.min(samples.c.at)))
        return (end if start is None else start // HOUR * HOUR), end

    @reads
    def _crowded(self, tx: Transaction, start: float) -> Sequence[Mapping[str, Any]]:
        """The rows of an hour that a later one of the same hour makes superfluous."""
        c = samples.c
        later = sa.func.row_number().over(
            partition_by=(c.workspace, c.day, c.scope, c.key), order_by=c.slot.desc()
        )
        ranked = sa.select(*_KEY, later.label("rank")).where(c.at >= start, c.at < start + HOUR).subquery()
        query = sa.select(*(ranked.c[one.name] for one in _KEY)).where(ranked.c.rank > 1)
        return [row._asdict() for row in tx.execute(query)]

    @writes
    def _delete(self, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
        which = sa.and_(*(one == sa.bindparam(f"old_{one.name}") for one in _KEY))
        tx.execute(
            sa.delete(samples).where(which),
            [{f"old_{name}": value for name, value in row.items()} for row in rows],
        )

    @writes
    def _mark(self, tx: Transaction, until: float) -> None:
        tx.execute(tx.upsert(samples, "at").values(at=until, **MARK))


def _counts(one: CountSample) -> dict[str, int]:
    counts = {"sends": one.sends, "replies": one.replies, "positive": one.positive}
    return {name: LEFT_OUT if count is None else count for name, count in counts.items()}


def _between(since: float, until: float, *, last_only: bool, workspace: str | None = None) -> sa.Select[Any]:
    """The counts of one workspace or of all within a time, each with its workspace; or the last of each day in it, and every poll."""
    c = samples.c
    query = sa.select(c.workspace, *_SAMPLE).where(c.at >= since, c.at < until)
    if workspace is not None:
        query = query.where(c.workspace == workspace)
    if last_only:
        rank = sa.func.row_number().over(
            partition_by=(c.workspace, c.day, c.scope, c.key), order_by=c.slot.desc()
        )
        ranked = query.add_columns(rank.label("rank")).subquery()
        kept = (ranked.c.rank == 1) | (ranked.c.scope == POLL)  # between readings lie outages
        query = sa.select(ranked.c.workspace, *(ranked.c[one.name] for one in _SAMPLE)).where(kept)
    return query.order_by(query.selected_columns.at)


def _sample(values: Iterable[Any]) -> CountSample:
    scope, key, day, at, sends, replies, positive, health = values
    sends, replies, positive = (None if one == LEFT_OUT else one for one in (sends, replies, positive))
    return CountSample(
        scope=scope, key=key, day=day, at=at, sends=sends, replies=replies, positive=positive, health=health
    )


def put_switch(tx: Transaction, workspace: str, switch: Switch) -> None:
    """Turn a rule off until a moment; None: until a person turns it on."""
    value = {"by": switch.by, "at": switch.at}
    facts.put(tx, SWITCH, switch.rule, value, workspace=workspace, at=switch.until)


def _rule(one: Fact) -> StoredRule:
    kept = {name: str(one.value.get(name, "")) for name in ("sentence", "added_by", "added_name")}
    return StoredRule(name=one.key, **kept)


def _switch(one: Fact) -> Switch:
    return Switch(rule=one.key, by=str(one.value.get("by", "")), at=one.value.get("at", 0.0), until=one.at)
