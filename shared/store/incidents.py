"""Incidents of guardrails: stored before anything is done, reported in the transaction that completes the act.

An incident is one row while its condition lasts, inserted together with the job that acts on it. Whoever has the job
acts. If that process dies, its lease expires, and another continues from the row. Only one of them can complete it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from shared.api.event_kinds import PAUSED
from shared.domain.wall_clock import DAY
from shared.records.audit import AuditEntry
from shared.records.guardrails import ALL, Incident
from shared.store import facts, jobs, messages
from shared.store.alerts import open_card
from shared.store.audit import add_entry
from shared.store.db.engine import Repository, Transaction, reads, writes
from shared.store.db.guardrail_schema import incidents
from shared.store.db.schema import posts
from shared.store.facts import SWITCH
from shared.store.jobs import ACT, EVALUATE, Job
from shared.store.messages import PlannedPost

HELD_EVERY = 300.0
"""Seconds between two notes that a condition still holds."""
LOOK_BACK = 30 * DAY
_ACTED = ("decided", "done")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a rule wants to do about one subject."""

    workspace: str
    rule: str
    sentence: str
    action: str
    subject: str
    label: str
    note: str
    sequences: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    """Those that are paused until earlier: the rule's limit is about what it pauses itself."""
    resumes_at: float | None = None
    per_day: int = 0
    at_once: int = 0
    """0: it pauses nothing."""
    domain: str = ""
    """Whose trouble it is, in small letters: all that is found on one is told once. Empty: it is told by itself."""
    left: tuple[str, ...] = ()
    """The names of those that the rule's limit leaves."""
    paused_now: frozenset[str] = frozenset()
    """The sequences that are paused at this moment, by whomever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The incident, where the claim was the first; else why nothing began: `known`, `off`, `per day` or `at once`."""

    incident: Incident | None = None
    refusal: str = ""


class Incidents(Repository):
    """The incidents, and who works on them."""

    @writes
    def begin(
        self,
        tx: Transaction,
        claim: Claim,
        post: PlannedPost | None = None,
        *,
        together: Callable[[Sequence[Incident]], str] | None = None,
    ) -> Begun:
        """Begin an incident that is not under way yet, within its rule's limits.

        `post` tells it at once, without an act. Where its domain's trouble is told already, nothing new is
        posted: the card of its pause shows it, or the message about it is drawn anew by `together`.
        """
        # Two who evaluate a workspace begin one after the other: limits hold, and one trouble of a domain is told once.
        jobs.lock(tx, EVALUATE, claim.workspace)
        if refusal := _refusal(tx, claim):
            return Begun(refusal=refusal)
        told = post.dedupe if post else ""
        if post and claim.domain:
            post, told = _placed(tx, claim, post)
        new = tx.insert(incidents).values(
            workspace=claim.workspace,
            rule=claim.rule,
            sentence=claim.sentence,
            action=claim.action,
            subject=claim.subject,
            label=claim.label,
            note=claim.note,
            sequences=_ids((*claim.sequences, *claim.extended)),
            state="done" if post else "decided",
            began_at=tx.now,
            held_at=tx.now,
            resumes_at=claim.resumes_at,
            domain=claim.domain,
            told=told,
        )
        row = tx.execute(new.on_conflict_do_nothing().returning(incidents)).one_or_none()
        if row is None:
            return Begun(refusal="known")
        if not post:
            left = {"left": [*claim.left]}
            jobs.put(tx, ACT, str(row.id), workspace=claim.workspace, at=tx.now, payload=left, how="keep")
        if post and post.channel:
            messages.plan(tx, post, workspace=claim.workspace)
        elif told and together:
            _redraw(tx, told, together(_told_by(tx, claim.workspace, told)))
        return Begun(incident=read_incident(row))

    @reads
    def open(self, tx: Transaction) -> Sequence[Incident]:
        query = sa.select(incidents).where(incidents.c.ended_at.is_(None)).order_by(incidents.c.id)
        return [read_incident(row) for row in tx.execute(query)]

    @writes
    def hand_over(self, tx: Transaction, incident: Incident, note: str) -> bool:
        """Where a pause of the domain has a card by now, that shows the incident, and its message says so."""
        card = open_card(tx, incident.workspace, incident.domain) if incident.told else None
        if card is None or card.kind != PAUSED:
            return False
        shown = _shown_by(incident.workspace, incident.told)
        if not tx.execute(sa.update(incidents).where(shown).values(told="")).rowcount:
            return False
        return _redraw(tx, incident.told, note, condensed=True)

    @reads
    def timed(self, tx: Transaction) -> Sequence[Incident]:
        under_way = (incidents.c.resumes_at > tx.now) & (incidents.c.state == "done")
        return [read_incident(row) for row in tx.execute(sa.select(incidents).where(under_way))]

    @reads
    def decided(self, tx: Transaction, job: Job) -> Incident | None:
        """The incident that a job is to act on; None where that is over."""
        c = incidents.c
        query = sa.select(incidents).where(c.id == int(job.key), c.state == "decided")
        row = tx.execute(query).one_or_none()
        return read_incident(row) if row else None

    @writes
    def asking(self, tx: Transaction, job: Job, incident: Incident, sequences: Sequence[str]) -> bool:
        """Write down, before the request, whose pauses are asked of the service.

        False: another process has taken over, or the rule was turned off.
        """
        if _is_off(tx, incident.workspace, incident.rule):
            return False
        row = jobs.held(tx, job)
        if row is None:
            return False
        jobs.note(tx, row, {**job.payload, "asked": [*sequences]}, due_at=None)
        return True

    @writes
    def finish(
        self, tx: Transaction, job: Job, incident: Incident, entry: AuditEntry, post: PlannedPost
    ) -> bool:
        """End an act: its entry in the audit, its Undo and its message, together and once; False: another did."""
        if not (jobs.hold(tx, job) and jobs.done(tx, job)):
            return False
        number = add_entry(tx, entry)
        values = {
            "state": "done" if entry.effect == "paused" else "failed",
            "sequences": _ids(entry.sequences),
            "change": number if entry.undoable else 0,
        }
        tx.execute(sa.update(incidents).where(incidents.c.id == incident.id).values(values))
        if post.channel:
            undo = number if entry.undoable else 0
            messages.plan(tx, replace(post, undo=undo), workspace=incident.workspace)
        return True

    @writes
    def held(self, tx: Transaction, ids: Collection[int]) -> None:
        """The conditions of these hold still."""
        tx.execute(sa.update(incidents).where(incidents.c.id.in_(ids)).values(held_at=tx.now))

    @writes
    def end(self, tx: Transaction, incident: Incident, draw: Callable[[Sequence[Incident]], str]) -> bool:
        """An incident is over; the next one about its subject is a new one. Returns whether its message changed.

        `draw` makes the note of the message from the incidents of which it still tells, which may be none.
        """
        still = (incidents.c.id == incident.id) & incidents.c.ended_at.is_(None)
        ended = tx.execute(sa.update(incidents).where(still).values(ended_at=tx.now)).rowcount == 1
        if not (ended and incident.told):
            return False
        return _redraw(tx, incident.told, draw(_told_by(tx, incident.workspace, incident.told)))


