"""Commands in a context of their own: a scripted service behind the real client, and the bot's real store in a file."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import httpx

from bot.delivery import Routes
from shared.api import OutreachClient
from shared.commands import COMMANDS, Invocation, Role, parse
from shared.commands.base import CommandContext, Question, Result
from shared.commands.run import run
from shared.domain.card import Button, Card
from shared.domain.roles import INCLUDED
from shared.records import Actor, AuditEntry, RecordsUnavailable
from shared.settings import load
from shared.settings.sections import Routing
from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.deliveries import Arrival
from tests.kit.databases import migrated_file
from tests.kit.scripted import BASE, ScriptedAccount

NOW = datetime(2026, 3, 10, 14, 30, tzinfo=UTC)
KEY = "live_sesame_5150"


def scripted_account() -> ScriptedAccount:
    """Three sequences, four inboxes of three domains, 250 leads, and the counts of two sequences."""
    return ScriptedAccount(
        sequences=[
            {"id": "sq_1", "name": "Q3 Founders", "status": "active", "steps": 4},
            {"id": "sq_2", "name": "Q3 CTO", "status": "paused", "steps": 3},
            {"id": "sq_3", "name": "Spring", "status": "active", "steps": 5},
        ],
        inboxes=[
            {"email": "a@good.com", "health_score": 95, "daily_limit": 40, "status": "active"},
            {"email": "b@good.com", "health_score": 85, "daily_limit": 40, "status": "warming"},
            {"email": "c@poor.com", "health_score": 41, "daily_limit": 20, "status": "active"},
            {"email": "d@odd.com"},
        ],
        leads=[
            {"id": f"ld_{n}", "email": f"p{n}@acme.com", "status": "active", "first_name": f"P{n}"}
            for n in range(250)
        ],
        stats=[
            {"group": "sq_1", "sends": 1000, "replies": 40, "positive_replies": 10, "meetings": 3},
            {"group": "sq_3", "sends": 3000, "replies": 60, "positive_replies": 12, "meetings": 1},
        ],
        now=NOW.timestamp,
    )


class Down:
    """Stands in for records, and each part of them, whose database does not answer."""

    def __getattr__(self, _name: str) -> Down:
        return self

    async def __call__(self, *_: Any, **__: Any) -> Any:
        raise RecordsUnavailable("the database is gone")


DOWN = cast("Store", Down())


@dataclass(frozen=True, slots=True, kw_only=True)
class Said(Card):
    """The card of a result, with what happened as data."""

    result: Result
    question: Question | None = None

    @property
    def data(self) -> tuple[dict[str, Any], ...]:
        return tuple(map(dict, self.result.rows))

    @property
    def refused(self) -> bool:
        return bool(self.result.problem)


def said(done: Result | Question) -> Said:
    """An answer, or the question with its choices as buttons."""
    question = done if isinstance(done, Question) else None
    card = done.card
    if question:
        card = replace(
            card, buttons=tuple(Button(label=one.label, action=one.act) for one in question.choices)
        )
    result = done if isinstance(done, Result) else Result(card=card)
    return Said(
        result=result, question=question, **{one.name: getattr(card, one.name) for one in fields(Card)}
    )


@dataclass
class CommandHarness:
    """Runs lines as a person would; `now` stands still until a test moves it."""

    service: ScriptedAccount
    client: OutreachClient
    records: Store = DOWN
    opened: Store | None = None
    now: datetime = NOW
    actor: Actor = field(default_factory=lambda: Actor(name="ann", face="slack", channel="C1"))
    role: Role = Role.OPERATOR

    @property
    def store(self) -> Store:
        """Where the records are; only `harness` has it."""
        assert self.opened
        return self.opened

    @property
    def context(self) -> CommandContext:
        # Without DNS: no test asks this machine's resolvers.
        environ = {"OUTREACH_BASE_URL": BASE, "OUTREACH_API_KEY": KEY, "OUTREACH_DNS_ENABLED": "off"}
        settings = load(config=Path(os.devnull), environ=environ)
        return CommandContext(
            settings=settings,
            workspace=settings.workspace(),
            client=self.client,
            actor=self.actor,
            records=self.records,
            now=lambda: NOW,
            role=self.role,
            allows=lambda verb: COMMANDS[verb].role in INCLUDED[self.role],
        )

    async def say(self, line: str, **context: Any) -> Said:
        return said(await run(parse(line), replace(self.context, **context)))

    async def answer(self, asked: Said, choice: int = 0) -> Said:
        """Hand back what a choice of a question carries out."""
        assert asked.question
        yes = Invocation(arguments=asked.question.choices[choice].act, line=asked.question.line)
        return said(await run(yes, self.context))

    @contextmanager
    def failing(self, endpoint: str, instead: httpx.Response | Exception) -> Iterator[None]:
        self.service.failing[endpoint] = instead
        yield
        del self.service.failing[endpoint]

    @contextmanager
    def at(self, ago: timedelta) -> Iterator[None]:
        """Let what is stored within the block be that old."""
        before, self.now = self.now, NOW - ago
        yield
        self.now = before

    async def deliver(self, kind: str, *emails: str, ago: timedelta = timedelta(), **event: Any) -> None:
        """Have deliveries come, one for each lead."""
        with self.at(ago):
            bodies = [json.dumps({"event": kind, "lead": {"email": one}, **event}).encode() for one in emails]
            at = self.now.timestamp()
            # A millisecond apart, so that the order of arrival is that of the emails.
            batch = [Arrival(workspace="default", body=one, at=at + n / 1e3) for n, one in enumerate(bodies)]
            await self.store.arrivals.append(batch)
            routes = Routes(alert_channels={"default": "C1"}, routing=Routing())
            while await self.store.deliveries.route(routes.decide):
                pass

    async def ids(self) -> dict[str, str]:
        """The alert of each lead whose interested reply nobody has claimed."""
        waiting = await self.store.open_replies("default")
        return {one.email: one.id for one in waiting.replies}

    async def entries(self) -> list[AuditEntry]:
        """The audit log, the first entry first."""
        return [*await self.store.audit("default", 1_000)][::-1]


def scripted() -> CommandHarness:
    """A harness without records, whose client neither waits for turns nor tries again."""
    service = scripted_account()
    return CommandHarness(service=service, client=service.client(api_key=KEY))


@asynccontextmanager
async def open_harness(folder: Path) -> AsyncIterator[CommandHarness]:
    """A harness over a store whose clock is the harness's, beside a bot that runs."""
    harness = scripted()
    url = parse_url(migrated_file(folder / "bot.db"))

    def clock() -> float:
        return harness.now.timestamp()  # of the moment, which a test moves

    async with open_store(url, clock=clock) as store, harness.client:
        harness.opened, harness.records = store, store
        await store.instance.beat("1")
        yield harness


def facts(card: Card) -> dict[str, str]:
    return {fact.label: fact.value for fact in card.facts}


def text(card: Card) -> str:
    return "\n".join((card.title, *card.text, *(f"{f.label}: {f.value}" for f in card.facts), card.footer))
