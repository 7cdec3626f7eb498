"""An event about a channel is taken when it has been handled."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox.slack import seed
from shared.records.records import RecordsUnavailable
from shared.store.messages import ChannelRefused
from tests.bot.harness import BotHarness
from tests.kit.waiting import until


async def test_what_interrupts_an_event_about_a_channel_has_slack_send_it_again(
    connected_bot: BotHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connected_bot.say("subscribe reply.interested #sales")
    assert connected_bot.running is not None
    outcomes, attempts = connected_bot.running.store.posting, list[str]()
    close = outcomes.close_channel

    async def interrupted_once(channel: str, refused: ChannelRefused, **options: Any) -> None:
        attempts.append(channel)
        if len(attempts) == 1:
            # Slack sends again what isn't acknowledged: taken first, the archived channel would stay unknown.
            raise RecordsUnavailable("the process was killed here")
        await close(channel, refused, **options)

    monkeypatch.setattr(outcomes, "close_channel", interrupted_once)
    await connected_bot.control("channel", channel=seed.SALES, archived=True)

    async def closed() -> bool:
        return bool(
            json.loads((await connected_bot.get("/readyz"))[1])["channels"] == {seed.SALES: "is_archived"}
        )

    await until(closed)
    assert attempts == [seed.SALES] * 2
