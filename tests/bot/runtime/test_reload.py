"""SIGHUP has the bot read secrets in files again, and settings that can't be used leave it as it is."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.bot.harness import BotHarness, bot_process, interested, open_harness
from tests.kit.build import signature
from tests.kit.waiting import until

pytestmark = pytest.mark.e2e

FIRST, SECOND = "whsec-first", "whsec-second"


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[BotHarness]:
    """One that is not started yet, and whose secrets stand in a file."""
    async with open_harness(tmp_path) as opened:
        del opened.environ["OUTREACH_WEBHOOK_SECRET"], opened.environ["OUTREACH_LOG_LEVEL"]
        opened.config(f'webhook_secret = "{FIRST}"\n')
        await opened.control("settings", messages_per_second=0)
        yield opened


async def deliver(bot: BotHarness, number: int, *, secret: str) -> int:
    body = interested(number)
    return await bot.deliver(body, headers={"X-Service-Signature": signature(body, secret)})


async def test_a_reload_reads_a_secrets_file_again(bot: BotHarness, tmp_path: Path) -> None:
    secret = tmp_path / "webhook.secret"
    secret.write_text(f"{FIRST}\n")
    secret.chmod(0o600)
    bot.config("")
    bot.environ["OUTREACH_WEBHOOK_SECRET_FILE"] = str(secret)
    async with bot_process(bot) as process:
        assert await deliver(bot, 1, secret=FIRST) == 200
        secret.write_text(f"{SECOND}\n")
        process.send_signal(signal.SIGHUP)

        async def taken() -> bool:
            return await deliver(bot, 2, secret=SECOND) == 200

        await until(taken)
        assert await deliver(bot, 3, secret=FIRST) == 401
