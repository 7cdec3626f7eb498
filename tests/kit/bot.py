"""A bot on a free port with a Slack that refuses what Slack refuses, for what a Team hides: no service, odd senders, a process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp

from bot.app import Bot
from bot.slack.socket_mode import SocketTimeouts
from sandbox.service import Service
from sandbox.slack import seed
from sandbox.slack.server import SlackStandIn
from shared.store import LeaseTimings
from tests.kit.build import SECRET, signature
from tests.kit.databases import migrated_file
from tests.kit.event_loop import WATCH, blocks_written
from tests.kit.ports import free_port
from tests.kit.processes import running_async
from tests.kit.team import HASTE, PROGRAM, Installation, running_bot
from tests.kit.waiting import BOUND_SECONDS, until

CHANNEL = seed.ALERTS
START_BOUND = 60.0
"""Seconds for the start of a process: on a machine that is busy with other things it takes many."""


def interested(number: int = 0, **changes: Any) -> bytes:
    """A delivery of an interested reply; each number is another lead."""
    lead = {"email": f"ada{number}@acme.example", "first_name": f"Ada {number}", "company": "Acme"}
    event = {"event": "reply.interested", "lead": lead, "sequence": "Q3 founders", "step": 2}
    return json.dumps({**event, "reply": "Yes, call me.", "inbox": "sam@mail.example", **changes}).encode()


_numbers = itertools.count()


@dataclass(kw_only=True)
class BotHarness(Installation):
    """Slack, the bot's address, and what a test does to both."""

    slack: SlackStandIn
    port: int
    http: aiohttp.ClientSession
    environ: dict[str, str]
    running: Bot | None = None
    config, control = Installation.set, Installation.act

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def config_workspaces(self, places: Mapping[str, tuple[str, str, str]], *, text: str = "") -> None:
        """Workspaces of these names instead of the environment's one, each with its service, key and alert channel."""
        for name in ("BASE_URL", "API_KEY", "WEBHOOK_SECRET", "ALERT_CHANNEL"):
            del self.environ[f"OUTREACH_{name}"]
        for name, (url, key, channel) in places.items():
            keys = {"base_url": url, "api_key": key, "webhook_secret": SECRET, "alert_channel": channel}
            lines = [f'{key} = "{value}"' for key, value in keys.items() if value]
            text += "\n".join(["", f"[workspaces.{name}]", *lines, ""])
        self.config(text)

    def use_socket_mode(self) -> None:
        """Have Slack reach a bot that is not started yet by Socket Mode alone."""
        self.slack.settings.request_url = None
        self.environ["SLACK_APP_TOKEN"] = self.slack.announcement["slack_app_token"]
        del self.environ["SLACK_SIGNING_SECRET"]

    async def ready(self) -> tuple[int, dict[str, Any]]:
        """The status and the body of `/readyz`."""
        status, body = await self.get("/readyz")
        return status, json.loads(body)

    async def deliver_signed(self, number: int, *, secret: str) -> int:
        """Post the delivery of an interested reply, signed with this secret; the status of the answer."""
        body = interested(number)
        return await self.deliver(body, headers={"X-Service-Signature": signature(body, secret)})

    def second(self) -> BotHarness:
        """The same Slack and database, for a bot on another port."""
        port = free_port()
        return replace(self, port=port, environ={**self.environ, "OUTREACH_PORT": str(port)})

    async def press(self, message: Mapping[str, Any], text: str = "", **more: Any) -> list[dict[str, Any]]:
        """Press a button of a message as Ben, and return what the bot answers."""
        at = {"channel": message["channel"], "ts": message["ts"], **({"text": text} if text else {})}
        done = await self.control("click", **at, **{"user": seed.BEN.id, "wait": 10, **more})
        return list(done["answers"])

    async def messages(self, channel: str = CHANNEL) -> list[dict[str, Any]]:
        found = (await self.query("messages", channel=channel))["messages"]
        return [{key: value for key, value in one.items() if key != "revisions"} for one in found]

    async def public_message(self, words: str) -> dict[str, Any]:
        """The message with these words, once it is there for everybody."""

        async def there() -> dict[str, Any] | None:
            known = await self.messages()
            return next((m for m in known if words in m["text"] and m["seen_by"] is None), None)

        return dict(await until(there))

    async def until_posted(self, count: int, *, seconds: float = BOUND_SECONDS) -> dict[str, int]:
        async def enough() -> dict[str, int] | None:
            posted = await self.posted()
            return posted if len(posted) >= count else None

        return dict(await until(enough, seconds=seconds))

    async def say(self, text: str, **more: Any) -> list[dict[str, Any]]:
        """Type `/outreach TEXT` and return what the bot answered.

        An edit of a message of before may come first, and so may what a thread learns about an earlier change: neither
        is an answer.
        """
        is_here = more.get("channel", CHANNEL) == CHANNEL
        before = {one["ts"] for one in await self.messages()} if is_here else set[str]()
        done = await self.control("command", text=f"/outreach {text}", **{"wait": 30, **more})
        found = [one for one in done["answers"] if one["ts"] not in before and not _is_reply(one)]
        if done["answers"] and not found:
            return [dict(await until(lambda: self._answer_beside(before)))]
        return found

    async def _answer_beside(self, before: set[str]) -> dict[str, Any] | None:
        later = [one for one in await self.messages() if one["ts"] not in before]
        return next((one for one in later if one["by_app"] and not _is_reply(one)), None)


