"""One simulated run: senders, people, Slack, the service, and bots that die and come back, all from one seed."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest import mock

import sqlalchemy as sa

from bot.app import Bot, open_bot
from bot.commands.context import CommandContexts, open_contexts
from shared import settings as shared_settings
from shared.commands.run import open_client
from shared.records import RecordsUnavailable
from shared.settings import Settings
from shared.storage import database
from shared.store import LeaseTimings, open_store
from shared.store import alerts as alert_store
from shared.store.deliveries import Arrival, alert_id
from tests.faults.simulation.invariants import (
    ALERTS,
    PEOPLE_IN_ROTA,
    each_reply_has_one_owner,
    everything_appears,
    guardrails_act_once,
    no_silent_channel,
    requests_within_the_limit,
)
from tests.faults.simulation.loop import PROCESS, Process, SimulatedLoop
from tests.faults.simulation.network import BAD_WEATHER, Fault, Log, Network
from tests.faults.simulation.people import People
from tests.faults.simulation.service import ServiceTransport, SimulatedService
from tests.faults.simulation.slack import SimulatedSlack, SlackSession
from tests.faults.simulation.virtual_time import CLOCK
from tests.kit.bot import interested
from tests.kit.build import SECRET, signature
from tests.kit.databases import migrated_file

BOUNCES = "C0BOUNCES"
alert_store.PASSES = 0
# A turn passes to the group at once here, so that each reply has exactly one owner and turns can be counted.
CONFIG = f"""
[alerts]
remind_after = "3s"
escalate_after = "7s"

[routes]
mention = "S1ROTA"

[routes.rota]
people = {json.dumps(PEOPLE_IN_ROTA)}
pass_after = "4s"

[[routes.rules]]
channel = "{BOUNCES}"
events = ["lead.bounced"]

[[routes.rules]]
channel = "{ALERTS}"
events = ["lead.replied"]

"""
RETRY = (0.5, 4.0)
"""Seconds until a sender repeats what was not answered 200."""
RESTART = (0.2, 6.0)
PACE = LeaseTimings(period=0.25, lease=4.0, read_pause=0.5, doubt=5.0)
"""A quarter of the real one, so that a run is short."""
MEMORY = Path("/dev/shm")  # only a folder in it, of our own


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How long a run is, and how much happens in it."""

    bots: int = 2
    sequences: int = 3
    seconds: float = 6.0
    """Of deliveries and faults; then everything works, and the run goes on until it is quiet."""
    quiet: float = 240.0
    """Seconds after which it must be quiet at the latest."""
    deliveries: float = 3.0
    """A second, on average."""
    repeated: float = 0.2
    """The share of deliveries that are sent again after their 200."""
    told_twice: float = 0.3
    """The share of interested replies that the service also tells as plain ones, before or after."""
    kills: float = 0.4
    """A second, on average."""
    changes: float = 0.6
    """Changes of the weather a second, on average."""
    commands: float = 0.3
    """A second, on average."""
    bounces: float = 2.0
    """How many bounces come beside six interested replies, on average."""
    refused_edits: float = 0.2
    """The share of messages that Slack lets nobody change."""
    guardrail: str = ""
    """A rule that the bots keep to."""


DELIVERIES = Plan()
PAUSES = Plan(sequences=1, deliveries=0.3, kills=0.2, commands=1.0)
"""So few commands that most pauses end by themselves while somebody else acts: with three a second, each replaces the timer
of the one before, and hardly any timer meets a person."""
CROWD = Plan(sequences=1, deliveries=0.05, kills=0.2, commands=8.0)
"""So many commands that they meet at one sequence within a few seeds, which takes hundreds of `PAUSES`."""
GUARDRAILS = Plan(
    sequences=1,
    seconds=70.0,
    deliveries=0.4,
    kills=0.06,
    commands=0.05,
    changes=0.1,
    bounces=12.0,
    guardrail="pause sequence when bounces > 2 in 1h",
)
"""Guardrails are evaluated every 30 s."""


