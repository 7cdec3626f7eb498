"""Starts the sandbox and a bot, installs the app and subscribes to the events, as a real installation does.

Both are child processes, which end with the demo.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

import aiohttp

from bot.slack.manifest import manifest
from sandbox.slack import seed as people
from shared.frozen import frozen
from shared.storage.secret_file import CREDENTIALS
from shared.text import parent_watch

READY_SECONDS = 120.0
"""Each program has so long to start; one that ends before is not waited for. A busy small machine took over 30 s."""
RESTARTS = 5
"""The demo stops waiting for a bot that is not ready after so long."""
POLL_SECONDS = 5
DNS_EVERY, DNS_PER_SECOND = "1m", 20
ACCOUNT = "acme"
"""The sandbox's workspace whose key the demo uses."""
WORKSPACE = "default"
"""The bot's name for the one workspace in its environment."""

STOP_SECONDS = 5.0
FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0


class DemoFailed(Exception):
    """The demo could not be set up."""


def free_port() -> int:
    """A port below those that the system gives to connections, which could take it before the program has started."""
    while True:
        port = 12_000 + secrets.randbelow(20_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def environment(**settings: str) -> dict[str, str]:
    """This process's environment without the settings of a real account, plus `settings`."""
    real = ("OUTREACH_", "SLACK_", CREDENTIALS)
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(real)}
    return {**inherited, **settings}


@contextlib.asynccontextmanager
async def running(
    *words: str, env: Mapping[str, str], log: Path, read_stdout: bool = False
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `outreach WORDS` for the length of the block; it ends with this process, too, and writes to `log`."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            # `-P`: what lies in the working folder shadows no module of ours.
            sys.executable, "-P", "-m", "outreach_ops", *words,
            env={**env, parent_watch.VARIABLE: "1"},
            # Its lifeline: a child ends when nobody holds the other end, also after the demo was killed.
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE if read_stdout else output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the demo, which ends its children in order
        )  # fmt: skip
    try:
        yield process
    finally:
        await _stop(process)


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.stdin:
        process.stdin.close()


class Supervised:
    """A child that is started again whenever it dies, until the block ends."""

    def __init__(self, *words: str, env: Mapping[str, str], log: Path) -> None:
        self._run = partial(running, *words, env=env, log=log)
        self._started = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.pid = 0
        self.restarts = -1

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._keep_alive(), name="demo-supervisor")
        self._task.add_done_callback(lambda _: self._started.set())
        await self._started.wait()
        if self._task.done():
            self._task.result()  # it could not even be started
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _keep_alive(self) -> None:
        clock = asyncio.get_running_loop().time
        pause = FIRST_PAUSE
        while True:
            async with self._run() as process:
                began = clock()
                self.pid = process.pid
                self.restarts += 1
                self._started.set()
                await process.wait()
            if clock() - began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            # One that dies at its start must not keep a core busy.
            pause = min(pause * 2, LONGEST_PAUSE)


@frozen
class Installation:
    """Everything that runs, and where; `announcement` is the first line that scripts read."""

    announcement: Mapping[str, Any]
    environ: Mapping[str, str]
    """Its settings, as environment variables."""
    sequences: Mapping[str, str]
    """The ids of the account's sequences, by name."""
    bot: Supervised
    http: aiohttp.ClientSession

    async def service(self, path: str, body: object = None) -> dict[str, Any]:
        """Read from the service's control API, or with a body let something happen there."""
        return await _ask(self.http, f"{self.announcement['control_url']}{path}", body)

    async def slack(self, path: str, body: object = None) -> dict[str, Any]:
        """Look at Slack, or with a body act there as a person."""
        return await _ask(self.http, f"{self.announcement['slack_control_url']}/{path}", body)


