"""A bot that Slack reaches over HTTP or by Socket Mode, and what people do with one interested reply."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sandbox.slack import seed
from tests.bot.harness import CHANNEL, BotHarness, bot_inside, interested, open_harness
from tests.bot.slack.test_socket_mode import HASTE as SOCKET_HASTE
from tests.kit.team import HASTE
from tests.kit.waiting import until

PAGE = "https://crm.example/contacts?q={email}"


@asynccontextmanager
async def open_bot(
    folder: Path, transport: str, *, config: str = f'[links]\nlead = "{PAGE}"\n', **environ: str
) -> AsyncIterator[BotHarness]:
    """A running bot, with a page for each lead."""
    async with open_harness(folder, **environ) as bot:
        bot.config(config)
        if transport == "socket":
            bot.use_socket_mode()
        async with bot_inside(bot, pace=HASTE, timeouts=SOCKET_HASTE):
            if transport == "socket":
                await until(lambda: _connected(bot))
            yield bot


async def _connected(bot: BotHarness) -> bool:
    return bool(json.loads((await bot.get("/readyz"))[1])["socket_mode"]["connected"])


async def card(bot: BotHarness, number: int = 1, *, channel: str = CHANNEL, **changes: Any) -> dict[str, Any]:
    """The message of an interested reply."""
    assert await bot.deliver(interested(number, **changes)) == 200
    await bot.until_posted(1)
    message = (await bot.messages(channel))[-1]
    assert bot.running is not None
    alerts = bot.running.store.alerts
    await until(lambda: alerts.in_message([message["channel"]], message["ts"]))
    return message


async def click(
    bot: BotHarness, message: dict[str, Any], text: str | None = None, **more: Any
) -> list[dict[str, Any]]:
    """Press a button of a message, or choose an entry of its menu."""
    if text and text not in labels(message) and "value" not in more:
        return await choose(bot, message, text, **more)
    at = {"channel": message["channel"], "ts": message["ts"], "wait": 10, **more}
    return list((await bot.control("click", **at, **({"text": text} if text else {})))["answers"])


async def choose(bot: BotHarness, message: dict[str, Any], label: str, **more: Any) -> list[dict[str, Any]]:
    """Choose an entry of a message's menu."""
    return await click(bot, message, action_id="run_menu", value=value_of(message, label), **more)


def value_of(message: dict[str, Any], label: str) -> str:
    """The value of a button or a menu's entry."""
    elements = [one for block in message["blocks"] or () for one in block.get("elements", ())]
    options = [option for one in elements for option in one.get("options", ())]
    return next(str(one["value"]) for one in (*elements, *options) if _label(one) == label)


def labels(message: dict[str, Any]) -> list[str]:
    """The labels of a message's buttons, in rows and beside lines."""
    blocks = message["blocks"] or ()
    elements = [one for block in blocks for one in (*block.get("elements", ()), block.get("accessory") or {})]
    return [_label(one) for one in elements if one.get("type") == "button"]


def _label(element: dict[str, Any]) -> str:
    text = element.get("text")
    return str(text.get("text")) if isinstance(text, dict) else ""


async def shown(bot: BotHarness, message: dict[str, Any], words: str) -> dict[str, Any]:
    """A message as it stands, once it says so."""

    async def there() -> dict[str, Any] | None:
        known = await bot.messages(message["channel"])
        found = next((one for one in known if one["ts"] == message["ts"]), None)
        text = found and f"{found['text']} {json.dumps(found['blocks'], ensure_ascii=False)}"
        return found if text and words in text else None

    return dict(await until(there))


async def in_thread(bot: BotHarness, message: dict[str, Any], words: str) -> dict[str, Any]:
    """The bot's message with these words in the thread of another."""

    async def there() -> dict[str, Any] | None:
        known = await bot.messages(message["channel"])
        replies = [
            one for one in known if one.get("thread_ts") == message["ts"] and one["user"] == seed.BOT.id
        ]
        return next(
            (one for one in replies if words in one["text"] + json.dumps(one["blocks"], ensure_ascii=False)),
            None,
        )

    return dict(await until(there))


async def mention(bot: BotHarness, message: dict[str, Any], line: str, *, user: str = seed.BEN.id) -> None:
    """Write `@outreach …` into a message's thread."""
    text = f"<@{seed.BOT.id}> {line}"
    await bot.control("message", text=text, channel=CHANNEL, thread_ts=message["ts"], user=user)
