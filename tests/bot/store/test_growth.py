"""No repository method does more than in proportion to what there is, on data with everything in one place."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import sqlalchemy as sa
from pydantic import SecretStr

import shared.store
from shared.storage.database import parse_url
from shared.store import Store
from shared.store.db.engine import Repository
from shared.store.db.schema import alerts, deliveries
from shared.store.posting import LeaseTimings
from shared.store.webhooks import SecretCipher, WebhookSubscriptions
from tests.bot.manual_clock import ManualClock
from tests.bot.store.growth_cases import CASES, FACTS, SHARES, Case, Skewed
from tests.bot.store.skewed_data import DAY, WORKSPACE, Rehearsal, delivered, fill
from tests.growth import DatabaseWork, database_work
from tests.kit.databases import migrated_file

FEW, MANY = 50, 500


def methods() -> dict[str, Callable[..., object]]:
    """Every public method of every repository by `Class.method`, found in the modules of the store."""
    found: dict[str, Callable[..., object]] = {}
    for module in pkgutil.walk_packages(shared.store.__path__, "shared.store."):
        if ".migrations" in module.name:
            continue
        for name, one in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(one, Repository) and one.__module__ == module.name:
                found |= {
                    f"{name}.{method}": function
                    for method, function in vars(one).items()
                    if inspect.iscoroutinefunction(function) and not method.startswith("_")
                }
    return found


def skewed(url: str, count: int) -> Skewed:
    clock = ManualClock()
    database = Rehearsal(parse_url(url), clock=clock)
    with database.engine.begin() as connection:
        fill(connection, count, now=clock.now)
    cipher = SecretCipher([SecretStr("a-key-of-the-tests")])
    return Skewed(
        store=Store(database, LeaseTimings()),
        webhooks=WebhookSubscriptions(database, cipher),
        count=count,
    )


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Skewed, ...]]:
    """Two amounts of data, in SQLite: the steps of its machine are counted exactly, and the statements are the same."""
    folder = tmp_path_factory.mktemp("growth")
    opened = tuple(skewed(migrated_file(folder / f"{count}.db"), count) for count in (FEW, MANY))
    yield opened
    for one in opened:
        one.store.database.engine.dispose()


async def measured(one: Skewed, case: Case) -> DatabaseWork:
    database = one.store.database
    assert isinstance(database, Rehearsal)
    if case.commits:
        with database_work(database.engine, analyzed=True) as work:
            await case.act(one, None)
        return work
    with database.trial():
        given = await case.given(one) if case.given else None
        with database_work(database.engine, analyzed=True) as work:
            await case.act(one, given)
    return work


def test_every_repository_method_has_a_case() -> None:
    assert {*CASES, *FACTS} == {*methods()}


OF_WORKSPACE = [
    name
    for name, method in methods().items()
    if name in CASES and name not in SHARES and "workspace" in inspect.signature(method).parameters
]


@pytest.mark.parametrize("name", OF_WORKSPACE)
async def test_a_workspace_pays_nothing_for_another_one(stores: tuple[Skewed, ...], name: str) -> None:
    few, many = [await measured(replace(one, workspace="small"), CASES[name]) for one in stores]
    assert many.growth.excess(few.growth, is_flat=True) == {}, many.most_read


@pytest.mark.parametrize("name", CASES)
async def test_a_method_grows_no_faster_than_its_data(stores: tuple[Skewed, ...], name: str) -> None:
    case = CASES[name]
    few, many = [await measured(one, case) for one in stores]
    assert many.growth.excess(few.growth, is_flat=not case.lists) == {}, many.most_read


async def test_unclaimed_replies_are_found_without_those_that_are_done(
    store: Store, clock: ManualClock
) -> None:
    done = [
        delivered(n, "reply.interested", b"{}", at=clock.now - 2 * DAY - n, pending=False)
        for n in range(2_000)
    ]
    told = [
        {"id": f"al_{one['id']}", "delivery_id": one["id"], "workspace": WORKSPACE, "kind": "reply.interested",
         "received_at": one["received_at"], "handled_at": clock.now - DAY}
        for one in done
    ]  # fmt: skip
    with store.database.engine.begin() as connection:
        connection.execute(sa.insert(deliveries), done)
        connection.execute(sa.insert(alerts), told)
    with database_work(store.database.engine) as work:
        await store.records.summary(WORKSPACE)
        await store.records.open_replies(WORKSPACE)
    assert work.most_read[0] < 20, work.most_read


async def test_status_reads_the_deliveries_of_a_day_only(store: Store, clock: ManualClock) -> None:
    old = [delivered(n, "lead.bounced", b"", at=clock.now - 2 * DAY - n, pending=False) for n in range(2_000)]
    with store.database.engine.begin() as connection:
        connection.execute(sa.insert(deliveries), old)
    with database_work(store.database.engine) as work:
        await store.records.summary(WORKSPACE)
    assert work.most_read[0] < 20, work.most_read
