"""Guardrails: the rules that people added, what is counted for them, and the incidents that they found.

An incident is one row while its condition lasts, stored before anything is done and inserted together with the job
that acts on it. Whoever has the job acts. If that process dies, its lease expires, and another continues from the row;
only one of them can complete it, in the transaction that reports it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from typing import Any

import sqlalchemy as sa

from shared.domain.event_kinds import PAUSED
from shared.domain.wall_clock import DAY, HOUR
from shared.guardrails.activity import HORIZON, domain_of
from shared.guardrails.rule import EVENT_OF, parse, subject_key
from shared.records import (
    ALL,
    CLOSED,
    POLL,
    AuditEntry,
    CountSample,
    Happening,
    Incident,
    RuleFinding,
    StoredRule,
    Switch,
)
from shared.store import facts, jobs, messages
from shared.store.alerts import open_card
from shared.store.audit import add_entry
from shared.store.db.engine import Repository, Transaction, method, portions, reads, writes
from shared.store.db.schema import incidents, posts, samples, sightings
from shared.store.deliveries import heard_since
from shared.store.jobs import Job
from shared.store.messages import PlannedPost

SLOT_SECONDS = 1800.0
"""A day's counts are kept once in each slot: what a subject sent before a window began is known to half an hour."""
LEFT_OUT = -1
"""The number in the place of a count that the service left out."""
PORTION_SECONDS = 6 * HOUR
"""The time of which all counts are read at once."""
HELD_EVERY = 300.0
"""Seconds between two notes that a condition still holds."""
LOOK_BACK_SECONDS = 30 * DAY
FOREVER = float("inf")


def _within(table: Any, columns: Iterable[sa.ColumnElement[Any]]) -> sa.Select[Any]:
    """The rows of a `workspace` from `since` to `until`."""
    c = table.c
    query = sa.select(*columns).where(c.workspace == sa.bindparam("workspace"))
    return query.where(c.at >= sa.bindparam("since"), c.at < sa.bindparam("until"))


def _last_of_days() -> sa.Select[Any]:
    """The last counts of each day, and every poll."""
    of_day = [key for key in samples.primary_key.columns if key.name != "slot"]
    newest_first = sa.func.row_number().over(partition_by=of_day, order_by=samples.c.at.desc())
    ranked = _COUNTS.add_columns(newest_first.label("rank")).subquery().c
    query = sa.select(*(ranked[column.name] for column in _SAMPLE))
    return query.where((ranked.rank == 1) | (ranked.scope == POLL)).order_by(ranked.at)


# Built once: they are asked for each portion of the past, and building one takes as long as running it.
_FIELDS = [field.name for field in fields(CountSample)]
_SAMPLE = [samples.c[name] for name in _FIELDS]
_COUNTS = _within(samples, _SAMPLE)
_ALL_COUNTS, _LAST_COUNTS = _COUNTS.order_by(samples.c.at), _last_of_days()
_HAPPENINGS = (
    _within(sightings, (sightings.c[field.name] for field in fields(Happening)))
    .where(sightings.c.kind.in_([*EVENT_OF.values()]))
    .order_by(sightings.c.at)
)


def _happenings(tx: Transaction, workspace: str, since: float, until: float = FOREVER) -> list[Happening]:
    """The deliveries of a workspace in this time, the first first."""
    return tx.read(Happening, _HAPPENINGS, {"workspace": workspace, "since": since, "until": until})


def _samples(
    tx: Transaction, workspace: str, since: float, until: float = FOREVER, *, last_only: bool = False
) -> list[CountSample]:
    """The counts of a workspace within a time; or the last of each day in it, and every poll.

    The last ones are enough where no window begins; between polls lie outages.
    """
    query = _LAST_COUNTS if last_only else _ALL_COUNTS
    return tx.read(_sample, query, {"workspace": workspace, "since": since, "until": until})


