"""What people, a sender and time do to a bot that dies once in between, and what must be true afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import sqlalchemy as sa

from bot.worker import LEASE_SECONDS
from sandbox.slack import seed
from shared.storage.database import parse_url, temporary_engine
from shared.store.db.schema import deliveries, jobs, posts
from tests.faults.kills.process import KILLED, Kill, running_bot
from tests.kit.bot import interested
from tests.kit.service import Account, open_account
from tests.kit.team import START_BOUND, Installation, Message, installed
from tests.kit.waiting import until

PAUSED, TIMED = "Manufacturing DACH", "Fintech ops leaders"
PATIENCE = 45.0
"""Seconds that anything may take, the start of the next process included. On PostgreSQL, where others may live, a dead
process's lease has to end, too."""
REPEATED = 3.0
"""Seconds that the answer to a command may take after the bot that was asked has died."""


def event(kind: str, name: str, **fields: Any) -> bytes:
    lead = {"email": f"{name.lower()}@acme.example", "first_name": name}
    return json.dumps({"event": kind, "lead": lead, "sequence": PAUSED, **fields}).encode()


DELIVERIES = (
    interested(0, sequence=PAUSED),
    interested(1, sequence=TIMED),
    event("lead.replied", "Grace", reply="Tell me more."),
    event("lead.bounced", "Edsger", bounce_type="hard", inbox="sam@mail.example"),
    json.dumps({"event": "domain.paused", "domain": "mail.example", "reason": "bounce_rate"}).encode(),
    event("reply.interested", "Grace", reply="Tell me more."),
)
"""The last one is the reply of the third, recognized as interested: the same card shows both."""
CARDS = ("Ada 0", "Ada 1", "Grace", "Edsger", "mail.example is paused")
"""What each card says that nobody else's says."""


