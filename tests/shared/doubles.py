"""Doubles with teeth: the service over the real client's transport, and the bot's records in memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import unquote

import httpx
from pydantic import SecretStr

from shared.api import OutreachClient
from shared.api.pace import LocalBudget
from shared.commands import Invocation, Role, parse
from shared.commands.base import Act, Question, Result
from shared.commands.run import CommandContext, SessionChanges, carry_out, run
from shared.domain.card import Button, Card
from shared.domain_health.report import DomainChange, DomainReport, Value
from shared.records.audit import Absence, Actor, AuditEntry, Undoable
from shared.records.domains import DomainPast
from shared.records.records import AlertsSummary, PeriodRecords, RecordsUnavailable, Subscription
from shared.records.replies import (
    MOST_OPEN,
    Grouping,
    InterestedReply,
    LeadReply,
    OpenReply,
    PositiveReply,
    ReceivedReplies,
    ReceivedReply,
    UnclaimedReplies,
    Waits,
)
from shared.records.sequence_changes import UNDER_WAY, ChangeResult, SequenceChange, Status, Timer
from shared.settings import Workspace
from tests.shared.guard_doubles import MemoryGuardrails
from tests.shared.waits import Claim, waits_of

NOW = datetime(2026, 3, 10, 14, 30, tzinfo=UTC)
KEY = "live_sesame_5150"
BASE = "https://service.test/v1"
DATE = "Tue, 10 Mar 2026 14:30:00 GMT"


class Service(httpx.AsyncBaseTransport):
    """Keeps to the document; refuses what the document refuses; remembers what it was asked."""

    def __init__(self) -> None:
        self.sequences: list[dict[str, Any]] = [
            {"id": "sq_1", "name": "Q3 Founders", "status": "active", "steps": 4},
            {"id": "sq_2", "name": "Q3 CTO", "status": "paused", "steps": 3},
            {"id": "sq_3", "name": "Spring", "status": "active", "steps": 5},
        ]
        self.inboxes: list[dict[str, Any]] = [
            {"email": "a@good.com", "health_score": 95, "daily_limit": 40, "status": "active"},
            {"email": "b@good.com", "health_score": 85, "daily_limit": 40, "status": "warming"},
            {"email": "c@poor.com", "health_score": 41, "daily_limit": 20, "status": "active"},
            {"email": "d@odd.com"},
        ]
        self.leads: list[dict[str, Any]] = [
            {"id": f"ld_{n}", "email": f"p{n}@acme.com", "status": "active", "first_name": f"P{n}"}
            for n in range(250)
        ]
        self.stats: list[dict[str, Any]] = [
            {"group": "sq_1", "sends": 1000, "replies": 40, "positive_replies": 10, "meetings": 3},
            {"group": "sq_3", "sends": 3000, "replies": 60, "positive_replies": 12, "meetings": 1},
        ]
        self.first_day = ""
        """Before it, as `2026-03-01`, nothing was sent."""
        self.requests: list[tuple[str, str, dict[str, Any]]] = []
        self.failing: dict[str, httpx.Response | Exception] = {}
        """`GET /stats` -> what comes instead."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/v1")
        asked = dict(request.url.params) | (json.loads(request.content) if request.content else {})
        self.requests.append((request.method, unquote(path), asked))
        instead = self.failing.get(f"{request.method} /{path.split('/')[1]}")
        if isinstance(instead, Exception):
            raise instead
        answer = instead or self._answer(request.method, path, asked)
        answer.headers["Date"] = DATE
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    def asked(self, method: str) -> list[str]:
        return [path for verb, path, _ in self.requests if verb == method]

    def _answer(self, method: str, path: str, asked: dict[str, Any]) -> httpx.Response:
        if method == "GET" and path == "/stats" and asked.get("to", self.first_day) < self.first_day:
            return httpx.Response(200, json={"data": []})
        if method == "GET" and path in {"/sequences", "/inboxes", "/stats"}:
            return httpx.Response(200, json={"data": getattr(self, path[1:])})
        if method == "GET":
            return self._list_leads(asked)
        if method == "PATCH":
            return self._change(self.sequences, path, asked)
        if method == "DELETE":
            return self._remove(path)
        return self._add(asked)

    def _list_leads(self, asked: dict[str, Any]) -> httpx.Response:
        wanted = [lead for lead in self.leads if asked.get("status") in {None, lead["status"]}]
        start, limit = int(asked.get("cursor", 0)), int(asked.get("limit", 25))
        following = start + limit if start + limit < len(wanted) else None
        return httpx.Response(
            200, json={"data": wanted[start : start + limit], "next_cursor": following and str(following)}
        )

    def _change(self, things: list[dict[str, Any]], path: str, asked: dict[str, Any]) -> httpx.Response:
        found = [thing for thing in things if thing["id"] == unquote(path.rpartition("/")[2])]
        if not found:
            return httpx.Response(404, json={"error": {"code": "not_found"}})
        found[0]["status"] = asked["status"]
        return httpx.Response(204)

    def _remove(self, path: str) -> httpx.Response:
        left = [lead for lead in self.leads if lead["id"] != path.rpartition("/")[2]]
        gone, self.leads = len(left) < len(self.leads), left
        return httpx.Response(204) if gone else httpx.Response(404, json={"error": {"code": "not_found"}})

    def _add(self, asked: dict[str, Any]) -> httpx.Response:
        known = {lead["email"] for lead in self.leads}
        skipped = [
            {"email": lead["email"], "reason": "duplicate"}
            for lead in asked["leads"]
            if lead["email"] in known
        ]
        added = [lead for lead in asked["leads"] if lead["email"] not in known]
        self.leads[:0] = [{"id": f"ld_new{n}", "status": "active"} | lead for n, lead in enumerate(added)]
        return httpx.Response(201, json={"added": len(added), "skipped": skipped})


