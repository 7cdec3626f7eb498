"""An account that several processes change at once: a service whose answers a test holds up, and bots on one database."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

import httpx
import sqlalchemy as sa

from bot.commands.context import CommandContexts
from bot.delivery.routing import Routes
from bot.guardrails import Guardrails
from bot.jobs import due
from bot.runtime import Wakeup
from bot.worker import Worker
from shared import settings as shared_settings
from shared.api.client import OutreachClient
from shared.commands import parse
from shared.commands.base import Question
from shared.commands.run import CommandContext, carry_out, run
from shared.commands.undo import UndoChange
from shared.domain.card import Card
from shared.guardrails import rule as rules
from shared.records.audit import Actor
from shared.records.sequence_changes import Timer
from shared.store import Store, open_store
from shared.store.db.schema import jobs
from shared.store.guardrails import Claim
from shared.store.jobs import LATE
from tests.bot.manual_clock import CHANNEL, ManualClock
from tests.shared.harness import NoPacing

BASE = "https://service.test/v1"
RULE = rules.parse("pause workspace for 4h when bounces > 5% of at least 50 sends in 24h")
RETRIES = 1
"""After which a client gives up, soon also where nothing answers. A time would be over too early on a busy machine."""


async def pass_on(_request: Request) -> None:
    """Hold up nothing."""


class Answer(Exception):
    """Raised by a hook: the service answers with this status."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(status)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request that reached the service; `by` is the process that sent it."""

    by: str
    method: str
    sequence: str = ""
    status: str = ""


@dataclass(kw_only=True)
class Remote:
    """The service: statuses by id; the hooks run before a request takes effect, and between effect and answer."""

    statuses: dict[str, str] = field(default_factory=dict)
    applied: list[tuple[str, str]] = field(default_factory=list)
    lists: bool = True
    """Whether its lists have what there is; otherwise they are empty."""
    before: Callable[[Request], Awaitable[None]] = pass_on
    after: Callable[[Request], Awaitable[None]] = pass_on


@dataclass(kw_only=True)
class Door(httpx.AsyncBaseTransport):
    """How one process reaches the service."""

    remote: Remote
    by: str

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        try:
            return await self._answer(request)
        except Answer as instead:
            return httpx.Response(instead.status, json={"error": {"code": "as the test wishes"}})

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        name = unquote(request.url.path.rpartition("/")[2])
        if request.method == "GET":
            await self.remote.before(Request(by=self.by, method="GET"))
            rows = [{"id": one, "name": f"Name of {one}", "status": status} for one, status in
                    self.remote.statuses.items()]  # fmt: skip
            await self.remote.after(Request(by=self.by, method="GET"))
            rows = rows if self.remote.lists else []
            return httpx.Response(200, json={"data": rows})
        status = json.loads(request.content)["status"]
        asked = Request(by=self.by, method="PATCH", sequence=name, status=status)
        await self.remote.before(asked)
        if name not in self.remote.statuses:
            return httpx.Response(404, json={"error": {"code": "not_found"}})
        self.remote.statuses[name] = status
        self.remote.applied.append((name, status))
        await self.remote.after(asked)
        return httpx.Response(204)


@dataclass(kw_only=True)
class Process:
    """One bot on the common database."""

    store: Store
    contexts: CommandContexts
    worker: Worker
    clock: ManualClock
    acts: Guardrails

    def context(self, person: str = "ann") -> CommandContext:
        actor = Actor(name=person, id=person.upper(), face="slack", channel=CHANNEL)
        return self.contexts.at(self.contexts.settings.workspace(), actor)

    async def say(self, line: str, *, person: str = "ann") -> Card:
        """What a person's line comes to; a question is answered with yes."""
        context = self.context(person)
        done = await run(parse(line), context)
        if isinstance(done, Question):
            done = await carry_out(done.choices[0].act, context, line=done.line)
        return done.card

    async def undo(self, change: int, *, person: str = "ann") -> Card:
        """What a click on the Undo of a change comes to."""
        return (await carry_out(UndoChange(change=change), self.context(person))).card

    async def fire(self) -> None:
        """Do what is due, to its end."""
        await self.worker.round()
        await self.worker.settle()

    async def guard(self) -> None:
        """Have a guardrail's rule fire, which pauses the workspace for four hours."""
        claim = Claim(
            workspace="default",
            rule="rule",
            sentence=str(RULE),
            action=RULE.action,
            subject="",
            label="all",
            note="",
        )
        await self.acts.act(claim, RULE)
        await self.fire()

    async def look_late(self) -> None:
        """Look now for what was carried out late."""
        due = sa.update(jobs).where(jobs.c.kind == LATE).values(due_at=self.clock.now)
        await self.store.database.write(lambda tx: tx.execute(due))
        await self.fire()

    async def timer(self, name: str) -> Timer | None:
        """The timer of a sequence."""
        known = await self.store.records.timers("default")
        return next((timer for timer in known if timer.key == name), None)

    async def plan(self, names: Sequence[str], *, seconds: float, by: str = "ben") -> None:
        """Set the timers of pauses that end in so many seconds."""
        due_at = datetime.fromtimestamp(self.clock.now, UTC) + timedelta(seconds=seconds)
        for name in names:
            payload = {"name": f"Name of {name}", "reason": "", "by": by, "channel": CHANNEL}
            await self.store.records.set_timer("default", Timer(key=name, due_at=due_at, payload=payload))


@asynccontextmanager
async def open_process(
    url: sa.URL, remote: Remote, clock: ManualClock, folder: Path, *, name: str
) -> AsyncIterator[Process]:
    """A process with its own connections to the database and the service."""
    environ = {
        "OUTREACH_BASE_URL": BASE,
        "OUTREACH_API_KEY": "key",
        "OUTREACH_ALERT_CHANNEL": CHANNEL,
        "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/unused.db",
        "XDG_STATE_HOME": str(folder),
    }
    client = OutreachClient(
        base_url=BASE, api_key="key", pacer=NoPacing(), transport=Door(remote=remote, by=name),
        retries=RETRIES, jitter=lambda: 0.05,
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(client)
        store = await stack.enter_async_context(open_store(url, clock=clock))
        settings = shared_settings.load(environ=environ)
        contexts = CommandContexts(settings=settings, store=store, clients={"default": client})
        guard = Guardrails(store, contexts, planned=lambda: None)
        kinds = due.kinds(
            store, contexts, planned=lambda: None, routes=Routes(alert_channels={}), guard=guard
        )
        worker = Worker(store, kinds, workspaces=["default"], wakeup=Wakeup())
        yield Process(store=store, contexts=contexts, worker=worker, clock=clock, acts=guard)
