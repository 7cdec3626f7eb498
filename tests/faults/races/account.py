"""An account that several processes change at once: a service whose answers a test holds up, and bots on one database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sa

from bot.commands.context import CommandContexts
from bot.guardrails import Guardrails
from bot.jobs import due
from bot.runtime import Wakeup
from bot.worker import Worker
from shared import settings as shared_settings
from shared.commands import Invocation, invocation, parse
from shared.commands.base import CommandContext, Question
from shared.commands.run import run
from shared.commands.undo import UndoChange
from shared.domain.card import Card
from shared.guardrails import rule as rules
from shared.records import Actor, RuleFinding, Timer
from shared.store import Store, open_store
from shared.store.db.schema import jobs
from tests.kit.due import core_of, settle
from tests.kit.manual_clock import CHANNEL, ManualClock
from tests.kit.scripted import BASE, ScriptedAccount

RULE = rules.parse("pause workspace for 4h when bounces > 5% of at least 50 sends in 24h")
RETRIES = 1
"""After which a client gives up, soon also where nothing answers. A time would be over too early on a busy machine."""


class Remote(ScriptedAccount):
    """The service that the processes share: sequences by id and status."""

    @property
    def statuses(self) -> dict[str, str]:
        return {one["id"]: one["status"] for one in self.sequences}

    @statuses.setter
    def statuses(self, statuses: Mapping[str, str]) -> None:
        self.sequences = [
            {"id": key, "name": f"Name of {key}", "status": status} for key, status in statuses.items()
        ]

    def set(self, key: str, status: str) -> None:
        """Change a sequence by hand, or late."""
        self.sequence(key)["status"] = status


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
        return self.contexts.at("default", actor)

    async def say(self, line: str, *, person: str = "ann") -> Card:
        """What a person's line comes to; a question is answered with yes."""
        context = self.context(person)
        done = await run(parse(line), context)
        if isinstance(done, Question):
            done = await run(Invocation(arguments=done.choices[0].act, line=done.line), context)
        return done.card

    async def undo(self, change: int, *, person: str = "ann") -> Card:
        """What a click on the Undo of a change comes to."""
        return (await run(invocation(UndoChange(change=change)), self.context(person))).card

    async def fire(self) -> None:
        """Do what is due, to its end."""
        await self.worker.round()
        await settle(self.worker)

    async def guard(self) -> None:
        """Have a guardrail's rule fire, which pauses the workspace for four hours."""
        finding = RuleFinding(
            workspace="default",
            rule="rule",
            sentence=str(RULE),
            action=RULE.action,
            subject="",
            label="all",
            note="",
        )
        await self.acts.act(finding)
        await self.fire()

    async def look_late(self) -> None:
        """Look now for what was carried out late."""
        due = sa.update(jobs).where(jobs.c.kind == "late").values(due_at=self.clock.now)
        await self.store.database.write(lambda tx: tx.execute(due))
        await self.fire()

    async def timer(self, name: str) -> Timer | None:
        """The timer of a sequence."""
        return (await self.store.pauses("default")).timers.get(name)

    async def plan(self, names: Sequence[str], *, seconds: float, by: str = "ben") -> None:
        """Set the timers of pauses that end in so many seconds."""
        due_at = datetime.fromtimestamp(self.clock.now, UTC) + timedelta(seconds=seconds)
        for name in names:
            payload = {"name": f"Name of {name}", "reason": "", "by": by, "channel": CHANNEL}
            await self.store.set_timer("default", Timer(key=name, due_at=due_at, payload=payload))


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
    client = remote.client(by=name, retries=RETRIES, jitter=lambda: 0.05)
    async with client, open_store(url, clock=clock) as store:
        settings = shared_settings.load(environ=environ)
        contexts = CommandContexts(settings=settings, store=store, clients={"default": client})
        core = core_of(contexts)
        guard = Guardrails(core)
        # Nothing is posted here.
        kinds = [kind for kind in due.kinds(core, guard) if kind.name not in {"post", "lookup", "paint"}]
        worker = Worker(store, kinds, workspaces=["default"], wakeup=Wakeup())
        yield Process(store=store, contexts=contexts, worker=worker, clock=clock, acts=guard)