@dataclass
class MemoryChanges:
    """The locks of the sequences, in memory, beside the timers of the same records."""

    records: MemoryRecords
    counts: Counter[str] = field(default_factory=Counter)
    locked: set[str] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)
    """Those of which a request's outcome is unknown."""

    async def revisions(self, workspace: str) -> Mapping[str, int]:
        self.records.look()
        return self.counts | dict.fromkeys(self.locked | self.unanswered, UNDER_WAY)

    async def begin(self, workspace: str, sequence: str, *, status: Status) -> SequenceChange | None:
        self.records.look()
        if sequence in self.locked:
            return None
        self.locked.add(sequence)
        return SequenceChange(
            workspace=workspace,
            sequence=sequence,
            status=status,
            token=1,
            revision=UNDER_WAY if sequence in self.unanswered else self.counts[sequence],
            number=self.counts[sequence],
            timer=self.records.planned.get(("resume", sequence)),
        )

    async def renew(self, change: SequenceChange) -> bool:
        return change.sequence in self.locked

    async def end(self, change: SequenceChange, result: ChangeResult) -> bool:
        self.records.look()
        self.locked.remove(change.sequence)
        self.counts[change.sequence] += result.outcome != "unchanged"
        if result.late or result.outcome == "uncertain":
            self.unanswered.add(change.sequence)
        if not result.keep_timer:
            self.records.planned.pop(("resume", change.sequence), None)
            if result.timer:
                self.records.planned["resume", change.sequence] = result.timer
        return True


@dataclass
class MemoryDomains:
    """The DNS of the domains, in memory."""

    known: dict[str, DomainReport] = field(default_factory=dict)
    changed: list[DomainChange] = field(default_factory=list)
    is_down: bool = False

    async def reports(self, names: Collection[str] | None = None) -> Mapping[str, DomainReport]:
        if self.is_down:
            raise RecordsUnavailable("the database is gone")
        return {name: one for name, one in self.known.items() if names is None or name in names}

    async def changes(self, names: Collection[str], since: datetime) -> Sequence[DomainChange]:
        found = [one for one in self.changed if one.domain in names and one.at >= since]
        return sorted(found, key=lambda one: one.at, reverse=True)

    async def broken(self, workspace: str) -> Mapping[str, Sequence[str]]:
        return {
            name: tuple(str(one.check) for one in report.problems)
            for name, report in self.known.items()
            if report.problems
        }

    async def broken_since(
        self, workspace: str, since: datetime
    ) -> Sequence[tuple[float, Mapping[str, Sequence[str]]]]:
        state: dict[str, tuple[str, ...]] = {}
        found = []
        for one in sorted(self.changed, key=lambda one: one.at):
            state[one.domain] = (str(one.check),) if one.after.value is Value.PROBLEM else ()
            found.append((one.at.timestamp(), {name: checks for name, checks in state.items() if checks}))
        return found