def _placed(tx: Transaction, claim: Claim, post: PlannedPost) -> tuple[PlannedPost, str]:
    """The message as it is to be planned, and the dedupe of the one that tells of the domain's trouble.

    It has no channel where nothing is to be posted.
    """
    card = open_card(tx, claim.workspace, claim.domain)
    if card and card.kind == PAUSED:
        return replace(post, channel=""), ""
    if card:  # its DNS is broken: what else is found goes to the thread of that card
        return replace(post, alert_id=card.id), ""
    c = incidents.c
    open_ = (c.workspace == claim.workspace) & (c.domain == claim.domain) & c.ended_at.is_(None)
    told = tx.scalar(sa.select(c.told).where(open_, c.told != "").order_by(c.id).limit(1))
    return (replace(post, channel=""), told) if told else (post, post.dedupe)


def _shown_by(workspace: str, told: str) -> sa.ColumnElement[bool]:
    """The open incidents of which one message tells."""
    c = incidents.c
    return (c.workspace == workspace) & (c.told == told) & c.ended_at.is_(None)


def _told_by(tx: Transaction, workspace: str, told: str) -> Sequence[Incident]:
    """The same as they stand, the oldest first."""
    shown = _shown_by(workspace, told)
    rows = tx.execute(sa.select(incidents).where(shown).order_by(incidents.c.id))
    return [read_incident(row) for row in rows]


def _redraw(tx: Transaction, dedupe: str, note: str, **values: bool) -> bool:
    news = (posts.c.dedupe == dedupe) & (posts.c.note != note)
    return messages.redraw(tx, news, values={"note": note, **values}) == 1


def read_incident(row: sa.Row[Any]) -> Incident:
    """A row of the incidents."""
    kept: Mapping[str, Any] = row._asdict()
    names = ("id", "workspace", "rule", "sentence", "action", "subject", "label", "began_at", "held_at")
    more = ("ended_at", "state", "note", "resumes_at", "domain", "told")
    values = {name: kept[name] for name in (*names, *more)}
    return Incident(sequences=tuple(json.loads(row.sequences)), **values)


def _ids(sequences: Sequence[str]) -> str:
    return json.dumps(list(sequences))


def _is_off(tx: Transaction, workspace: str, rule: str) -> bool:
    found = (facts.find(tx, SWITCH, rule, workspace=workspace), facts.find(tx, SWITCH, ALL, workspace=ALL))
    return any(one and (one.at is None or one.at > tx.now) for one in found)


def _refusal(tx: Transaction, claim: Claim) -> str:
    """Why nothing may begin, as the database stands now."""
    c = incidents.c
    which = (c.workspace == claim.workspace) & (c.rule == claim.rule)
    if tx.scalar(sa.select(c.id).where(which, c.subject == claim.subject, c.ended_at.is_(None))):
        return "known"
    if _is_off(tx, claim.workspace, claim.rule):
        return "off"
    query = sa.select(c.began_at, c.action, c.sequences, c.state)
    recent = tx.execute(query.where(which, c.began_at >= tx.now - LOOK_BACK)).all()
    today = [one for one in recent if one.began_at >= tx.now - DAY and one.action == claim.action]
    if claim.per_day and len(today) >= claim.per_day:
        return "per day"
    if claim.at_once:
        acted = (one for one in recent if one.state in _ACTED and one.action == claim.action)
        named = {
            name
            for one in acted
            for name in json.loads(one.sequences)
            if one.state != "done" or name in claim.paused_now
        }
        if len(named | set(claim.sequences)) > claim.at_once:
            return "at once"
    return ""
