"""The sandbox's crisis with and without guardrails, and calm months: `python -m tests.bench.guardrail_trial`.

The real jobs, store and client, by the service's own clock: the service moves on, its deliveries arrive, the counts are
read and the rules looked at; calm months are replayed afterwards. Prints the rows of docs/guardrails-measured.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime as dt
import logging
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import httpx
import structlog
from aiohttp import web

from bot.commands.context import CommandContexts
from bot.jobs.auto_resume import AutoResume
from bot.jobs.guardrail_samples import EVERY, GuardrailSampler
from bot.jobs.guardrails import GuardrailWatch
from bot.jobs.register import open_histories
from bot.jobs.scheduler import Timers
from bot.store import Store, open_store
from bot.store.queue.intake import Arrival
from sandbox.service import Service
from shared import settings as shared_settings
from shared.api.client import OutreachClient
from shared.domain.wall_clock import DAY
from shared.guardrails.activity import Activity
from shared.guardrails.backtest import backtest
from shared.guardrails.defaults import SHIPPED
from shared.guardrails.rule import Scope
from shared.guardrails.sentence import parse
from shared.records.guardrails import StoredRule
from shared.storage.database import parse_url
from tests.bot.manual_clock import routes
from tests.shared.doubles import NoPacing

TUESDAY = dt.datetime(2026, 3, 3, 10, 17, 23, tzinfo=dt.UTC).timestamp()
CRISIS = "deliverability-crisis"
CRISIS_STEPS = (60.0,) * 480 + (1800.0,) * 44 + (3500.0,) * 216
"""Ten days: the eight hours in which the first mail of the list goes out by minutes, the rest of the thirty hours by
half-hours, and then nearly hours. The counts are read as often as by the bot, at most."""
CALM_STEPS = (4 * 3600.0,) * 180
CALM_MONTH = 'title = "Calm month"\naccount = "believable"\n'
"""The account of the crisis in which nothing is brought about: every firing is a false alarm."""
BOUGHT = ("useacme.example", "getacme.example", "helloacme.example", "acme-mail.example")
"""The domains from which the crisis sends its bought list."""
LENGTH = "for 36h"
"""Longer than the list goes out."""
LIMITS = "at most 10 a day, at most 8 sequences at once"


class Client(OutreachClient):
    """A client whose service is dated by the service's own clock."""

    clock: dt.datetime | None = None

    @property
    def service_time(self) -> dt.datetime | None:
        return self.clock