@dataclass(kw_only=True)
class Scene:
    """A bot that is killed once, and everything around it."""

    bot: Installation
    account: Account
    notes: Path
    kill: Kill | None = None
    deaths: int = 0
    confirmed: int = 0
    """How many changes the service had made when the pause without an end was confirmed."""

    @property
    def killed_at(self) -> str:
        """Where the process was killed; empty: it wasn't."""
        note = self.notes / KILLED
        return note.read_text() if note.exists() else ""

    async def keep_running(self) -> None:
        """Start the bot, and again whenever it has died: the first one is killed, the next ones live."""
        kill = self.kill
        while True:
            async with running_bot(self.bot.environ, kill, self.notes) as died:
                await died.wait()
            self.deaths += 1
            kill = None

    async def perform(self) -> None:
        await self.until("the bot runs", self._answers, seconds=START_BOUND)
        await self.tell(
            "subscribe lead.bounced lead.replied here",
            "now gets (bounces and replies|replies and bounces)",
            channel=seed.ALERTS,
        )
        for body in DELIVERIES:
            await self.deliver(body)
        await asyncio.gather(self.deliver(DELIVERIES[0]), self._change(), self._claim())

    async def _answers(self) -> bool:
        return (await self.bot.get("/healthz"))[0] == 200

    async def deliver(self, body: bytes) -> None:
        async def taken() -> bool:
            return await self.bot.deliver(body) == 200

        await self.until("a delivery is taken", taken)

    async def _change(self) -> None:
        await self.tell(f"pause {PAUSED}", f"{PAUSED} (is already )?paused")
        self.confirmed = len(self.account.changes)
        await self.tell(f"pause {TIMED} for 2h", f"{TIMED} (is already )?paused until")
        await asyncio.to_thread(self._let_time_pass)
        await self.until("the timed pause ends", self._is_resumed)

    async def _is_resumed(self) -> bool:
        return not await self.account.is_paused(TIMED)

    def _let_time_pass(self) -> None:
        with temporary_engine(self.url) as engine, engine.begin() as connection:
            ended = sa.update(jobs).where(jobs.c.kind == "resume")
            connection.execute(ended.values(due_at=jobs.c.due_at - 2 * 3600))

    async def _claim(self) -> None:
        async def claimed() -> bool:
            card = await self.card("Ada 0")
            if card is None or "claimed by" in json.dumps(card["blocks"]):
                return card is not None
            at = {"channel": card["channel"], "ts": card["ts"], "text": "Claim"}
            # The card changes between the look and the click.
            with contextlib.suppress(AssertionError):  # it is being repainted without the button
                await self.bot.act("click", **at, user=seed.ANN.id, wait=REPEATED)
            return False

        await self.until("the card is claimed", claimed)

    async def tell(self, line: str, expected: str, *, channel: str = seed.SALES) -> None:
        """Type a command until its answer is seen; a person types it again when nothing comes after the bot has died."""

        async def answered() -> bool:
            return any(re.search(expected, one["text"]) for one in await self.bot.messages(channel))

        async def typed() -> bool:
            # An answer may be lost with the bot: a person who saw none types the command again.
            deaths = self.deaths
            done = await self.bot.act("command", text=f"/outreach {line}", channel=channel)
            if done["ack"]["error"] == "dispatch_failed":  # nobody was there
                return False

            async def settled() -> bool:
                return self.deaths > deaths or await answered()

            await until(settled, seconds=self.patience)
            with contextlib.suppress(AssertionError):
                return bool(await until(answered, seconds=REPEATED))
            return False

        await self.until(f"“{line}” is confirmed", typed)

    @property
    def patience(self) -> float:
        return PATIENCE + (0.0 if self.url.get_backend_name() == "sqlite" else LEASE_SECONDS)

    @property
    def url(self) -> sa.URL:
        return parse_url(self.bot.environ["OUTREACH_DATABASE_URL"])

    async def check(self) -> list[str]:
        """What isn't as it must be, once nothing is left to do."""
        try:
            await self.until("everything is done", lambda: asyncio.to_thread(self._is_quiet))
            await self.until("the bot is ready", self._is_ready)
        except AssertionError as error:
            return [str(error), *await asyncio.to_thread(self._left)]
        # What is said twice is said by a job's next look, which has no event.
        await asyncio.sleep(1.0)  # some looks of every job
        shown = json.dumps([(one["text"], one["blocks"]) for one in await self.cards()])
        posted = await self.bot.posted()
        told = [one["text"] for one in await self.bot.messages(seed.SALES)]
        resumed = [text for text in told if f"{TIMED} is sending again" in text]
        later = self.account.changes[self.confirmed :]
        paused, timed = [await self.account.sequence(name) for name in (PAUSED, TIMED)]
        wrong = {
            f"{len(posted)} alerts are posted": len(posted) != len(CARDS),
            f"posted more than once: {posted}": set(posted.values()) != {1},
            **{f"{words} is not shown": words not in shown for words in CARDS},
            "the claim is not shown": "claimed by" not in shown,
            "the interested reply of Grace is not shown": not await self._is_interested("Grace"),
            f"the end of the pause is announced {len(resumed)} times: {told}": len(resumed) != 1,
            f"{PAUSED} is {paused['status']}": paused["status"] != "paused",
            f"{TIMED} is {timed['status']}": timed["status"] != "active",
            f"the confirmed pause was interrupted: {later}": (paused["id"], "active") in later,
        }
        found = [what for what, is_wrong in wrong.items() if is_wrong]
        try:  # no lock of the dead process holds up a change
            await self.tell(f"pause {TIMED}", f"{TIMED} paused(?! until)")
        except AssertionError as error:
            found.append(str(error))
        return found

    async def _is_interested(self, name: str) -> bool:
        card = await self.card(name)
        return card is not None and "Claim" in json.dumps(card["blocks"])

    async def _is_ready(self) -> bool:
        return (await self.bot.get("/readyz"))[0] == 200

    def _is_quiet(self) -> bool:
        return not self._left()

    def _left(self) -> list[str]:
        """What is not finished in the database."""
        unfinished = {
            "deliveries": (deliveries, deliveries.c.pending),
            "posts": (posts, posts.c.state != "sent"),
            "timed pauses": (jobs, jobs.c.kind == "resume"),
        }
        # Reading alone, it locks out no writer.
        with (
            temporary_engine(self.url) as engine,
            engine.execution_options(read_only=True).connect() as connection,
        ):
            counts = {
                name: connection.scalar(sa.select(sa.func.count()).select_from(table).where(where))
                for name, (table, where) in unfinished.items()
            }
        return [f"{count} {name} are left" for name, count in counts.items() if count]

    async def cards(self) -> list[Message]:
        return [one for one in await self.bot.messages() if one["seen_by"] is None]

    async def card(self, words: str) -> Message | None:
        return next((one for one in await self.cards() if words in json.dumps(one["blocks"])), None)

    async def until(
        self, what: str, condition: Callable[[], Awaitable[Any] | Any], *, seconds: float = 0.0
    ) -> None:
        """Wait, whatever happens to the bot meanwhile."""
        seconds = seconds or self.patience

        async def holds() -> bool:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                value = condition()
                return bool(await value if isinstance(value, Awaitable) else value)
            return False

        try:
            await until(holds, seconds=seconds)
        except AssertionError:
            raise AssertionError(f"not within {seconds:g} s: {what}") from None


@contextlib.asynccontextmanager
async def open_scene(folder: Path, *, database: str = "", kill: Kill | None = None) -> AsyncIterator[Scene]:
    """A bot that runs until the end of the block, killed at this moment."""
    async with (
        open_account() as account,
        installed(folder, database=database, **account.environ) as bot,
    ):
        await bot.act("settings", messages_per_second=0)
        scene = Scene(bot=bot, account=account, notes=folder, kill=kill)
        running = asyncio.create_task(scene.keep_running())
        try:
            yield scene
        finally:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running


async def play(folder: Path, *, database: str = "", kill: Kill | None = None) -> tuple[str, list[str]]:
    """One run: where the bot was killed, empty if it wasn't, and what is wrong afterwards."""
    async with open_scene(folder, database=database, kill=kill) as scene:
        try:
            await scene.perform()
        except AssertionError as error:
            return scene.killed_at, [str(error), *await scene.check()]
        return scene.killed_at, await scene.check()
