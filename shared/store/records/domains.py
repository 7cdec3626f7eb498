"""The sending domains: which are due for a check, how their DNS stands, and how it changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from shared.domain.wall_clock import DAY, HOUR
from shared.domain_health.encoding import decode_change, decode_report, encode_change, encode_report
from shared.domain_health.report import DomainChange, DomainReport, Value
from shared.store import jobs
from shared.store.alerts.subjects import update_subject
from shared.store.db.domain_schema import changes, domains, senders
from shared.store.db.engine import Repository, Transaction, portions, reads, writes
from shared.store.db.schema import jobs as job_rows
from shared.store.jobs import DOMAIN, Job
from shared.store.queue import intake
from shared.store.queue.intake import Arrival, alert_id
from shared.store.queue.outbox import PlannedPost

FALL = 10.0
"""Points by which a domain's lowest score falls before it is checked at once."""
FORGOTTEN_AFTER = 7 * DAY
"""Seconds without an inbox after which a domain is no longer checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueDomain:
    """A domain that this process is to check, as long as it has the job."""

    domain: str
    job: Job
    report: DomainReport | None = None
    """How it stood before; None: it was never checked."""
    incidents: Mapping[str, str] = field(default_factory=dict)
    """The alert of each workspace about problems that aren't over."""
    workspaces: Sequence[str] = ()
    """Those that send from it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What the workspaces that send from a domain are told: on the card of its problem, or as a new event."""

    body: bytes
    """Of the event."""
    standing: str
    """How the domain stands now, for the card."""
    note: PlannedPost
    """What goes into the card's thread."""
    recovered: bool = False
    held_until: Callable[[str], float | None] = lambda _channel: None
    """Until when a note waits in a channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of a check, and what follows from it."""

    report: DomainReport
    due_at: float
    """When to look again."""
    changes: Sequence[DomainChange] = ()
    news: News | None = None


_IS_BROKEN = domains.c.broken != sa.literal("", literal_execute=True)
"""In the words of the index."""