@dataclass(slots=True)
class Clock:
    """The service's time, for the store and the jobs."""

    now: float = TUESDAY

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run came to, for the domains of the bought list."""

    seed: int
    acting: bool
    sends: int
    bounces: int
    health_lost: float
    """Points below the score at the start: the mean of these inboxes over the days."""
    worst_health: float
    """The mean of these inboxes on their worst day."""
    domains_paused: int
    pauses: int


@dataclass(slots=True, kw_only=True)
class Trial:
    """A service, and the jobs of a bot that guard it."""

    service: Service
    http: httpx.AsyncClient
    store: Store
    client: Client
    watch: GuardrailWatch
    sampler: GuardrailSampler
    timers: Timers
    clock: Clock
    came: list[bytes] = field(default_factory=list)
    read_at: float = 0.0

    async def advance(self, seconds: float) -> None:
        """Move the service on, and take in what it delivers."""
        response = await self.http.post(f"{self.service.control_url}/time", json={"advance": seconds})
        response.raise_for_status()
        self.clock.now = response.json()["epoch"]
        self.client.clock = dt.datetime.fromtimestamp(self.clock.now, dt.UTC)
        await self._deliveries()

    async def step(self, seconds: float) -> None:
        await self.advance(seconds)
        if self.clock.now >= self.read_at + EVERY:
            await self.sampler.sample()
            self.read_at = self.clock.now
        await self.watch.check()
        await self.watch.release_timers()
        await self.timers.fire()

    async def _deliveries(self) -> None:
        """Everything that the service has to deliver by now, stored as it came."""
        while await self._undelivered():  # noqa: ASYNC110 # the service is another party: it can only be asked
            await asyncio.sleep(0.01)
        bodies, self.came[:] = list(self.came), []
        if bodies:
            batch = [Arrival(workspace="default", body=body, at=self.clock.now) for body in bodies]
            await self.store.arrivals.append(batch, number=1)
            while await self.store.deliveries.route(routes().decide, limit=500):
                pass

    async def _undelivered(self) -> int:
        summary = (await self.http.get(f"{self.service.control_url}/summary")).json()
        return int(summary["deliveries"]["by_state"]["pending"])


@contextlib.asynccontextmanager
async def sink(came: list[bytes]) -> AsyncIterator[str]:
    async def take(request: web.Request) -> web.Response:
        came.append(await request.read())
        return web.Response()

    application = web.Application()
    application.router.add_post("/", take)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def open_trial(*, scenario: str, seed: int, acting: bool) -> AsyncIterator[Trial]:
    clock = Clock()
    came: list[bytes] = []
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = Service(scenario=scenario, speed=0, seed=seed, now=TUESDAY)
        await stack.enter_async_context(service)
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=120))
        await http.put(f"{service.control_url}/limiter", json={"form": "off"})
        url = await stack.enter_async_context(sink(came))
        key = service.api_keys["acme"]
        environ = {
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": key,
            "OUTREACH_ALERT_CHANNEL": "C0TRIAL",
            "XDG_STATE_HOME": str(folder),
            "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/bot.db",
        }
        settings = shared_settings.load(environ=environ)
        client = Client(base_url=service.base_url, api_key=key, pacer=NoPacing())
        client.clock = dt.datetime.fromtimestamp(TUESDAY, dt.UTC)
        await stack.enter_async_context(client)
        await client.create_webhook(
            url=url,
            events=["lead.replied", "reply.ooo", "lead.bounced", "lead.unsubscribed", "domain.paused"],
        )
        store = await stack.enter_async_context(
            open_store(parse_url(settings.database_url or ""), clock=clock)
        )
        if acting:
            for name, sentence in SHIPPED.items():
                rule = sentence.replace("suggest pausing sequence", f"pause sequence {LENGTH}")
                rule = rule.replace("suggest pausing domain", f"pause domain {LENGTH}")
                rule += f", {LIMITS}" if rule.startswith("pause") else ""
                await store.guardrails.add_rule("default", StoredRule(name=name, sentence=rule))
        contexts = CommandContexts(settings=settings, store=store, clients={"default": client})
        histories = await stack.enter_async_context(open_histories(contexts))
        watch = GuardrailWatch(store, contexts, planned=_nothing)
        sampler = GuardrailSampler(store, contexts, histories, learn=watch.learn, saw=watch.saw)
        resume = AutoResume(store, contexts, planned=_nothing)
        timers = Timers(store, {"resume": resume}, workspaces=contexts.clients)
        yield Trial(
            service=service, http=http, store=store, client=client, watch=watch, sampler=sampler,
            timers=timers, clock=clock, came=came,
        )  # fmt: skip


def _nothing() -> None:
    """No worker is to be woken."""


async def run(*, seed: int, acting: bool, steps: Sequence[float] = CRISIS_STEPS) -> Outcome:
    """One crisis from its first to its last step."""
    async with open_trial(scenario=CRISIS, seed=seed, acting=acting) as trial:
        sent_before, before = await _sends(trial), await _health(trial)
        days: dict[int, list[float]] = {}
        for seconds in steps:
            await trial.step(seconds)
            if (day := int(trial.clock.now // DAY)) not in days:
                days[day] = await _health(trial)
        incidents = await trial.store.guardrails.incidents("default", 0.0)
        happened = await trial.store.guardrails.happenings("default", 0.0)
        kinds = (await trial.http.get(f"{trial.service.control_url}/summary")).json()["deliveries"]["by_kind"]
        return Outcome(
            seed=seed,
            acting=acting,
            sends=await _sends(trial) - sent_before,
            bounces=sum(one.kind == "lead.bounced" and one.domain in BOUGHT for one in happened),
            health_lost=mean(
                max(0.0, then - now)
                for scores in days.values()
                for then, now in zip(before, scores, strict=True)
            ),
            worst_health=min(mean(scores) for scores in days.values()),
            domains_paused=int(kinds.get("domain.paused", 0)),
            pauses=sum(len(one.sequences) for one in incidents if one.action == "pause"),
        )


async def _health(trial: Trial) -> list[float]:
    inboxes = await trial.client.list_inboxes()
    return [one.health_score or 0.0 for one in inboxes if one.domain in BOUGHT]


async def _sends(trial: Trial) -> int:
    rows = await trial.client.stats(group_by="inbox", start=dt.date(2026, 1, 1), end=dt.date(2027, 1, 1))
    return sum(row.sends or 0 for row in rows if row.group.rpartition("@")[2] in BOUGHT)


def row(one: Outcome) -> str:
    rules = "act" if one.acting else "suggest"
    bounces = f"{one.bounces:,} | {one.bounces / one.sends:.1%}"
    health = f"{one.health_lost:.1f} | {one.worst_health:.1f}"
    return f"| {one.seed} | {rules} | {one.sends:,} | {bounces} | {health} | {one.domains_paused} | {one.pauses} |"


async def calm_month(seed: int, scenario: Path) -> str:
    """A row of the table of calm months, and every firing."""
    async with open_trial(scenario=str(scenario), seed=seed, acting=False) as trial:
        for seconds in CALM_STEPS:
            await trial.advance(seconds)
            await trial.sampler.sample()
        activity = Activity()
        guardrails = trial.store.guardrails
        activity.add(await guardrails.happenings("default", 0.0), await guardrails.samples("default", 0.0))
        end = trial.clock.now
    alarms = [
        f"{name}: {one.label}: {one.note}"
        for name, sentence in SHIPPED.items()
        for one in backtest(parse(sentence), activity, start=TUESDAY, end=end).firings
    ]
    sends = sum(activity.counted("sends", Scope.SEQUENCE, start=TUESDAY, end=end).values())
    return "\n".join((f"| {seed} | {sends:,} | {len(alarms)} |", *alarms))


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.guardrail_trial", description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--calm-seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=7)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for seed in range(options.first, options.first + options.seeds):
        for acting in (False, True):
            say(row(await run(seed=seed, acting=acting)))
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "calm.toml"
        scenario.write_text(CALM_MONTH, "utf-8")
        for seed in range(options.first, options.first + options.calm_seeds):
            say(await calm_month(seed, scenario))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