PLANS = {"deliveries": DELIVERIES, "pauses": PAUSES, "crowd": CROWD, "guardrails": GUARDRAILS}


def plan_of(seed: int) -> Plan:
    """Every third seed is about pauses, the others about deliveries."""
    return DELIVERIES if seed % 3 else PAUSES


@dataclass(slots=True, kw_only=True)
class Delivery:
    """One event that the service tells, and what became of it."""

    number: int
    kind: str
    body: bytes
    alert: str
    words: str
    """What only its own message says."""
    channels: tuple[str, ...]
    """Where it must appear; nowhere: it is only counted."""
    acknowledged_at: float | None = None


class Violation(AssertionError):
    """An invariant does not hold."""


@dataclass(slots=True)
class Machine:
    """A bot that is started again whenever it dies."""

    name: str
    process: Process | None = None
    bot: Bot | None = None
    contexts: CommandContexts | None = None
    started: int = 0
    engines: list[sa.Engine] = field(default_factory=list)


class World:
    """Everything outside of the bots. `run` raises `Violation`."""

    def __init__(self, seed: int, plan: Plan) -> None:
        self.seed, self.plan = seed, plan
        random.seed(f"{seed} of the program")
        self.dice = random.Random(f"{seed} of the world")  # reproducible on purpose
        CLOCK.restart()
        self.loop = SimulatedLoop(CLOCK, random.Random(f"{seed} of the loop"), killed=self._died)
        self.log = Log(self.loop)
        self.network = Network(self.loop, random.Random(f"{seed} of the network"))
        self.slack = SimulatedSlack(
            self.loop,
            CLOCK,
            self.network,
            self.log,
            refused=plan.refused_edits,
            dice=random.Random(f"{seed} of Slack"),
        )
        self.service = SimulatedService(self.loop, CLOCK, self.network, self.log, sequences=plan.sequences)
        self.machines = [Machine(f"bot{n}") for n in range(1, plan.bots + 1)]
        self.deliveries: list[Delivery] = []
        self.unseen: list[Delivery] = []
        """Those that did not appear yet in each of their channels."""
        self._faults = True
        self._senders: set[asyncio.Task[Any]] = set()
        self.kills = 0
        self.people = People(self)
        self.service.resumed = self.people.resumed
        self.slack.violated = self.slack.shown.violated = self.violated
        self._violation = ""
        self.guarded = 0
        self.disturbed_at = 0.0
        """When a bot last died or started, in seconds of the run."""
        self._settings: Settings | None = None
        self.folder = Path()

    def has_faults(self) -> bool:
        """Whether things go wrong still."""
        return self._faults

    @property
    def now(self) -> float:
        return CLOCK.elapsed

    def run(self) -> None:
        alone = _sole_owner(alone=self.plan.bots == 1)
        with _folder() as self.folder, _engines(self), _wires(self), alone:
            self._settings = self._read_settings()
            asyncio.set_event_loop(self.loop)
            try:
                self.loop.run_until_complete(self._live())
            finally:
                asyncio.set_event_loop(None)
                for machine in self.machines:
                    self._close(machine)

    @property
    def digest(self) -> str:
        """The same for two runs in which the same things happened at the same time."""
        text = "\n".join([*self.log.lines, str(self.loop.steps)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _read_settings(self) -> Settings:
        config = self.folder / "outreach.toml"
        named = f'[[guardrails]]\nname = "bounces"\nrule = "{self.plan.guardrail}"\n'
        config.write_text(CONFIG + (named if self.plan.guardrail else ""))
        environ = {
            "OUTREACH_CONFIG": str(config),
            "OUTREACH_BASE_URL": "http://service.example/v1",
            "OUTREACH_API_KEY": "key-of-the-simulation",
            "OUTREACH_WEBHOOK_SECRET": SECRET,
            "OUTREACH_ALERT_CHANNEL": ALERTS,
            "OUTREACH_DATABASE_URL": migrated_file(self.folder / "bot.db"),
            "OUTREACH_STATE_DIR": str(self.folder),
            "SLACK_BOT_TOKEN": "xoxb-simulated",
            "SLACK_SIGNING_SECRET": "simulated",
            "SLACK_API_URL": "https://slack.example/api/",
            "XDG_STATE_HOME": str(self.folder),
        }
        return shared_settings.load(environ=environ)

    async def _live(self) -> None:
        for machine in self.machines:
            self._start(machine)
        acts = [self._send_all, self._make_weather, self._kill_now_and_then]
        if self.plan.commands:
            acts.append(self.people.live)
        tasks = [asyncio.create_task(act()) for act in acts]
        await self._sleep(self.plan.seconds, tasks)
        self._calm()
        await self._until_quiet(tasks)
        everything_appears(self)
        guardrails_act_once(self)
        each_reply_has_one_owner(self)
        self.guarded = sum(self.guardrail_pauses().values())
        self.people.check_end()
        self._raise()

    async def _sleep(self, seconds: float, tasks: list[asyncio.Task[Any]]) -> None:
        """Let time pass, and look once a second at what must hold at any moment."""
        ends = self.now + seconds
        while self.now < ends:
            await asyncio.sleep(min(1.0, ends - self.now))
            for check in (requests_within_the_limit, no_silent_channel):
                check(self)
            for task in tasks:
                if task.done():
                    task.result()
            self._raise()

    def violated(self, what: str) -> None:
        self.log(f"VIOLATION: {what}")
        self._violation = self._violation or what

    def _raise(self) -> None:
        if self._violation:
            raise Violation(self._violation)

    def _calm(self) -> None:
        self.log("everything works from now on")
        self._faults = False
        self.network.weather = {}
        for machine in self.machines:
            if machine.process:
                machine.process.dies_at = None

    async def _until_quiet(self, tasks: list[asyncio.Task[Any]]) -> None:
        ends = self.now + self.plan.quiet
        while self.now < ends:
            await self._sleep(2.0, tasks)
            if all(one.acknowledged_at is not None for one in self.deliveries) and not self.unfinished():
                return
        raise Violation(f"not quiet after {self.plan.quiet:.0f} s: {self.unfinished() or 'not acknowledged'}")

    def is_shown(self, delivery: Delivery, channel: str) -> bool:
        """Whether the message of a delivery is there, and says what it should."""
        return self.slack.shown.has(channel, delivery.alert, delivery.words)

    def turns(self) -> dict[str, list[str]]:
        """Whose turn each interested reply was, and is, by alert."""
        query = "SELECT id, passed, owner FROM alerts WHERE kind = 'reply.interested' AND rota = 'routes'"
        return {alert: [*passed.split(), *owner.split()] for alert, passed, owner in self.rows(query)}

    def unfinished(self) -> list[str]:
        """What the store still has to post, or to turn into the card of a more specific event."""
        query = "SELECT id, channel, kind, state, error, lookups FROM posts WHERE state NOT IN ('sent')"
        left = [f"post {row}" for row in self.rows(query)]
        turned = "SELECT key, due_at, attempts FROM jobs WHERE kind = 'paint'"
        left += [f"card {row}" for row in self.rows(turned)]
        left += [f"delivery {row}" for row in self.rows("SELECT id FROM deliveries WHERE pending")]
        return left + [
            f"timer {row}"
            for row in self.rows("SELECT id, key, due_at, attempts FROM jobs WHERE kind = 'resume'")
        ]

    def guardrail_pauses(self) -> dict[str, int]:
        """How often a guardrail has paused each sequence, by the audit."""
        query = (
            "SELECT sequences, count(*) FROM audit WHERE effect = 'paused' AND actor_name LIKE 'guardrail %'"
        )
        return dict(self.rows(f"{query} GROUP BY sequences"))

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query of the database says, beside everything else."""
        import sqlite3

        with contextlib.closing(sqlite3.connect(self.folder / "bot.db")) as connection:
            return connection.execute(query).fetchall()

    # The bots.

    def _start(self, machine: Machine) -> None:
        machine.started += 1
        machine.process = Process(machine.name)
        self.log(f"{machine.name} starts")
        self.disturbed_at = self.now
        self.loop.spawn(machine.process, self._main(machine, machine.process))

    async def _main(self, machine: Machine, process: Process) -> None:
        assert self._settings is not None
        while True:
            try:
                async with (
                    open_bot(self._settings) as running,
                    open_contexts(self._settings, running.store) as contexts,
                ):
                    machine.bot, machine.contexts = running, contexts
                    await asyncio.Event().wait()
            except RecordsUnavailable:
                await asyncio.sleep(1.0)

    def _died(self, process: Process) -> None:
        machine = next(one for one in self.machines if one.process is process)
        self.log(f"{machine.name} is killed at step {process.steps}")
        for act in process.on_death:
            act()
        self.kills += 1
        self.disturbed_at = self.now
        self._close(machine)
        machine.process = machine.bot = machine.contexts = None
        self.loop.later(self.dice.uniform(*RESTART), self._start, machine)

    def _close(self, machine: Machine) -> None:
        """What the kernel does with the files of a process that died."""
        for engine in machine.engines:
            with contextlib.suppress(Exception):
                engine.pool.dispose()
        machine.engines.clear()

    def machine_of(self, process: Process | None) -> Machine | None:
        return next((one for one in self.machines if process and one.process is process), None)

    async def _kill_now_and_then(self) -> None:
        while self.has_faults():
            await asyncio.sleep(self.dice.expovariate(self.plan.kills))
            machine = self.dice.choice(self.machines)
            if self.has_faults() and machine.process and machine.process.dies_at is None:
                machine.process.dies_at = machine.process.steps + self.dice.randrange(1, 60)

    async def _make_weather(self) -> None:
        places = (
            "slack",
            "slack chat.postMessage",
            "slack conversations.history",
            "service read",
            "service change",
        )
        while self.has_faults():
            await asyncio.sleep(self.dice.expovariate(self.plan.changes))
            if not self.has_faults():
                return
            place = self.dice.choice(places)
            kind = self.dice.random()
            if kind < 0.5:
                self.network.weather.pop(place, None)
            elif kind < 0.8:
                self.network.weather[place] = BAD_WEATHER
            else:
                only = self.dice.choice([fault for fault in Fault if fault is not Fault.NONE])
                self.network.weather[place] = {Fault.NONE: 1.0, only: 1.5}

    # The deliveries.

    async def _send_all(self) -> None:
        while self.has_faults():
            delivery = self._next_delivery()
            told = [delivery]
            if delivery.kind == "reply.interested" and self.dice.random() < self.plan.told_twice:
                told.insert(self.dice.choice((0, 1)), self._as_plain(delivery))
            for one in told:
                self._tell(one)
                await asyncio.sleep(self.dice.expovariate(1.0) if one is not told[-1] else 0.0)
            await asyncio.sleep(self.dice.expovariate(self.plan.deliveries))

    def _tell(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        self.unseen.append(delivery)
        self._senders.add(asyncio.create_task(self._send(delivery)))

    def _as_plain(self, other: Delivery) -> Delivery:
        """The same reply as a less specific event, in whose place the more specific one must stand."""
        body = interested(other.number, event="lead.replied", sequence="Sequence 1")
        return Delivery(
            number=other.number + 1,
            kind="lead.replied",
            body=body,
            alert=_alert(body),
            words=other.words,
            channels=(),
        )

    def _next_delivery(self) -> Delivery:
        number = self.deliveries[-1].number + 2 if self.deliveries else 1
        kind = self.dice.choices(
            ["reply.interested", "lead.bounced", "domain.paused", "lead.unsubscribed"],
            [6, self.plan.bounces, 0.4, 1],
        )[0]
        address = f"ada{number}@acme.example"
        body = interested(
            number,
            event=kind,
            sequence=f"Sequence {number % self.plan.sequences + 1}",
            inbox=f"sam{number % 4}@mail0.example",
        )
        channels = {"reply.interested": (ALERTS,), "lead.bounced": (BOUNCES,), "domain.paused": (ALERTS,)}
        if kind == "domain.paused":
            address = f"mail-{number}.example"
            body = json.dumps({"event": kind, "domain": address, "reason": "health below 60"}).encode()
        return Delivery(
            number=number,
            kind=kind,
            body=body,
            alert=_alert(body),
            words=address,
            channels=channels.get(kind, ()),
        )

    async def _send(self, delivery: Delivery) -> None:
        """As the service does: again and again until a 200, and sometimes once more."""
        again = self.dice.random() < self.plan.repeated
        while True:
            status = await self._deliver(delivery)
            if status == 200:
                if delivery.acknowledged_at is None:
                    delivery.acknowledged_at = self.now
                    self.log(f"delivery {delivery.number} {delivery.kind} is acknowledged")
                if not again:
                    return
                again = False
            await asyncio.sleep(self.dice.uniform(*RETRY))

    async def _deliver(self, delivery: Delivery) -> int:
        machine = self.dice.choice(self.machines)
        await asyncio.sleep(self.network.travel())
        if machine.bot is None or machine.process is None:
            return 0
        answer: asyncio.Future[int] = self.loop.create_future()
        self.loop.spawn(machine.process, self._receive(machine.bot, delivery.body, answer), name="request")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(10.0):
                status = await answer
                await asyncio.sleep(self.network.travel())
                return 0 if self.has_faults() and self.dice.random() < 0.05 else status
        return 0

    async def _receive(self, running: Bot, body: bytes, answer: asyncio.Future[int]) -> None:
        async def receive() -> Mapping[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start" and not answer.done():
                self.loop.later(0.0, _set, answer, message["status"])

        headers = [
            (b"x-service-signature", signature(body).encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        scope = {"type": "http", "method": "POST", "path": "/webhooks/outreach", "headers": headers}
        await running.web(scope, cast("Any", receive), cast("Any", send))


def _alert(body: bytes) -> str:
    return alert_id(Arrival(workspace="default", body=body, at=0.0).dkey)


def _set(answer: asyncio.Future[int], status: int) -> None:
    if not answer.done():
        answer.set_result(status)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    parent = MEMORY if MEMORY.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="outreach-simulation-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _engines(world: World) -> Iterator[None]:
    """Know the engines of each process, to close their files when it dies; nothing here outlives a power cut."""
    real = database.open_engine

    def open_engine(*args: Any, **kwargs: Any) -> sa.Engine:
        engine = real(*args, **kwargs)
        sa.event.listen(
            engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF").close()
        )
        if machine := world.machine_of(PROCESS.get()):
            machine.engines.append(engine)
        return engine

    with mock.patch.object(database, "open_engine", open_engine):
        yield


@contextlib.contextmanager
def _wires(world: World) -> Iterator[None]:
    """Lead the requests to Slack and to the service to those of this world, and shorten the waits."""
    opened = partial(open_client, transport=ServiceTransport(world.service))
    with (
        mock.patch("aiohttp.ClientSession", return_value=SlackSession(world.slack)),
        mock.patch("bot.commands.context.open_client", opened),
        mock.patch("bot.app.open_store", partial(open_store, timings=PACE)),
    ):
        yield


@contextlib.contextmanager
def _sole_owner(*, alone: bool) -> Iterator[None]:
    """The lock of a SQLite file: several bots share this one, as they would share a PostgreSQL."""
    with mock.patch("bot.app.sole_owner", return_value=contextlib.nullcontext(alone)):
        yield