@dataclass
class MemoryAbsences:
    """Who is away, in memory."""

    away: dict[str, Absence] = field(default_factory=dict)

    async def leave(self, person: Actor, *, until: float | None) -> None:
        end = None if until is None else datetime.fromtimestamp(until, UTC)
        self.away[person.id] = Absence(person=person.id, name=person.name, until=end)

    async def come_back(self, person: str) -> bool:
        return self.away.pop(person, None) is not None

    async def absences(self) -> Sequence[Absence]:
        return list(self.away.values())


@dataclass
class MemoryRecords:
    """The bot's records, in memory; `broken` makes every act raise."""

    alerts: AlertsSummary = field(default_factory=AlertsSummary)
    replies: list[OpenReply] = field(default_factory=list)
    received: list[ReceivedReply] = field(default_factory=list)
    heard_since: datetime | None = None
    """When the first delivery came."""
    owned: dict[str, list[OpenReply]] = field(default_factory=dict)
    """Claimed replies by person."""
    answered: dict[str, LeadReply] = field(default_factory=dict)
    """The newest reply by address."""
    routes: set[Subscription] = field(default_factory=set)
    digests: dict[str, str] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    session: SessionChanges = field(default_factory=SessionChanges)
    done: list[tuple[str, datetime]] = field(default_factory=list)
    senders: dict[str, list[str]] = field(default_factory=dict)
    """Sequences by domain."""
    past: dict[str, DomainPast] = field(default_factory=dict)
    came: dict[date, dict[str, int]] = field(default_factory=dict)
    entries: list[AuditEntry] = field(default_factory=list)
    planned: dict[tuple[str, str], Timer] = field(default_factory=dict)
    recorded: PeriodRecords = field(default_factory=PeriodRecords)
    positive: list[PositiveReply] = field(default_factory=list)
    bot_runs: bool = True
    broken: bool = False
    guardrails: MemoryGuardrails = field(default_factory=MemoryGuardrails)
    domains: MemoryDomains = field(default_factory=MemoryDomains)
    turns: MemoryAbsences = field(default_factory=MemoryAbsences)

    def __post_init__(self) -> None:
        self.changes = MemoryChanges(self)

    async def bot_is_running(self) -> bool:
        self.look()
        return self.bot_runs

    def look(self) -> None:
        if self.broken:
            raise RecordsUnavailable("the database is gone")

    async def summary(self, workspace: str) -> AlertsSummary:
        self.look()
        return self.alerts

    async def own_replies(self, person: str) -> Sequence[tuple[str, OpenReply]]:
        return [("default", one) for one in self.owned.get(person, [])]

    async def received_replies(
        self, workspace: str, since: datetime, until: datetime, *, most: int
    ) -> ReceivedReplies:
        self.look()
        within = [one for one in self.received if since <= one.reply.received_at < until]
        newest = sorted(within, key=lambda one: one.reply.received_at, reverse=True)
        return ReceivedReplies(count=len(within), replies=newest[:most], known_from=self.heard_since)

    async def claim_counts(self, workspace: str, since: datetime) -> Mapping[str, int]:
        return {name: len(replies) for name, replies in self.owned.items()}

    async def open_replies(
        self, workspace: str, *, first: int = 0, most: int = MOST_OPEN
    ) -> UnclaimedReplies:
        self.look()
        waiting = sorted(self.replies, key=lambda one: one.received_at)
        oldest = waiting[0].received_at if waiting else None
        return UnclaimedReplies(count=len(waiting), oldest_at=oldest, replies=waiting[first : first + most])

    async def interested_replies(self, workspace: str) -> Sequence[InterestedReply]:
        return [
            InterestedReply(email=one.email, received_at=one.received_at, sequence=one.sequence)
            for one in self.replies
        ]

    async def last_reply(self, workspace: str, email: str) -> LeadReply | None:
        self.look()
        return self.answered.get(email)

    async def claim_times(
        self, workspace: str, since: datetime, until: datetime, *, by: Grouping = "", late: float
    ) -> Sequence[Waits]:
        within = [one for one in self.claims if since <= one.at < until]
        named = {"": "", "person": "name", "sequence": "sequence"}[by]
        return waits_of(
            ((getattr(one, named) if named else "", one.waited.total_seconds()) for one in within), late=late
        )

    async def done_counts(self, workspace: str, since: datetime, until: datetime) -> Mapping[str, int]:
        return Counter(name for name, at in self.done if since <= at < until)

    async def domain_past(self, workspace: str, domain: str, since: datetime) -> DomainPast:
        self.look()
        return self.past.get(domain, DomainPast())

    async def domain_sequences(self, workspace: str, domain: str, since: datetime) -> Sequence[str]:
        self.look()
        return self.senders.get(domain, [])

    async def last_changes(self, workspace: str, sequences: Sequence[str]) -> Mapping[str, AuditEntry]:
        self.look()
        return {name: one for one in self.entries for name in sequences if name in one.sequences}

    async def arrivals(self, workspace: str, since: datetime, until: datetime) -> Mapping[str, int]:
        self.look()
        days = (counts for day, counts in self.came.items() if since.date() <= day < until.date())
        return dict(sum((Counter(counts) for counts in days), Counter()))

    async def period(self, workspace: str, since: datetime, until: datetime, *, late: float) -> PeriodRecords:
        self.look()
        touched = [one.touched_after.total_seconds() for one in self.positive if one.touched_after]
        touches = waits_of((("", seconds) for seconds in touched), late=late)
        return replace(self.recorded, replies=len(self.positive), touches=next(iter(touches), Waits()))

    async def positive_replies(
        self,
        workspace: str,
        since: datetime,
        until: datetime,
        *,
        most: int | None = None,
        named: bool = False,
    ) -> Sequence[PositiveReply]:
        self.look()
        shown = [one for one in self.positive if since <= one.at < until][:most]
        return shown if named else [replace(one, lead="", company="", email="") for one in shown]

    async def subscriptions(self, workspace: str, channel: str) -> Sequence[Subscription]:
        self.look()
        return sorted((one for one in self.routes if one.channel == channel), key=repr)

    async def subscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> None:
        self.look()
        self.routes |= set(subscriptions)

    async def unsubscribe(self, workspace: str, subscriptions: Sequence[Subscription]) -> int:
        self.look()
        gone = self.routes & set(subscriptions)
        self.routes -= gone
        return len(gone)

    async def digest_at(self, workspace: str, channel: str) -> str | None:
        self.look()
        return self.digests.get(channel)

    async def set_digest(self, workspace: str, channel: str, at: str | None) -> None:
        self.look()
        self.digests.pop(channel, None)
        if at:
            self.digests[channel] = at

    async def give_up_channel(self, channel: str) -> None:
        self.look()

    async def audit(
        self, workspace: str, limit: int = 20, *, refused: bool | None = None
    ) -> Sequence[AuditEntry]:
        self.look()
        meant = [
            one
            for one in self.entries
            if refused is None or (refused is (one.effect == "refused") and one.effect != "read")
        ]
        return meant[::-1][:limit]

    async def assistant_calls(self, workspace: str, limit: int = 20) -> Sequence[AuditEntry]:
        self.look()
        return [one for one in self.entries if one.effect == "read"][::-1][:limit]

    async def last_undoable(self, workspace: str, actor: Actor, since: datetime) -> Undoable | None:
        self.look()
        return await self.session.last_undoable(workspace, actor, since)

    async def undoable(self, workspace: str, number: int) -> Undoable | None:
        self.look()
        return await self.session.undoable(workspace, number)

    async def take_undo(self, number: int, by: str) -> bool:
        return await self.session.take_undo(number, by)

    async def give_back_undo(self, number: int) -> None:
        await self.session.give_back_undo(number)

    async def record(self, entry: AuditEntry) -> int:
        self.look()
        self.entries.append(entry)
        return await self.session.record(entry)

    async def set_timer(self, workspace: str, timer: Timer) -> None:
        self.look()
        self.planned[timer.kind, timer.key] = timer

    async def timers(self, workspace: str, kind: str) -> Sequence[Timer]:
        self.look()
        return [timer for (known, _), timer in self.planned.items() if known == kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Card):
    """The card of a result, with what happened as data."""

    result: Result

    @property
    def data(self) -> tuple[dict[str, Any], ...]:
        return tuple(map(dict, self.result.rows))

    @property
    def refused(self) -> bool:
        return self.result.refused

    @property
    def unchanged(self) -> bool:
        return not self.result.changed

    question: Question | None = None


