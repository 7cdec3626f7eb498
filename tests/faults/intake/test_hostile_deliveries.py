"""No delivery, whatever it holds, stops the next one: the whole bot on both engines."""

from __future__ import annotations

import json
import random
import string
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.api.words import EVENT_KINDS
from shared.records import RecordsUnavailable
from shared.storage.database import parse_url
from shared.store import Store, open_store
from shared.store.db import schema
from shared.store.deliveries import Arrival, Decision, PendingDelivery, alert_id
from tests.kit.bot import CHANNEL, interested
from tests.kit.clock import moment
from tests.kit.due import claim_turns
from tests.kit.manual_clock import ManualClock, append, routes
from tests.kit.team import HASTE, Installation, installed
from tests.kit.waiting import until

SWIFT = replace(HASTE, period=0.005)
EVERY_KIND = f'[[routes.rules]]\nchannel = "{CHANNEL}"\nevents = ["*"]\n'
NAMES = ("email", "first_name", "last_name", "company")
FIELDS = ("sequence", "step", "reply", "inbox", "domain", "return_date", "bounce_type", "reason", "rate")


def random_text(length: int, seed_: int = 0) -> str:
    """Random text, which no database makes shorter by compressing it."""
    return "".join(random.Random(seed_).choices(string.ascii_letters + string.digits + "äßİ漢😀", k=length))


long_texts = st.builds(random_text, st.sampled_from([300, 3_000, 6_000]), st.integers(0, 99))
texts = st.one_of(
    st.text(st.characters(), max_size=40),  # lone surrogates too
    st.sampled_from(["\0", "a\0b", "\ud800", "\udfff\ud800", "İ" * 400, " ", "<!here>", "`pause all`"]),
    long_texts,
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**18, 2**63, -(2**64), 10**400, 10**4000]),
    st.floats(),
    texts,
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4)
)
leads = st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, anything)) | anything
events = st.fixed_dictionaries(
    {"event": st.sampled_from(EVENT_KINDS) | anything, "lead": leads},
    optional=dict.fromkeys(FIELDS, anything),
)
nested = st.sampled_from([5, 900, 20_000]).map(
    lambda depth: b'{"event":"lead.replied","lead":%b1%b}' % (b'{"lead":' * depth, b"}" * depth)
)
bodies = st.one_of(
    events.map(lambda event: json.dumps(event).encode()),
    anything.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=300),
    nested,
    st.just(b'{"event":"lead.replied","step":%b}' % (b"9" * 6_000)),
).filter(lambda body: len(body) <= 200_000)


@pytest.fixture(params=["sqlite", "postgresql"])
async def bot(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Installation]:
    """A bot that posts every kind of event."""
    database = request.getfixturevalue("fresh_postgresql") if request.param == "postgresql" else ""
    async with installed(tmp_path, database=database) as opened:
        await opened.act("settings", messages_per_second=0)
        opened.set(EVERY_KIND)
        async with opened.inside(pace=SWIFT):
            yield opened


@pytest.fixture
async def store(url: sa.URL, clock: ManualClock) -> AsyncIterator[Store]:
    async with open_store(url, clock=clock) as opened:
        yield opened


def alert_of(body: bytes) -> str:
    return alert_id(Arrival(workspace="default", body=body, at=0.0).dkey)


_numbers = count(1)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(body=bodies)
async def test_no_delivery_stops_the_next_one(bot: Installation, body: bytes) -> None:
    following = interested(next(_numbers))
    assert await bot.deliver(body) == 200
    assert await bot.deliver(following) == 200

    async def posted() -> bool:
        return alert_of(following) in await bot.posted()

    await until(posted)
    assert bot.running is not None
    assert await bot.running.store.deliveries.oldest_unrouted_age() == 0


def refused_by_every_engine(pending: PendingDelivery) -> Decision:
    """Decide what no router decides today: the database refuses the sequence of the second lead."""
    decision = routes().decide(pending)
    return replace(decision, sequence="\ud800") if b"ada2@" in pending.body else decision


async def test_a_delivery_that_the_database_refuses_is_set_aside_with_its_body(store: Store) -> None:
    await append(store, *map(interested, (1, 2, 3)))
    decided = await store.deliveries.route(refused_by_every_engine)
    assert [bool(decision.problem) for _, decision in decided] == [False, True, False]
    assert await store.deliveries.route(refused_by_every_engine) == []
    assert (await store.summary("default")).counts["unreadable"] == 1
    query = sa.select(schema.deliveries.c.body).where(schema.deliveries.c.problem != "")
    kept = await store.database.read(lambda c: c.scalars(query).all())
    assert kept == [interested(2)]
    (turn,) = await claim_turns(store, limit=1)
    assert turn.posts[0].alert_id == alert_of(interested(1))


@pytest.mark.parametrize(
    ("fault", "cure"),
    [
        ("ALTER TABLE facts RENAME TO gone", "ALTER TABLE gone RENAME TO facts"),
        (
            "ALTER TABLE deliveries RENAME COLUMN detail TO gone",
            "ALTER TABLE deliveries RENAME COLUMN gone TO detail",
        ),
    ],
    ids=["table missing", "column missing"],
)
async def test_a_broken_schema_sets_no_delivery_aside(store: Store, fault: str, cure: str) -> None:
    await append(store, interested(1))
    await store.database.write(lambda tx: tx.connection.exec_driver_sql(fault))
    # The database is at fault and not the delivery: set aside for it, the delivery would be lost.
    with pytest.raises(RecordsUnavailable):
        await store.deliveries.route(routes().decide)
    await store.database.write(lambda tx: tx.connection.exec_driver_sql(cure))
    ((_, decision),) = await store.deliveries.route(routes().decide)
    assert (decision.problem, len(decision.posts)) == ("", 1)


async def test_readiness_is_red_while_an_old_delivery_waits_to_be_routed(
    tmp_path: Path, fresh_postgresql: str
) -> None:
    async with installed(tmp_path, database=fresh_postgresql) as bot, bot.inside():

        async def readiness() -> tuple[int, float]:
            status, state = await bot.ready()
            return status, state["oldest_unrouted_seconds"]

        assert await readiness() == (200, 0)
        arrival = Arrival(workspace="default", body=interested(1), at=moment().timestamp() - 120)
        with psycopg.connect(fresh_postgresql) as blocking:
            blocking.execute("LOCK TABLE alerts")  # the router waits for this
            async with open_store(parse_url(fresh_postgresql)) as store:
                await store.arrivals.append([arrival])
            status, age = await readiness()
            assert status == 503
            assert age >= 120
            blocking.rollback()
        await bot.until_posted(1)

        async def well() -> bool:
            return await readiness() == (200, 0)

        await until(well)
