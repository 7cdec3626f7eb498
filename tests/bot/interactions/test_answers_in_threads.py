"""An answer arrives where it was asked for: a click in a thread is answered in that thread, whatever carries the answer."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.slack import seed
from tests.bot.harness import CHANNEL, BotHarness
from tests.kit.waiting import until


async def reply_with_button(bot: BotHarness, command: str) -> dict[str, Any]:
    """A message of the bot in a thread, with a button that runs this command."""
    message = (await bot.control("message", text="root", channel=CHANNEL))["message"]
    button = {
        "type": "button",
        "action_id": "run_0",
        "text": {"type": "plain_text", "text": "Run"},
        "value": command,
    }
    body = {
        "channel": CHANNEL,
        "text": "reply",
        "thread_ts": message["ts"],
        "blocks": [{"type": "actions", "elements": [button]}],
    }
    headers = {"Authorization": f"Bearer {bot.slack.credentials.bot_token}"}
    async with bot.http.post(
        f"{bot.slack.origin}/api/chat.postMessage", json=body, headers=headers
    ) as answer:
        return dict((await answer.json())["message"])


async def click(bot: BotHarness, message: dict[str, Any]) -> dict[str, Any]:
    """The bot's finished answer to a click on the button."""
    since = {one["ts"] for one in await bot.messages()}
    await bot.control("click", channel=CHANNEL, ts=message["ts"], text="Run", user=seed.BEN.id)

    async def answered() -> dict[str, Any] | None:
        new = [one for one in await bot.messages() if one["ts"] not in since]
        return new[0] if new else None

    return dict(await until(answered))


@pytest.mark.parametrize("address_works", [True, False], ids=["response_url", "direct"])
async def test_a_click_in_a_thread_is_answered_in_that_thread(
    connected_bot: BotHarness, *, address_works: bool
) -> None:
    message = await reply_with_button(connected_bot, "whoami")
    if not address_works:
        await connected_bot.control("faults", method="response_url", kind="status", status=404, times=None)
    answer = await click(connected_bot, message)
    assert (answer["thread_ts"], answer["seen_by"]) == (message["thread_ts"], seed.BEN.id)
    assert "You are ben" in answer["text"]


async def test_an_old_button_in_a_thread_is_answered_there(connected_bot: BotHarness) -> None:
    message = await reply_with_button(connected_bot, "nonsense")
    answer = await click(connected_bot, message)
    assert answer["thread_ts"] == message["thread_ts"]
