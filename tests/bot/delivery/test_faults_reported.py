"""What goes wrong around the bot, and whether it says so: in its answers, in `status`, in its figures."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot.delivery.worker import isolated
from bot.store import Ledger, open_ledger
from bot.store.db import schema
from bot.store.queue.deliveries import Arrival, Decision, PendingDelivery, PlannedPost
from sandbox.slack.state import seed
from shared.domain.records import AlertsSummary
from shared.storage.database import parse_url
from tests.bot.harness import CHANNEL, HASTE, House, bot_inside, bot_process, interested, open_house, until


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[House]:
    """Slack, and no bot yet."""
    async with open_house(tmp_path) as house:
        await house.control("settings", messages_per_second=0)
        house.config(f'[routes]\nfallback = "{seed.SALES}"\n')
        yield house


@pytest.fixture
async def house(home: House) -> AsyncIterator[House]:
    """A bot in this process that posts twenty messages a second."""
    async with bot_inside(home, pace=HASTE):
        yield home


async def summary(house: House) -> AlertsSummary:
    assert house.bot is not None
    return await house.bot.ledger.summary("default")


async def readiness(house: House) -> tuple[int, dict[str, Any]]:
    status, text = await house.get("/readyz")
    return status, json.loads(text)


async def gauge(house: House, state: str) -> float:
    """`outreach_alerts` in this state."""
    _, text = await house.get("/metrics")
    wanted = f'outreach_alerts{{state="{state}",workspace="default"}} '
    return sum(float(line.removeprefix(wanted)) for line in text.splitlines() if line.startswith(wanted))


async def revoke(house: House, *, broken: bool) -> None:
    await house.control("token", revoked=broken)


async def archive(house: House, *, broken: bool) -> None:
    await house.control("channel", channel=CHANNEL, archived=broken)


async def send_away(house: House, *, broken: bool) -> None:
    await house.control("scopes", **{"remove" if broken else "add": ["chat:write.public"]})
    await house.control("members", channel=CHANNEL, **{"remove" if broken else "invite": seed.BOT.id})


@pytest.mark.parametrize(
    ("act", "error"),
    [(revoke, "token_revoked"), (archive, "is_archived"), (send_away, "not_in_channel")],
    ids=["token revoked", "channel archived", "bot not in it"],
)
async def test_what_breaks_a_channel_is_told_everywhere_and_cured(house: House, act: Any, error: str) -> None:
    await act(house, broken=True)
    for number in range(3):
        assert await house.deliver(interested(number)) == 200

    async def told() -> bool:
        return (await summary(house)).broken_channels.get(CHANNEL) == error

    await until(told)
    status, ready = await readiness(house)
    assert status == 200, "deliveries are taken all the same"
    assert ready["channels"][CHANNEL] == error
    assert await gauge(house, "dead") > 0
    assert await gauge(house, "dead") + await gauge(house, "waiting") >= 3
    await act(house, broken=False)
    await house.try_again(CHANNEL)
    await house.try_again(seed.SALES)
    assert set((await house.until_posted(3)).values()) == {1}

    async def cured() -> bool:
        return "takes alerts again" in json.dumps(await house.messages(seed.SALES))

    await until(cured)
    assert (await readiness(house))[1]["channels"] == {}

    async def nothing_waits() -> bool:
        return (await gauge(house, "dead"), await gauge(house, "waiting")) == (0, 0)

    await until(nothing_waits)


async def test_a_slack_that_is_down_is_said_and_everything_comes_once_when_it_is_back(house: House) -> None:
    await house.control("faults", method="*", kind="status", status=503, times=None)
    for number in range(8):
        assert await house.deliver(interested(number)) == 200

    async def told() -> bool:
        return "503" in (await readiness(house))[1]["slack"]

    await until(told)
    now = await summary(house)
    assert (now.waiting, now.uncertain, now.dead) == (7, 1, 0)
    assert now.oldest_waiting_at is not None
    await house.control("faults", clear=True)
    assert set((await house.until_posted(8)).values()) == {1}


async def test_a_file_that_cannot_grow_is_503_and_unready_and_everything_comes_afterwards(
    home: House,
) -> None:
    async with bot_process(home) as process:
        assert await home.deliver(interested(0)) == 200
        await home.until_posted(1)
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


async def test_a_bot_that_is_told_to_stop_lets_the_message_under_way_arrive(
    home: House, tmp_path: Path
) -> None:
    async with bot_process(home, pace=None) as process:
        await home.control("faults", method="chat.postMessage", kind="delay", seconds=1.0)
        assert await home.deliver(interested(1)) == 200

        async def under_way() -> bool:
            async with home.http.get(f"{home.slack.origin}/control/state") as answer:
                return not (await answer.json())["faults"]

        await until(under_way)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0
    async with open_ledger(parse_url(f"sqlite:///{tmp_path}/bot.db")) as ledger:
        posts = await ledger.store.read(
            lambda c: c.execute(sa.select(schema.posts.c.state, schema.posts.c.ts)).all()
        )
    assert [(state, bool(ts)) for state, ts in posts] == [("sent", True)]


async def test_a_card_that_cannot_be_drawn_stops_neither_its_channel_nor_the_repaints(house: House) -> None:
    assert house.bot is not None
    broken = PlannedPost(dedupe="broken", channel=CHANNEL, kind="note", note="{no card")
    await house.bot.ledger.note("default", broken)
    assert await house.deliver(interested(1)) == 200
    await house.until_posted(1)
    assert (await summary(house)).dead == 1

    def spoil(connection: sa.Connection) -> None:
        sent = sa.update(schema.posts).where(schema.posts.c.dedupe == "broken")
        connection.execute(sent.values(state="sent", ts="1.1", repaint_at=0.0))

    await house.bot.ledger.store.write(spoil)
    assert await house.deliver(interested(1)) == 200

    async def counted() -> bool:
        return "received 2×" in json.dumps(await house.messages(), ensure_ascii=False)

    await until(counted)


async def test_a_delivery_that_the_bot_stumbles_over_is_kept_and_stops_no_other(ledger: Ledger) -> None:
    def stumbling(pending: PendingDelivery) -> Decision:
        return Decision(kind=json.loads(pending.body)["event"])

    bodies = [b"[]", b'{"event":"lead.replied"}']
    batch = [Arrival(workspace="default", body=body, at=1.0) for body in bodies]
    await ledger.store_batch(batch, number=1)
    decided = await ledger.route(isolated(stumbling))
    assert [decision.problem != "" for _, decision in decided] == [True, False]
    assert await ledger.route(isolated(stumbling)) == []