def result_of(done: Result | Question) -> Result:
    """The result of a command that asks nothing."""
    assert isinstance(done, Result)
    return done


def said(done: Result | Question) -> Said:
    """An answer, or the question with its choices as buttons."""
    if isinstance(done, Question):
        buttons = tuple(Button(label=one.label, action=one.act) for one in done.choices)
        done = replace(done, card=replace(done.card, buttons=buttons))
        question, result = done, Result(card=done.card)
    else:
        question, result = None, done
    shown = {one.name: getattr(done.card, one.name) for one in fields(Card)}
    return Said(result=result, question=question, **shown)


@dataclass
class CommandHarness:
    """A command context over the doubles; `say` runs a line as a person would."""

    service: Service
    client: OutreachClient
    records: MemoryRecords | None = field(default_factory=MemoryRecords)
    actor: Actor = field(default_factory=lambda: Actor(name="ann", face="slack", channel="C1"))
    role: Role = Role.OPERATOR

    @property
    def context(self) -> CommandContext:
        return CommandContext(
            workspace=Workspace(name="default", base_url=BASE, api_key=SecretStr(KEY)),
            client=self.client,
            actor=self.actor,
            records=self.records,
            now=lambda: NOW,
            role=self.role,
        )

    async def run(self, asked: Invocation) -> Result | Question:
        return await run(asked, self.context)

    async def read(self, asked: Invocation) -> Result:
        """Run what asks nothing."""
        return result_of(await self.run(asked))

    async def say(self, line: str) -> Said:
        return said(await self.run(parse(line)))

    async def answer(self, asked: Said, choice: int = 0) -> Said:
        """Hand back what a choice of a question carries out."""
        assert asked.question
        act = asked.question.choices[choice].act
        return said(await carry_out(act, self.context, line=asked.question.line))

    async def press(self, card: Card, label: str) -> Said:
        """Press a button of an answer."""
        (action,) = (one.action for one in card.buttons if one.label == label)
        if isinstance(action, Act):
            return said(await carry_out(action, self.context))
        assert action
        return await self.say(action.line)

    @contextmanager
    def failing(self, endpoint: str, instead: httpx.Response | Exception) -> Iterator[None]:
        self.service.failing[endpoint] = instead
        yield
        del self.service.failing[endpoint]


def open_harness() -> CommandHarness:
    """A harness whose client neither waits for turns nor tries again."""
    service = Service()
    client = OutreachClient(base_url=BASE, api_key=KEY, pacer=NoPacing(), transport=service, retries=0)
    return CommandHarness(service=service, client=client)


class NoPacing(LocalBudget):
    """No waiting: the rate is the budget's own test."""

    async def reserve(self, **_: Any) -> None:
        return None


def facts(card: Card) -> dict[str, str]:
    return {fact.label: fact.value for fact in card.facts}


def text(card: Card) -> str:
    return "\n".join((card.title, *card.text, *(f"{f.label}: {f.value}" for f in card.facts), card.footer))
