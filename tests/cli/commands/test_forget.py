"""`outreach forget`: a person is erased from the bot's database after a yes, and the answer says what remains."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bot.delivery import Routes
from cli.commands import forget
from sandbox.slack import seed
from shared.settings import load
from shared.store import Store, open_store
from shared.store.deliveries import Arrival
from shared.store.messages import Sent
from tests.bot.due import claim_turns
from tests.bot.harness import interested
from tests.cli.conftest import Shell

ADDRESS = "ada1@acme.example"


def with_store(shell: Shell, act: Callable[[Store], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with open_store(load().database) as store:
            return await act(store)

    return asyncio.run(run())


async def _post(store: Store, ts: str) -> None:
    """Two replies, posted: the person's under this timestamp."""
    at = store.database.clock()
    batch = [Arrival(workspace="default", body=interested(n), at=at + n) for n in (1, 2)]
    await store.arrivals.append(batch)
    await store.deliveries.route(Routes(alert_channels={"default": seed.ALERTS}).decide)
    lease = (await claim_turns(store, limit=1))[0]
    await store.posting.settle(lease, Sent(ts=ts))


@pytest.fixture
def forgetting(offline: Shell) -> Shell:
    with_store(offline, lambda store: _post(store, "1795011030.000100"))
    return offline


def test_interrupted_in_slack_it_can_be_run_again(forgetting: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(forget, "open_web_api", interrupt)
    assert forgetting.run("forget", ADDRESS, "--slack", "--yes").code != 0
    traces = with_store(forgetting, lambda store: store.erasure.find(ADDRESS))
    assert [one.channel for one in traces.messages] == [seed.ALERTS], "only the records know where it is"