async def _ask(
    http: aiohttp.ClientSession, url: str, body: object = None, *, headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    method = "GET" if body is None else "POST"
    async with http.request(method, url, json=body, headers=headers) as answer:
        answer.raise_for_status()
        read: dict[str, Any] = await answer.json()
        return read


@contextlib.asynccontextmanager
async def set_up(*, seed: int, speed: float, scenario: str) -> AsyncIterator[Installation]:
    """Start it all on free loopback ports; everything ends with the block. Raises `DemoFailed`."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outreach-demo-")))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        options = ["--seed", str(seed), "--speed", f"{speed:g}", "--scenario", scenario]
        sandbox = await stack.enter_async_context(
            running(
                "sandbox", "--port", "0", "--slack-port", "0", *options,
                env=environment(), log=folder / "sandbox.log", read_stdout=True,
            )
        )  # fmt: skip
        announced = await _first_line(sandbox, folder / "sandbox.log")
        # Now, while nothing else uses the key and its rate.
        key = {"Authorization": f"Bearer {announced['api_keys'][ACCOUNT]}"}
        listed = await _ask(http, f"{announced['base_url']}/sequences", headers=key)
        # Named, so that no user's file is read. The dashboard acts as the person that the Slack page begins with.
        (folder / "outreach.toml").write_text(_config(announced["slack_alert_channel"]))
        port = free_port()
        bot_url = f"http://127.0.0.1:{port}"
        environ = environment(**_settings(announced, port=port, folder=folder))
        # As on Slack's own pages: the app's manifest, and the bot's address.
        control = announced["slack_control_url"]
        await _ask(http, f"{control}/manifest", manifest())
        await _ask(http, f"{control}/request_url", {"url": f"{bot_url}/slack/events"})
        bot = await stack.enter_async_context(Supervised("bot", env=environ, log=folder / "bot.log"))
        await _subscribe(bot_url, environ, folder)
        await _until_ready(http, bot_url, bot, folder / "bot.log")
        yield Installation(
            announcement={**announced, "bot_url": bot_url, "bot_pid": bot.pid},
            environ=environ,
            sequences={sequence["name"]: sequence["id"] for sequence in listed["data"]},
            bot=bot,
            http=http,
        )


def _config(channel: str) -> str:
    """An hour of the account takes a minute, so its domains are checked more often; nobody else's resolvers are asked."""
    return (
        f'[dashboard]\nslack_user = "{people.ANN.id}"\n\n[dns]\nevery = "{DNS_EVERY}"\nper_second = {DNS_PER_SECOND}\n\n'
        f'[[routes.rules]]\nchannel = "{channel}"\nevents = ["domain.dns"]\n'
    )


def _settings(announced: Mapping[str, Any], *, port: int, folder: Path) -> dict[str, str]:
    return {
        "OUTREACH_CONFIG": str(folder / "outreach.toml"),
        "OUTREACH_BASE_URL": announced["base_url"],
        "OUTREACH_API_KEY": announced["api_keys"][ACCOUNT],
        "OUTREACH_ALERT_CHANNEL": announced["slack_alert_channel"],
        "OUTREACH_STATE_DIR": str(folder),
        "OUTREACH_PORT": str(port),
        # So that `Claim & reply` leads to the bot, as with an address that people reach.
        "OUTREACH_PUBLIC_URL": f"http://127.0.0.1:{port}",
        "OUTREACH_POLL_SECONDS": str(POLL_SECONDS),
        # The zones of the account's domains; without it the demo would ask the system's resolvers.
        "OUTREACH_DNS_RESOLVERS": ",".join(announced["dns_resolvers"]),
        "SLACK_BOT_TOKEN": announced["slack_bot_token"],
        "SLACK_SIGNING_SECRET": announced["slack_signing_secret"],
        "SLACK_API_URL": announced["slack_api_url"],
    }


async def _first_line(process: asyncio.subprocess.Process, log: Path) -> dict[str, Any]:
    assert process.stdout
    try:
        line = await asyncio.wait_for(process.stdout.readline(), READY_SECONDS)
        announced: dict[str, Any] = json.loads(line)
    except (TimeoutError, ValueError):
        raise DemoFailed(f"The sandbox didn't start: {_last_lines(log)}") from None
    return announced


async def _subscribe(bot_url: str, environ: Mapping[str, str], folder: Path) -> None:
    """Subscribe as a real installation does: by the command that keeps the secret where the bot finds it."""
    words = ("webhooks", "create", "--url", f"{bot_url}/webhooks/outreach")
    log = folder / "webhooks.log"
    async with running(*words, env=environ, log=log) as process:
        with contextlib.suppress(TimeoutError):
            if await asyncio.wait_for(process.wait(), READY_SECONDS) == 0:
                return
    raise DemoFailed(f"The subscription failed: {_last_lines(log)}")


async def _until_ready(http: aiohttp.ClientSession, bot_url: str, bot: Supervised, log: Path) -> None:
    deadline = asyncio.get_running_loop().time() + READY_SECONDS
    while asyncio.get_running_loop().time() < deadline and bot.restarts < RESTARTS:
        with contextlib.suppress(aiohttp.ClientError, TimeoutError):
            async with http.get(f"{bot_url}/readyz", timeout=aiohttp.ClientTimeout(total=2)) as answer:
                if answer.status == 200:
                    return
        await asyncio.sleep(0.05)
    raise DemoFailed(f"The bot didn't become ready: {_last_lines(log)}")


def _last_lines(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return "\n  ".join(lines[-5:]) or "it logged nothing"
