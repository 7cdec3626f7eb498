"""The sending domains: which are due for a check, how their DNS stands, and how it changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from datetime import datetime

import sqlalchemy as sa

from shared.domain.event_kinds import PAUSED
from shared.domain.wall_clock import HOUR
from shared.domain_health.report import DomainChange, DomainReport, Followed, decode, encode
from shared.frozen import frozen
from shared.store import deliveries, facts, jobs
from shared.store.alerts import open_card, update_subject
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.schema import domains, literal
from shared.store.db.schema import facts as fact_rows
from shared.store.deliveries import Arrival, alert_id
from shared.store.jobs import Job
from shared.store.messages import PlannedPost

FALL = 10.0
"""Points by which a domain's lowest score falls before it is checked at once."""


@frozen
class DueDomain:
    """A domain that this process is to check, as long as it has the job."""

    domain: str
    job: Job
    report: DomainReport | None = None
    """Its state before; None where it was never checked."""
    incidents: Mapping[str, str] = field(default_factory=dict)
    """The alert of each workspace about problems that aren't over."""
    workspaces: Sequence[str] = ()
    """The workspaces that send from it."""


@frozen
class News:
    """News for the workspaces that send from a domain: on the card of its problem, or as a new event."""

    body: bytes
    """The body of the event."""
    standing: str
    """The present state of the domain, for the card."""
    note: PlannedPost
    """The note for the card's thread."""
    recovered: bool = False
    held_until: Callable[[str], float | None] = lambda _channel: None
    """The function that gives until when a note waits in a channel."""


_BROKEN = (
    sa.select(domains.c.domain, domains.c.broken)
    .join(fact_rows, (fact_rows.c.kind == "sender") & (fact_rows.c.key == domains.c.domain))
    .where(domains.c.broken != literal(""))  # in the words of the index
)
"""The broken domains of the workspaces that send from them, and which of their checks are broken."""


class Domains(Repository):
    """The domains that are checked."""

    @writes
    def watch(self, tx: Transaction, workspace: str, health: Mapping[str, float | None]) -> None:
        """Note which domains a workspace sends from, each with its lowest score; a fall makes a check due."""
        senders = {fact.key: fact for fact in facts.listed(tx, "sender", workspaces=[workspace])}
        fallen = set[str]()
        for domain, score in health.items():
            sender = senders.get(domain)
            best = sender.value.get("health") if sender else None
            fell = score is not None and best is not None and score <= best - FALL
            rose = score is not None and (best is None or score > best)
            if fell:
                fallen.add(domain)
            if sender is None or fell or rose or (sender.at or 0.0) < tx.now - HOUR:
                level = score if fell or rose else best
                facts.put(tx, "sender", domain, {"health": level}, workspace=workspace, at=tx.now)
        jobs.put(tx, "domain", *(health.keys() - senders.keys()))
        jobs.hurry(tx, "domain", fallen)

    @reads
    def due(self, tx: Transaction, job: Job) -> DueDomain:
        """The domain that a job is to check, as it stands."""
        row = tx.find(domains, domain=job.key)
        return DueDomain(
            domain=job.key,
            job=job,
            report=decode(DomainReport, row.report) if row and row.report else None,
            incidents=json.loads(row.incident) if row and row.incident else {},
            workspaces=tuple(fact.workspace for fact in facts.listed(tx, "sender") if fact.key == job.key),
        )

    @writes
    def finish(
        self, tx: Transaction, due: DueDomain, followed: Followed, *, after: float, news: News | None = None
    ) -> bool:
        """Write down a check with its changes and events; the next one comes after so many seconds.

        False: its lease had expired, and another process checks it.
        """
        if not jobs.again(tx, due.job, after=after):
            return False
        values = {
            "domain": due.domain,
            "report": encode(followed.report),
            "broken": " ".join(problem.check for problem in followed.report.problems),
        }
        if news:
            values["incident"] = json.dumps(_tell(tx, due, news))
        tx.execute(tx.upsert(domains, *values), values)
        for change in followed.changes:
            at = change.at.timestamp()
            value = {"domain": change.domain, "change": encode(change)}
            facts.put(tx, "change", facts.key_of(change.domain, change.check, repr(at)), value, at=at)
        return True

    @reads
    def reports(self, tx: Transaction, names: Collection[str] | None = None) -> Mapping[str, DomainReport]:
        """The state of these domains, or of all; those that were never checked are left out."""
        mine = sa.true() if names is None else domains.c.domain.in_(names)
        query = sa.select(domains.c.domain, domains.c.report).where(domains.c.report != "", mine)
        rows = tx.execute(query.order_by(domains.c.domain))
        reports = ((row.domain, decode(DomainReport, row.report)) for row in rows)
        return {domain: report for domain, report in reports if report is not None}

    @reads
    def changes(self, tx: Transaction, names: Collection[str], since: datetime) -> Sequence[DomainChange]:
        """The changes of these domains' DNS since then."""
        return _changes(tx, names, since)

    @reads
    def broken(self, tx: Transaction, workspace: str) -> Mapping[str, Sequence[str]]:
        """The domains of a workspace with a confirmed problem, and which of its checks have one."""
        rows = tx.execute(_BROKEN.where(fact_rows.c.workspace == workspace))
        return {row.domain: tuple(row.broken.split()) for row in rows}

    @reads
    def broken_since(
        self, tx: Transaction, workspace: str, since: datetime
    ) -> Sequence[tuple[float, Mapping[str, Sequence[str]]]]:
        """The broken domains of a workspace, at each time since then when that changed."""
        mine = {fact.key for fact in facts.listed(tx, "sender", workspaces=[workspace])}
        broken: dict[str, dict[str, None]] = {}
        states: list[tuple[float, Mapping[str, Sequence[str]]]] = []
        for change in _changes(tx, mine, since):
            checks = broken.setdefault(change.domain, {})
            if change.after.value == "problem":
                checks[change.check] = None
            else:
                checks.pop(change.check, None)
            state = {domain: tuple(checks) for domain, checks in broken.items() if checks}
            states.append((change.at.timestamp(), state))
        return states


def _changes(tx: Transaction, names: Collection[str], since: datetime) -> list[DomainChange]:
    """The changes of these domains since then, the first first; what a newer version wrote is left out."""
    kept = [fact.value for fact in facts.since(tx, "change", since.timestamp())]
    changes = [decode(DomainChange, str(value["change"])) for value in kept if value.get("domain") in names]
    return [change for change in changes if change is not None]


def _tell(tx: Transaction, due: DueDomain, news: News) -> Mapping[str, str]:
    """Update the card of each workspace, or store an event where it has none; returns the incidents that go on."""
    incidents: dict[str, str] = {}
    new: list[Arrival] = []
    for workspace in due.workspaces:
        alert = due.incidents.get(workspace, "")
        card = open_card(tx, workspace, due.domain)
        if card and card.kind == PAUSED:  # one incident is one card: it shows this at its next look
            continue
        is_on_card = alert and update_subject(
            tx, alert, news.standing, note=news.note, recovered=news.recovered, held_until=news.held_until
        )
        if not is_on_card:
            event = Arrival(workspace=workspace, body=news.body, at=tx.now)
            new.append(event)
            alert = alert_id(event.dkey)
        incidents[workspace] = alert
    deliveries.insert(tx, new, found=True)
    return {} if news.recovered else incidents
