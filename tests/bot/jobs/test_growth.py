"""No job does more than in proportion to what there is, on data with everything in one place."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import sqlalchemy as sa

import bot.jobs
from bot.alerts.turns import Unknown
from bot.commands.context import CommandContexts
from bot.jobs import register
from bot.jobs.domain_checks import DomainChecks
from bot.jobs.guardrail_acts import GuardrailActs
from bot.jobs.guardrail_samples import GuardrailSampler
from bot.jobs.guardrails import GuardrailWatch
from bot.jobs.history_sampler import HistorySampler
from bot.jobs.register import Yesterday
from bot.runtime.wakeup import Wakeup
from bot.worker import Kind, Worker
from shared import settings as shared_settings
from shared.api.client import OutreachClient
from shared.api.models import Inbox
from shared.domain.wall_clock import moment
from shared.domain_health.lookup import Lookup
from shared.guardrails.sentence import parse
from shared.history import History
from shared.store.alerts.incidents import Claim
from shared.store.db.schema import alerts
from shared.store.jobs import ACT, DIGEST, DOMAIN, LATE, REMIND, RESUME
from tests.bot.due import do_due, evaluate
from tests.bot.store.growth_cases import Skewed
from tests.bot.store.skewed_data import WORKSPACE, Rehearsal
from tests.bot.store.test_growth import skewed_stores
from tests.growth import DatabaseWork, database_work
from tests.shared.doubles import BASE, KEY, NoPacing, Service

FEW, MANY = 10, 100


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """A store with skewed data, a service with as many sequences and inboxes, and what jobs are made with."""

    skewed: Skewed
    contexts: CommandContexts
    service: Service
    histories: dict[str, History]

    def plan(self) -> None:
        """What the jobs call when they have planned a message."""


def jobs() -> set[str]:
    """Every coroutine that a job is, or that one is made of, in all modules of the jobs."""
    found: set[str] = set()
    for info in pkgutil.iter_modules(bot.jobs.__path__, "bot.jobs."):
        module = importlib.import_module(info.name)
        found |= {name for name, one in _own(module.__name__, module, inspect.iscoroutinefunction)}
        for name, one in _own(module.__name__, module, inspect.isclass):
            methods = inspect.getmembers(one, inspect.iscoroutinefunction)
            found |= {f"{name}.{method}" for method, _ in methods if method == "__call__" or method[0] != "_"}
    return found


def _own(name: str, module: object, which: Callable[[object], bool]) -> list[tuple[str, type]]:
    return [(key, one) for key, one in inspect.getmembers(module, which) if one.__module__ == name]


@asynccontextmanager
async def open_workplace(one: Skewed, folder: Path) -> AsyncIterator[Workplace]:
    service = Service()
    service.sequences = [
        {"id": f"sq{n}", "name": f"Q{n}", "status": "paused", "steps": 3} for n in range(one.count)
    ]
    service.inboxes = [
        {
            "id": f"in{n}",
            "email": f"sam{n}@d0.example",
            "health_score": 90,
            "daily_limit": 40,
            "status": "active",
        }
        for n in range(one.count)
    ]
    service.stats = [{"group": f"sq{n}", "sends": 9, "replies": 1} for n in range(one.count)]
    config = folder / "outreach.toml"
    config.write_text(
        f'[workspaces.{WORKSPACE}]\nbase_url = "{BASE}"\napi_key = "{KEY}"\nalert_channel = "C9"\n'
    )
    config.chmod(0o600)
    settings = shared_settings.load(
        environ={
            "OUTREACH_CONFIG": str(config),
            "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/bot.db",
            "XDG_STATE_HOME": str(folder),
        }
    )
    client = OutreachClient(base_url=BASE, api_key=KEY, pacer=NoPacing(), retries=0, transport=service)
    contexts = CommandContexts(settings=settings, store=one.store, clients={WORKSPACE: client})
    async with client, History(settings.history_database) as history:
        yield Workplace(skewed=one, contexts=contexts, service=service, histories={WORKSPACE: history})


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Skewed, ...]]:
    with skewed_stores(request, tmp_path_factory, FEW, MANY) as opened:
        yield opened


async def _fire(at: Workplace, kind: str) -> None:
    """Do all that is due of a kind."""
    kinds = register.kinds(at.skewed.store, at.contexts, planned=at.plan, people=Unknown(), guard=_watch(at))
    mine = [one for one in kinds if one.name == kind]
    worker = Worker(at.skewed.store, mine, workspaces=at.contexts.clients, wakeup=Wakeup())
    await worker.round()
    await worker.settle()


def _watch(at: Workplace) -> GuardrailWatch:
    return GuardrailWatch(at.skewed.store, at.contexts, planned=at.plan)


def _sampler(at: Workplace) -> GuardrailSampler:
    watch = _watch(at)
    return GuardrailSampler(at.skewed.store, at.contexts, at.histories, learn=watch.learn, saw=watch.saw)


async def _remind(at: Workplace) -> None:
    """Look at all open alerts, where each turn that anybody has is over at once."""
    over = (
        sa.update(alerts).where(alerts.c.turn_ends_at.is_not(None)).values(turn_ends_at=at.skewed.now - 1.0)
    )
    await at.skewed.store.database.write(lambda tx: tx.execute(over))
    await _fire(at, REMIND)


async def _act(at: Workplace) -> None:
    rule = parse("pause sequence when replies < 1% of at least 50 sends in 24h for 2h")
    claim = Claim(
        workspace=WORKSPACE, rule="new", sentence=str(rule), action=rule.action, subject="q1", label="Q1", note=""
    )  # fmt: skip
    at.service.sequences[1]["status"] = "active"
    await _acts(at).act(claim, rule)
    await do_due(at.skewed.store, Kind(name=ACT, handle=_acts(at)))
    assert at.service.sequences[1]["status"] == "paused"


def _acts(at: Workplace) -> GuardrailActs:
    return GuardrailActs(at.skewed.store, at.contexts, planned=at.plan)


def _domain_checks(at: Workplace) -> DomainChecks:
    return DomainChecks(
        at.skewed.store,
        at.contexts.settings.routes,
        at.contexts.settings.dns,
        stored=at.plan,
        changed=at.plan,
        lookup=Lookup([]),
    )


async def _watch_domains(at: Workplace) -> None:
    inboxes = [Inbox(email=f"sam@d{number}.example", health_score=90.0) for number in range(at.skewed.count)]
    await _domain_checks(at).watch(WORKSPACE, inboxes)


async def _check_domains(at: Workplace) -> None:
    await do_due(at.skewed.store, Kind(name=DOMAIN, handle=_domain_checks(at), alone=True))


CASES: dict[str, Callable[[Workplace], Awaitable[object]]] = {
    "AutoResume.__call__": lambda at: _fire(at, RESUME),
    "Digests.__call__": lambda at: _fire(at, DIGEST),
    "DomainChecks.__call__": _check_domains,
    "DomainChecks.watch": _watch_domains,
    "GuardrailActs.act": _act,
    "GuardrailActs.release_timers": lambda at: _acts(at).release_timers(
        {WORKSPACE: (10.0**10, frozenset({"sq1"}))}
    ),
    "GuardrailActs.__call__": lambda at: do_due(at.skewed.store, Kind(name=ACT, handle=_acts(at))),
    "GuardrailSampler.sample": lambda at: _sampler(at).sample(),
    "GuardrailWatch.__call__": lambda at: evaluate(_watch(at)),
    "GuardrailWatch.release_timers": lambda at: _watch(at).release_timers(),
    "HistorySampler.sample": lambda at: HistorySampler(at.contexts, at.histories).sample(),
    "LateRequests.__call__": lambda at: _fire(at, LATE),
    "Reminders.__call__": _remind,
    "Yesterday.__call__": lambda at: Yesterday(at.histories)(WORKSPACE, moment(at.skewed.now)),
    "_prune": lambda at: register._prune(at.skewed.store, at.contexts.settings),
}
EXEMPT = {
    "CardRefresher.refresh": "looks through the workspace's last week for each domain that is paused, of which there are few",
    "CardRefresher.run": "calls it again and again",
    "JobScheduler.aclose": "reads nothing",
    "Reconciler.reconcile": "has tests of its own, of what it reads of the service",
}


async def measured(one: Skewed, folder: Path, name: str) -> DatabaseWork:
    database = one.store.database
    assert isinstance(database, Rehearsal)
    async with open_workplace(one, folder) as at:
        with database.trial(), database_work(database.engine, analyzed=True) as work:
            await CASES[name](at)
    return work


def test_every_job_has_a_case() -> None:
    assert {*CASES, *EXEMPT} == jobs()


@pytest.mark.parametrize("name", CASES)
async def test_a_job_grows_no_faster_than_its_data(
    stores: tuple[Skewed, ...], name: str, tmp_path: Path
) -> None:
    folders = [tmp_path / str(one.count) for one in stores]
    for folder in folders:
        folder.mkdir()
    few, many = [await measured(one, folder, name) for one, folder in zip(stores, folders, strict=True)]
    assert many.growth.excess(few.growth, is_flat=False) == {}, (few.growth, many.growth, many.most_read)