class Domains(Repository):
    """The domains that are checked; implements `shared.records.domains.DomainRecords`."""

    @writes
    def watch(self, tx: Transaction, workspace: str, health: Mapping[str, float | None]) -> None:
        """Note which domains a workspace sends from, each with its lowest score; a fall makes a check due."""
        known = {
            row.domain: row for row in tx.execute(sa.select(senders).where(senders.c.workspace == workspace))
        }
        fallen, noted = set[str](), list[dict[str, Any]]()
        for domain, score in health.items():
            row = known.get(domain)
            best = row.health if row else None
            fell = score is not None and best is not None and score <= best - FALL
            rose = score is not None and (best is None or score > best)
            if fell:
                fallen.add(domain)
            if row is None or fell or rose or row.seen_at < tx.now - HOUR:
                level = score if fell or rose else best
                noted.append({"workspace": workspace, "domain": domain, "seen_at": tx.now, "health": level})
        for chunk in portions(noted):
            tx.execute(tx.upsert(senders, "seen_at", "health"), [*chunk])
        jobs.put_all(tx, DOMAIN, health.keys() - known.keys(), at=tx.now, how="keep")
        jobs.hurry(tx, DOMAIN, fallen)

    @reads
    def due(self, tx: Transaction, job: Job) -> DueDomain:
        """The domain that a job is to check, as it stands."""
        row = tx.execute(sa.select(domains).where(domains.c.domain == job.key)).one_or_none()
        users = sa.select(senders.c.workspace).where(senders.c.domain == job.key)
        return DueDomain(
            domain=job.key,
            job=job,
            report=decode_report(row.report) if row and row.report else None,
            incidents=json.loads(row.incident) if row and row.incident else {},
            workspaces=tuple(tx.scalars(users.order_by(senders.c.workspace))),
        )

    @writes
    def finish(self, tx: Transaction, due: DueDomain, checked: Checked) -> bool:
        """Write down a check with its changes and events; False: its lease had expired, and another process checks it."""
        if not jobs.again(tx, due.job, after=max(0.0, checked.due_at - tx.now), attempts=0):
            return False
        values = {
            "domain": due.domain,
            "checked_at": tx.now,
            "report": encode_report(checked.report),
            "broken": " ".join(one.check for one in checked.report.problems),
        }
        if checked.news:
            values["incident"] = json.dumps(_tell(tx, due, checked.news))
        tx.execute(tx.upsert(domains, *values), values)
        rows = [
            {"domain": one.domain, "at": one.at.timestamp(), "change": encode_change(one)}
            for one in checked.changes
        ]
        if rows:
            tx.execute(sa.insert(changes), rows)
        return True

    @reads
    def reports(self, tx: Transaction, names: Collection[str] | None = None) -> Mapping[str, DomainReport]:
        """How these domains stand, or all; those that were never checked are left out."""
        c = domains.c
        query = sa.select(c.domain, c.report).where(c.report != "").order_by(c.domain)
        wanted = (
            [query]
            if names is None
            else [query.where(c.domain.in_(some)) for some in portions(sorted(names))]
        )
        rows = (row for one in wanted for row in tx.execute(one))
        found = ((row.domain, decode_report(row.report)) for row in rows)
        return {domain: report for domain, report in found if report is not None}

    @reads
    def changes(self, tx: Transaction, names: Collection[str], since: datetime) -> Sequence[DomainChange]:
        """How the DNS of these domains changed since then, the newest first."""
        found: list[DomainChange] = []
        for some in portions(sorted(names)):
            query = sa.select(changes.c.change).where(
                changes.c.domain.in_(some), changes.c.at >= since.timestamp()
            )
            read = (decode_change(text) for text in tx.scalars(query.order_by(changes.c.id)))
            found += [one for one in read if one is not None]
        return sorted(found, key=lambda one: one.at, reverse=True)

    @reads
    def broken(self, tx: Transaction, workspace: str) -> Mapping[str, Sequence[str]]:
        """The domains of a workspace with a confirmed problem, and which of its checks have one."""
        query = sa.select(domains.c.domain, domains.c.broken).join(
            senders, senders.c.domain == domains.c.domain
        )
        rows = tx.execute(query.where(senders.c.workspace == workspace, _IS_BROKEN))
        return {row.domain: tuple(row.broken.split()) for row in rows}

    @reads
    def all_broken(self, tx: Transaction) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """The same of every workspace that has any."""
        of_domain = domains.join(senders, senders.c.domain == domains.c.domain)
        query = sa.select(senders.c.workspace, domains.c.domain, domains.c.broken).select_from(of_domain)
        found: dict[str, dict[str, Sequence[str]]] = {}
        for row in tx.execute(query.where(_IS_BROKEN)):
            found.setdefault(row.workspace, {})[row.domain] = tuple(row.broken.split())
        return found

    @reads
    def broken_since(
        self, tx: Transaction, workspace: str, since: datetime
    ) -> Sequence[tuple[float, Mapping[str, Sequence[str]]]]:
        """Which of a workspace's domains were broken, at each time since then when that changed."""
        mine = sa.select(senders.c.domain).where(senders.c.workspace == workspace)
        query = (
            sa.select(changes.c.change).where(changes.c.domain.in_(mine)).order_by(changes.c.at, changes.c.id)
        )
        state: dict[str, dict[str, None]] = {}
        found: list[tuple[float, Mapping[str, Sequence[str]]]] = []
        for text in tx.scalars(query.where(changes.c.at >= since.timestamp())):
            change = decode_change(text)
            if change is None:
                continue
            checks = state.setdefault(change.domain, {})
            if change.after.value is Value.PROBLEM:
                checks[change.check] = None
            else:
                checks.pop(change.check, None)
            found.append((change.at.timestamp(), {name: tuple(one) for name, one in state.items() if one}))
        return found

    @writes
    def prune(self, tx: Transaction, *, changes_after: float) -> None:
        """Forget domains that nobody sends from, and changes that are older than so many seconds."""
        tx.execute(sa.delete(senders).where(senders.c.seen_at < tx.now - FORGOTTEN_AFTER))
        known = sa.select(senders.c.domain)
        tx.execute(sa.delete(domains).where(domains.c.domain.not_in(known)))
        tx.execute(sa.delete(job_rows).where(job_rows.c.kind == DOMAIN, job_rows.c.key.not_in(known)))
        tx.execute(sa.delete(changes).where(changes.c.at < tx.now - changes_after))


def _tell(tx: Transaction, due: DueDomain, news: News) -> Mapping[str, str]:
    """Update the card of each workspace, or store an event where it has none; returns the incidents that go on."""
    incidents: dict[str, str] = {}
    new: list[Arrival] = []
    for workspace in due.workspaces:
        alert = due.incidents.get(workspace, "")
        shown = alert and update_subject(
            tx, alert, news.standing, note=news.note, recovered=news.recovered, held_until=news.held_until
        )
        if not shown:
            event = Arrival(workspace=workspace, body=news.body, at=tx.now)
            new.append(event)
            alert = alert_id(event.dkey)
        incidents[workspace] = alert
    intake.store_own(tx, new)
    return {} if news.recovered else incidents
