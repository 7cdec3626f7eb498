"""A database that forgets its last commits: what comes afterwards is posted once, and what is unknown is answered."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sandbox.slack import seed
from tests.bot.harness import HASTE, BotHarness, bot_inside, bot_process, interested, open_harness
from tests.faults.test_hanging_database import Server, server
from tests.kit.waiting import until

__all__ = ["server"]
pytestmark = pytest.mark.e2e


@contextmanager
def failed_over(server: Server) -> Iterator[None]:
    """As after a failover to an asynchronous standby: what is committed within the block is lost with its end."""
    # A copy of the folder while the server is stopped is the state of a standby that is behind.
    saved = f"{server.folder}-saved"
    server.stop()
    subprocess.run(["cp", "-a", server.folder, saved], check=True)
    server.start()
    yield
    server.stop()
    subprocess.run(["rm", "-r", server.folder], check=True)
    subprocess.run(["mv", saved, server.folder], check=True)
    server.start()


async def delivered(bot: BotHarness, number: int) -> None:
    async def taken() -> bool:
        return await bot.deliver(interested(number)) == 200

    await until(taken, seconds=30)


async def test_after_a_failover_that_lost_commits_alerts_are_posted_once_and_old_cards_answer(
    server: Server, tmp_path: Path
) -> None:
    async with open_harness(tmp_path, database=server.url) as bot, bot_inside(bot, pace=HASTE):
        await bot.control("settings", messages_per_second=0)
        await delivered(bot, 1)
        await bot.until_posted(1)
        with failed_over(server):
            await delivered(bot, 2)
            await bot.until_posted(2)
        await delivered(bot, 3)
        assert set((await bot.until_posted(3)).values()) == {1}
        (lost,) = [one for one in await bot.messages() if "Ada 2" in one["text"]]
        at = {"channel": lost["channel"], "ts": lost["ts"], "text": "Claim"}
        done = await bot.control("click", **at, user=seed.ANN.id, wait=15)
        # Its card stands in Slack, and no row is behind it any more: the click must be answered all the same.
        assert "This alert is no longer stored" in done["answers"][0]["text"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_journal_that_is_deleted_between_two_runs_has_only_what_a_killed_bot_stored(
    how: signal.Signals, tmp_path: Path
) -> None:
    """After a stop it is empty; after a kill what was in it is lost, and the bot goes on with the rest."""
    async with open_harness(tmp_path) as bot:
        await bot.control("settings", messages_per_second=0)
        file = Path(bot.environ["OUTREACH_DATABASE_URL"].removeprefix("sqlite:///"))
        async with bot_process(bot, pace=HASTE) as process:
            await delivered(bot, 1)
            await bot.until_posted(1)
            process.send_signal(how)
            await process.wait()
        for ending in ("-wal", "-shm"):
            Path(f"{file}{ending}").unlink(missing_ok=True)  # noqa: ASYNC240
        async with bot_process(bot, pace=HASTE):
            await delivered(bot, 1)
            for number in (2, 3):
                await delivered(bot, number)
            posted = await bot.until_posted(3)
            assert (await bot.get("/readyz"))[0] == 200
        # The journal that was deleted had the delivery and its post: the service's repeat is news to this database.
        assert sorted(posted.values()) == ([1, 1, 1] if how == signal.SIGTERM else [1, 1, 2])
        with closing(sqlite3.connect(file)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