def _is_reply(message: Mapping[str, Any]) -> bool:
    """True for a message in the thread of another."""
    return message.get("thread_ts") not in {None, message["ts"]}


@contextlib.asynccontextmanager
async def open_harness(folder: Path, *, database: str = "", **environ: str) -> AsyncIterator[BotHarness]:
    """Slack and everything a bot needs to be started, without a bot yet."""
    port = free_port()
    async with (
        SlackStandIn(0, f"http://127.0.0.1:{port}") as slack,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
    ):
        connection = slack.announcement
        yield BotHarness(
            slack=slack,
            port=port,
            http=http,
            environ={
                "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
                "OUTREACH_API_KEY": "key-of-the-tests",
                "OUTREACH_WEBHOOK_SECRET": SECRET,
                "OUTREACH_ALERT_CHANNEL": CHANNEL,
                "OUTREACH_DATABASE_URL": database or migrated_file(folder / "bot.db"),
                "OUTREACH_PORT": str(port),
                "OUTREACH_LOG_LEVEL": "WARNING",
                "SLACK_BOT_TOKEN": connection["slack_bot_token"],
                "SLACK_SIGNING_SECRET": connection["slack_signing_secret"],
                "SLACK_API_URL": connection["slack_api_url"],
                "XDG_STATE_HOME": str(folder),
                **environ,
            },
        )


@contextlib.asynccontextmanager
async def bot_inside(
    bot: BotHarness, *, pace: LeaseTimings | None = None, timeouts: SocketTimeouts | None = None
) -> AsyncIterator[Bot]:
    """The bot in this process, behind its real server."""
    async with running_bot(bot.environ, pace=pace, timeouts=timeouts) as running:
        bot.running = running
        yield running


@contextlib.asynccontextmanager
async def bot_process(
    bot: BotHarness, *, pace: LeaseTimings | None = HASTE, before: str = "", stderr: int | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The bot as its own process, killed at the end if it still lives; `before` is run in it first.

    Fails if its event loop was blocked for long, unless the test takes the log that says so (`stderr`).
    """
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd()), **bot.environ}
    program = WATCH + before + PROGRAM.format(pace=pace)
    log = Path(bot.environ["XDG_STATE_HOME"]) / f"bot-{next(_numbers)}.log"
    try:
        with log.open("wb") as file:
            async with running_async(
                sys.executable, "-c", program, env=environ, stderr=file if stderr is None else stderr
            ) as process:
                await until(lambda: _answers(bot), seconds=START_BOUND)
                yield process
    finally:
        logged = log.read_text(errors="replace")
        sys.stderr.write(logged)
    assert blocks_written(logged) == [], "the event loop was blocked for so many seconds"


async def _answers(bot: BotHarness) -> bool:
    try:
        return (await bot.get("/healthz"))[0] == 200
    except (aiohttp.ClientConnectionError, TimeoutError):
        return False


async def sequences_of(service: Service, *, http: aiohttp.ClientSession) -> list[dict[str, Any]]:
    """The sequences of the service's first workspace, once the bot leaves a request of the second for this one."""
    headers = {"Authorization": f"Bearer {next(iter(service.api_keys.values()))}"}

    async def listed() -> list[dict[str, Any]]:
        async with http.get(f"{service.base_url}/sequences", headers=headers) as answer:
            body = await answer.json()
            return next((value for value in body.values() if isinstance(value, list)), [])

    found: list[dict[str, Any]] = await until(listed)
    return found
