"""What goes wrong around the bot, and whether it says so: in its answers, in `status`, in its figures."""

from __future__ import annotations

import json
import resource
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot import delivery
from sandbox.slack import seed
from shared.api.events import Event
from shared.records import AlertsSummary
from shared.store import Store
from shared.store.db import schema
from shared.store.db.engine import Transaction
from shared.store.deliveries import Arrival
from shared.store.messages import PlannedPost, put_paint
from tests.kit.bot import CHANNEL, interested
from tests.kit.team import HASTE, Installation, installed
from tests.kit.waiting import until


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Installation]:
    """Slack, and no bot yet."""
    async with installed(tmp_path) as bot:
        await bot.act("settings", messages_per_second=0)
        bot.set(f'[routes]\nfallback = "{seed.SALES}"\n')
        yield bot


@pytest.fixture
async def bot(home: Installation) -> AsyncIterator[Installation]:
    """A bot in this process that posts twenty messages a second."""
    async with home.inside(pace=HASTE):
        yield home


async def summary(bot: Installation) -> AlertsSummary:
    assert bot.running is not None
    return await bot.running.store.summary("default")


async def readiness(bot: Installation) -> tuple[int, dict[str, Any]]:
    status, text = await bot.get("/readyz")
    return status, json.loads(text)


@pytest.mark.e2e
async def test_a_file_that_cannot_grow_is_503_and_unready_and_everything_comes_afterwards(
    home: Installation,
) -> None:
    async with home.process() as process:
        assert await home.deliver(interested(0)) == 200
        await home.until_posted(1)
        # Like a full disk, without filling one: the kernel refuses what the database writes.
        full = (0, resource.RLIM_INFINITY)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, full)
        assert [await home.deliver(interested(number)) for number in (1, 2)] == [503, 503]
        status, ready = await readiness(home)
        assert status == 503
        assert ready["database"] != "ok"
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        assert [await home.deliver(interested(number)) for number in (1, 2)] == [200, 200]
        assert set((await home.until_posted(3)).values()) == {1}
        assert (await readiness(home))[0] == 200


async def test_a_card_that_cannot_be_drawn_stops_neither_its_channel_nor_the_repaints(
    bot: Installation,
) -> None:
    assert bot.running is not None
    broken = PlannedPost(dedupe="broken", channel=CHANNEL, kind="note", note="{no card")
    await bot.running.store.outbox.plan([("default", broken)])
    assert await bot.deliver(interested(1)) == 200
    await bot.until_posted(1)
    assert (await summary(bot)).counts["dead"] == 1

    def spoil(tx: Transaction) -> None:
        sent = sa.update(schema.posts).where(schema.posts.c.dedupe == "broken")
        tx.execute(sent.values(state="sent", ts="1.1"))
        put_paint(tx, {(CHANNEL, "1.1")})

    await bot.running.store.database.write(spoil)
    card = next(one for one in await bot.messages() if "is interested" in one["text"])
    await bot.act("click", channel=CHANNEL, ts=card["ts"], text="Claim", user=seed.ANN.id)

    async def claimed() -> bool:
        return any("claimed by @ann" in one.shown for one in await bot.messages())

    await until(claimed)


async def test_a_delivery_that_the_bot_stumbles_over_is_kept_and_stops_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumbling(body: bytes) -> Event:
        return Event(kind=json.loads(body)["event"])

    monkeypatch.setattr(delivery, "read_event", stumbling)
    decide = delivery.Routes(alert_channels={}).decide

    bodies = [b"[]", b'{"event":"lead.replied"}']
    batch = [Arrival(workspace="default", body=body, at=1.0) for body in bodies]
    await store.arrivals.append(batch)
    decided = await store.deliveries.route(decide)
    assert [decision.problem != "" for _, decision in decided] == [True, False]
    assert await store.deliveries.route(decide) == []