class Guardrails(Repository):
    """The rules, their switches, and what is counted for them."""

    @reads
    def rules(self, tx: Transaction, workspace: str) -> Sequence[StoredRule]:
        """The rules of one workspace, by name."""
        return [StoredRule(**fact.value) for fact in facts.listed(tx, "rule", workspaces=[workspace])]

    @writes
    def add_rule(self, tx: Transaction, workspace: str, rule: StoredRule) -> bool:
        """Add a rule; False: one of this name is there."""
        added = facts.put(tx, "rule", rule.name, asdict(rule), workspace=workspace, at=tx.now, once=True)
        if added:
            facts.drop(tx, "switch", rule.name, workspace=workspace)
        return added

    @writes
    def remove_rule(self, tx: Transaction, workspace: str, name: str) -> bool:
        """Remove a rule with its switch; False: there was none."""
        facts.drop(tx, "switch", name, workspace=workspace)
        return facts.drop(tx, "rule", name, workspace=workspace)

    @reads
    def switches(self, tx: Transaction, workspace: str) -> Sequence[Switch]:
        """The switches that count in a workspace."""
        switches = facts.listed(tx, "switch", workspaces={workspace, ALL})
        return [Switch(rule=fact.key, until=fact.at, **fact.value) for fact in switches]

    @writes
    def switch_off(self, tx: Transaction, workspace: str, switch: Switch) -> None:
        """Turn a rule off, or all of them in every workspace."""
        _put_switch(tx, workspace if switch.rule else ALL, switch)

    @writes
    def switch_on(self, tx: Transaction, workspace: str, rule: str) -> bool:
        """Turn a rule, or all of them, on again; False: it wasn't off."""
        return facts.drop(tx, "switch", rule, workspace=workspace if rule else ALL)

    @writes
    def rest_undone(self, tx: Transaction, change: int, by: str) -> Switch | None:
        """Snooze the rule whose pause was taken back; None: that change wasn't a guardrail's."""
        query = sa.select(incidents.c.workspace, incidents.c.rule).where(incidents.c.change == change)
        row = tx.execute(query).one_or_none() if change else None
        if row is None:
            return None
        switch = Switch(rule=row.rule, by=by, at=tx.now, until=tx.now + DAY)
        before = facts.find(tx, "switch", row.rule, workspace=row.workspace)
        if before is None or before.at is not None:  # what a person turned off stays off
            _put_switch(tx, row.workspace, switch)
        return switch

    @reads
    def incidents(self, tx: Transaction, workspace: str, since: float) -> Sequence[Incident]:
        """The incidents of a workspace that began since then, the newest first."""
        which = (incidents.c.workspace == workspace) & (incidents.c.began_at >= since)
        return _read(tx, which, by=incidents.c.id.desc())

    happenings = reads(method(_happenings))
    samples = reads(method(_samples))

    @reads
    def senders(
        self, tx: Transaction, workspace: str, since: float, kinds: Collection[str]
    ) -> Mapping[tuple[str, str], int]:
        """Count the deliveries of these kinds since then, by the keys of the sequence and of the domain that sent."""
        s, counts = sightings.c, Counter[tuple[str, str]]()
        which = (s.workspace == workspace) & (s.at >= since) & s.kind.in_(kinds)
        by = (s.sequence, s.domain, s.inbox)
        query = sa.select(*by, sa.func.count()).where(which).group_by(*by)
        for sequence, domain, inbox, count in tx.execute(query):
            counts[subject_key(sequence), subject_key(domain) or domain_of(inbox)] += count
        return counts

    heard_since = reads(method(heard_since))

    async def past(
        self, workspace: str, now: float, spans: Iterable[float] | None = None
    ) -> AsyncIterator[tuple[list[Happening], list[CountSample]]]:
        """What is stored of a workspace, in portions: of a large account it is millions of rows.

        Every count is there of days on which a window begins that is so many seconds long; None: of all days. Of the
        others the last ones are.
        """
        edges = set[float]()
        if spans is not None:
            heard = await self.heard_since(workspace)
            # Where a window begins, its next count may matter; the windows move on until all is read again.
            ages = (now - age + late for age in (0.0, *spans) for late in (0.0, 2 * HOUR))
            edges = {at // DAY for at in (*ages, heard or now)}
        first = await self._first(now - HORIZON, now)
        start = first // DAY * DAY
        while start <= now:
            is_whole = spans is None or start // DAY in edges
            end = start + (PORTION_SECONDS if is_whole else DAY)
            if end > first:  # a new bot has a month of which nothing is stored
                until = FOREVER if end > now else end
                happened = await self.happenings(workspace, start, until)
                counted = await self.samples(workspace, start, until, last_only=not is_whole)
                if happened or counted:
                    yield happened, counted
            start = end

    @reads
    def _first(self, tx: Transaction, since: float, now: float) -> float:
        """The time of the first thing that is kept since then, of any workspace, or now: one look at each index."""
        firsts = [
            sa.select(sa.func.min(kept.c.at)).where(kept.c.at >= since) for kept in (sightings, samples)
        ]
        # A clock that was set back has left things that are later than now.
        return min(now, *(tx.scalar(first) or now for first in firsts))

    @reads
    def closed_days(self, tx: Transaction, workspace: str) -> frozenset[int]:
        """The days whose whole counts are kept."""
        closed = (samples.c.workspace == workspace) & (samples.c.scope == CLOSED)
        return frozenset(tx.scalars(sa.select(samples.c.day).where(closed)))

    async def keep(self, workspace: str, new: Sequence[CountSample]) -> None:
        """Keep counts: the newest of each slot. What comes last is written last."""
        rows = [
            {
                **_values_of(sample),
                "health": sample.health,
                "workspace": workspace,
                "slot": int(sample.at % DAY // SLOT_SECONDS),
            }
            for sample in new
        ]
        for portion in portions(rows):
            await self._keep(portion)

    @writes
    def _keep(self, tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
        new = tx.insert(samples)
        newest = {name: new.excluded[name] for name in ("at", "sends", "replies", "positive", "health")}
        is_newer = samples.c.at < new.excluded.at
        keys = samples.primary_key.columns
        tx.execute(new.on_conflict_do_update(index_elements=keys, set_=newest, where=is_newer), rows)


def _values_of(sample: CountSample) -> dict[str, Any]:
    """The fields as a row has them. `asdict` would copy each of the hundred thousand numbers of a large account."""
    values = {name: getattr(sample, name) for name in _FIELDS}
    return {name: LEFT_OUT if value is None else value for name, value in values.items()}


def _put_switch(tx: Transaction, workspace: str, switch: Switch) -> None:
    """Turn a rule off until a moment; None: until a person turns it on."""
    value = {"by": switch.by, "at": switch.at}
    facts.put(tx, "switch", switch.rule, value, workspace=workspace, at=switch.until)


def _sample(**kept: Any) -> CountSample:
    values: dict[str, Any] = {name: None if value == LEFT_OUT else value for name, value in kept.items()}
    return CountSample(**values)


class Incidents(Repository):
    """The incidents, and who works on them."""

    @writes
    def begin(
        self,
        tx: Transaction,
        finding: RuleFinding,
        post: PlannedPost | None = None,
        *,
        left: Sequence[str] = (),
        paused_now: Collection[str] = (),
    ) -> str:
        """Begin an incident; returns why nothing begins: `known`, `off`, `per day` or `at once`; empty where it did.

        `post` tells it at once, without an act. Where its domain's trouble is told already, nothing new is
        posted: the card of its pause shows it, or the message about it when it is drawn again. Of an act,
        `left` are the names that the rule's limit leaves, and `paused_now` the sequences that are paused, by whomever.
        """
        # Two who evaluate a workspace begin one after the other: limits hold, and one trouble of a domain is told once.
        jobs.find(tx, "evaluate", finding.workspace, "", locked=True)
        if refusal := _refusal(tx, finding, paused_now):
            return refusal
        told = post.dedupe if post else ""
        if post and finding.domain:
            post, told = _placed(tx, finding, post)
        values = {**asdict(finding), "sequences": json.dumps([*finding.sequences])}
        values["state"] = "done" if post else "decided"
        new = tx.insert(incidents).values(**values, began_at=tx.now, held_at=tx.now, told=told)
        row = tx.execute(new.on_conflict_do_nothing().returning(incidents.c.id)).one_or_none()
        if row is None:
            return "known"
        if not post:
            jobs.put(tx, "act", str(row.id), workspace=finding.workspace, payload={"left": [*left]})
        elif post.channel:
            messages.plan(tx, [(finding.workspace, post)])
        return ""

    @reads
    def open(self, tx: Transaction, workspace: str) -> Sequence[Incident]:
        """The incidents of a workspace whose condition lasts, the oldest first."""
        return _read(tx, (incidents.c.workspace == workspace) & _IS_OPEN)

    @writes
    def retell(self, tx: Transaction, incident: Incident, note: str, *, moved: str) -> bool:
        """Have the message of an incident say how what it is about is now; returns whether it changed.

        It says `moved` from the moment on at which the card of its domain's pause shows the incident.
        """
        card = open_card(tx, incident.workspace, incident.domain) if incident.domain else None
        values: dict[str, Any] = {"note": note}
        if card and card.kind == PAUSED:
            c = incidents.c
            told = (c.workspace == incident.workspace) & (c.told == incident.told) & _IS_OPEN
            tx.update(incidents, told, told="")
            values = {"note": moved, "condensed": True}
        news = (posts.c.dedupe == incident.told) & (posts.c.note != values["note"])
        return messages.redraw(tx, news, **values) == 1

    @reads
    def decided(self, tx: Transaction, job: Job) -> Incident | None:
        """The incident that a job is to act on; None where that is over."""
        which = (incidents.c.id == int(job.key)) & (incidents.c.state == "decided")
        return next(iter(_read(tx, which)), None)

    @writes
    def asking(self, tx: Transaction, job: Job, incident: Incident, sequences: Sequence[str]) -> bool:
        """Write down, before the request, whose pauses are asked of the service.

        False: another process has taken over, or the rule was turned off.
        """
        if _is_off(tx, incident.workspace, incident.rule):
            return False
        if not jobs.held(tx, job):
            return False
        jobs.note(tx, job, {**job.payload, "asked": [*sequences]}, due_at=None)
        return True

    @writes
    def finish(
        self, tx: Transaction, job: Job, incident: Incident, entry: AuditEntry, post: PlannedPost
    ) -> bool:
        """End an act: its entry in the audit, its Undo and its message, together and once; False: another did."""
        if not (jobs.held(tx, job) and jobs.done(tx, job)):
            return False
        number = add_entry(tx, entry)
        undo = number if entry.undoable else 0
        state = "done" if entry.effect == "paused" else "failed"
        values = {"state": state, "sequences": json.dumps(entry.sequences), "change": undo}
        tx.update(incidents, incidents.c.id == incident.id, **values)
        if post.channel:
            messages.plan(tx, [(incident.workspace, replace(post, undo=undo))])
        return True

    @writes
    def held(self, tx: Transaction, ids: Collection[int]) -> None:
        """The conditions of these hold still."""
        tx.update(incidents, incidents.c.id.in_(ids), held_at=tx.now)

    @writes
    def end(self, tx: Transaction, ids: Collection[int]) -> None:
        """End incidents: the next one about their subject is a new one."""
        tx.update(incidents, incidents.c.id.in_(ids) & _IS_OPEN, ended_at=tx.now)


_IS_OPEN = incidents.c.ended_at.is_(None)


def _placed(tx: Transaction, finding: RuleFinding, post: PlannedPost) -> tuple[PlannedPost, str]:
    """The message as it is to be planned, and the dedupe of the one that tells of the domain's trouble.

    It has no channel where nothing is to be posted.
    """
    card = open_card(tx, finding.workspace, finding.domain)
    if card and card.kind == PAUSED:
        return replace(post, channel=""), ""
    if card:  # its DNS is broken: what else is found goes to the thread of that card
        return replace(post, alert_id=card.id), ""
    c = incidents.c
    of_domain = (c.workspace == finding.workspace) & (c.domain == finding.domain) & _IS_OPEN & (c.told != "")
    told = tx.scalar(sa.select(c.told).where(of_domain).order_by(c.id).limit(1))
    return (replace(post, channel=""), told) if told else (post, post.dedupe)


_INCIDENT = [incidents.c[field.name] for field in fields(Incident)]


def _read(
    tx: Transaction, which: sa.ColumnElement[bool], *, by: sa.ColumnElement[Any] = incidents.c.id
) -> list[Incident]:
    return tx.read(_incident, sa.select(*_INCIDENT).where(which).order_by(by))


def _incident(sequences: str, **values: Any) -> Incident:
    return Incident(sequences=tuple(json.loads(sequences)), **values)


def _is_off(tx: Transaction, workspace: str, rule: str) -> bool:
    switches = (
        facts.find(tx, "switch", rule, workspace=workspace),
        facts.find(tx, "switch", ALL, workspace=ALL),
    )
    return any(switch and (switch.at is None or switch.at > tx.now) for switch in switches)


def _refusal(tx: Transaction, finding: RuleFinding, paused_now: Collection[str]) -> str:
    """The reason why nothing may begin, as the database stands now; empty where it may."""
    c, rule = incidents.c, parse(finding.sentence)
    of_rule = (c.workspace == finding.workspace) & (c.rule == finding.rule)
    if tx.has(of_rule & (c.subject == finding.subject) & _IS_OPEN):
        return "known"
    if _is_off(tx, finding.workspace, finding.rule):
        return "off"
    lately = of_rule & (c.action == finding.action) & (c.began_at >= tx.now - LOOK_BACK_SECONDS)
    recent = tx.execute(sa.select(c.began_at, c.sequences, c.state).where(lately)).all()
    if rule.per_day and sum(row.began_at >= tx.now - DAY for row in recent) >= rule.per_day:
        return "per day"
    if finding.sequences and rule.at_once:
        paused = {
            name
            for row in recent
            for name in json.loads(row.sequences)
            if row.state == "decided" or (row.state == "done" and name in paused_now)
        }
        if len(paused | {*finding.sequences}) > rule.at_once:
            return "at once"
    return ""
