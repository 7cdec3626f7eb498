"""The sandbox's crisis with and without guardrails, and calm months: `python -m tests.bench.guardrail_trial`.

The real jobs, store and client, by the service's own clock: the service moves on, its deliveries arrive, the counts are
read and the rules looked at; calm months are replayed afterwards. Prints the rows of docs/guardrails.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime as dt
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import httpx
from aiohttp import web

from bot.commands.context import CommandContexts
from bot.jobs.auto_resume import AutoResume
from bot.jobs.guardrail_samples import GuardrailSampler
from bot.jobs.guardrails import GuardrailWatch
from bot.jobs.register import open_histories
from bot.jobs.scheduler import Timers
from bot.store import Store, open_store
from bot.store.queue.insert import Arrival
from sandbox.service import Service
from sandbox.service.campaign import scenarios
from shared import settings as shared_settings
from shared.api.client import OutreachClient
from shared.domain.guard_records import StoredRule
from shared.guardrails.backtest import backtest
from shared.guardrails.defaults import SHIPPED
from shared.guardrails.evidence import Evidence
from shared.guardrails.rule import Scope
from shared.guardrails.sentence import parse
from shared.storage.database import parse_url
from tests.bot.manual_clock import routes
from tests.shared.doubles import NoPacing

TUESDAY = dt.datetime(2026, 3, 3, 10, 17, 23, tzinfo=dt.UTC).timestamp()
CRISIS, CALM = "deliverability-crisis", "calm-week"
CRISIS_STEPS = (1800.0,) * 60 + (3500.0,) * 36
"""Half-hours of the thirty hours in which the list goes out, then nearly hours of a day and a half after them."""
CALM_STEPS = (12 * 3600.0,) * 60
SETTLED, HEALED = 4 * 86_400.0, 10 * 86_400.0
"""Seconds after which nothing is about the two batches of the calm scenario: no rate of a day, no score."""
BATCHES = ("useacme.example", "tryacme.example")
BOUGHT = ("useacme.example", "getacme.example", "helloacme.example", "acme-mail.example")
"""The domains from which the crisis sends its bought list."""
LENGTH = "for 24h"
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
    """Without those that the scenario itself brings about."""
    lowest_health: float
    mean_health: float
    domains_paused: int
    pauses: int
    fired: tuple[str, ...] = ()


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
    expected: int = 0

    async def advance(self, seconds: float) -> None:
        """Move the service on, and take in what it delivers."""
        response = await self.http.post(f"{self.service.control_url}/time", json={"advance": seconds})
        response.raise_for_status()
        self.clock.now = response.json()["epoch"]
        self.client.clock = dt.datetime.fromtimestamp(self.clock.now, dt.UTC)
        await self._deliveries()

    async def step(self, seconds: float) -> None:
        await self.advance(seconds)
        await self.sampler.sample()
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


async def run(*, scenario: str, seed: int, acting: bool, steps: Sequence[float]) -> Outcome:
    """One run from its first to its last step."""
    async with open_trial(scenario=scenario, seed=seed, acting=acting) as trial:
        lowest = 100.0
        before = await _sends(trial)
        for seconds in steps:
            await trial.step(seconds)
            lowest = min(lowest, *await _health(trial))
        sent = await _sends(trial) - before
        incidents = await trial.store.guardrails.incidents("default", 0.0)
        happened = await trial.store.guardrails.happenings("default", 0.0)
        bounces = [one for one in happened if one.kind == "lead.bounced" and one.domain in BOUGHT]
        kinds = (await trial.http.get(f"{trial.service.control_url}/summary")).json()["deliveries"]["by_kind"]
        return Outcome(
            seed=seed,
            acting=acting,
            sends=sent,
            bounces=len(bounces) - scripted_bounces(scenario, within=sum(steps)),
            lowest_health=lowest,
            mean_health=mean(await _health(trial)),
            domains_paused=int(kinds.get("domain.paused", 0)),
            pauses=sum(len(one.sequences) for one in incidents if one.action == "pause"),
            fired=tuple(f"{one.rule}: {one.label}: {one.note}" for one in incidents[::-1]),
        )


def scripted_bounces(scenario: str, *, within: float) -> int:
    """Bounces that the scenario itself brings about in so many seconds, of mail that was sent before; no rule prevents them."""
    plan = scenarios.load(scenario)
    bought = {number for number, name in enumerate(plan.domains, start=1) if name in BOUGHT}
    scripted = [one for one in plan.events if one.kind == "bounces" and one.domain in bought]
    return sum(one.count for one in scripted if one.at <= within)


async def _health(trial: Trial) -> list[float]:
    inboxes = await trial.client.list_inboxes()
    return [one.health_score or 0.0 for one in inboxes if one.domain in BOUGHT]


async def _sends(trial: Trial) -> int:
    rows = await trial.client.stats(group_by="inbox", start=dt.date(2026, 1, 1), end=dt.date(2027, 1, 1))
    return sum(row.sends or 0 for row in rows if row.group.rpartition("@")[2] in BOUGHT)


def crisis_table(outcomes: Sequence[Outcome]) -> str:
    heads = (
        "seed | rules | sends | bounces of mail sent in the run | domains paused | health at the end | pauses"
    )
    lines = [f"| {heads} |", "|---|---|---:|---:|---:|---:|---:|"]
    lines += [
        f"| {one.seed} | {'act' if one.acting else 'suggest'} | {one.sends:,} | {one.bounces:,} "
        f"| {one.domains_paused} | {one.mean_health:.1f} | {one.pauses} |"
        for one in outcomes
    ]
    return "\n".join(lines)


async def calm_month(seed: int) -> str:
    """A row of the table of calm months, and what fired without a reason."""
    async with open_trial(scenario=CALM, seed=seed, acting=False) as trial:
        for seconds in CALM_STEPS:
            await trial.advance(seconds)
            await trial.sampler.sample()
        evidence = Evidence()
        guardrails = trial.store.guardrails
        evidence.add(await guardrails.happenings("default", 0.0), await guardrails.samples("default", 0.0))
        end = trial.clock.now
    start, explained, alarms = TUESDAY + CALM_STEPS[0], 0, list[str]()
    for name, sentence in SHIPPED.items():
        for one in backtest(parse(sentence), evidence, start=start, end=end).firings:
            age = one.at - TUESDAY
            if (age < SETTLED and "bounces" in name) or (age < HEALED and one.label in BATCHES):
                explained += 1
            else:
                alarms.append(f"{name}: {one.label}: {one.note}")
    sends = sum(evidence.counted("sends", Scope.SEQUENCE, start=TUESDAY, end=end).values())
    return "\n".join((f"| {seed} | {sends:,} | {explained} | {len(alarms)} |", *alarms, ""))


async def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.guardrail_trial", description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--calm-seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=7)
    options = parser.parse_args()
    for seed in range(options.first, options.first + options.seeds):
        both = [
            await run(scenario=CRISIS, seed=seed, acting=acting, steps=CRISIS_STEPS)
            for acting in (False, True)
        ]
        sys.stdout.write(f"{crisis_table(both)}\n")
    for seed in range(options.first, options.first + options.calm_seeds):
        sys.stdout.write(await calm_month(seed))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
