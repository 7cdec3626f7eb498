"""`outreach demo`: the whole system on one laptop, with no account.

Sandbox and bot are child processes, which end with the demo. The app is installed and subscribed as a real one is. A
story is played in it: scripted people type and click, and mail bounces, while a sentence for each says what to look at.
The bot knows nothing of it. At the end the service's deliveries are compared with the messages in Slack, from outside:
only the ids of alerts are computed as the bot does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import sys
import tempfile
import time
from argparse import Namespace
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp

from bot.slack.manifest import manifest
from cli.console.exit_codes import FAILED, Failed
from cli.console.interactive import attended, stopping
from cli.console.resources import open_replies
from sandbox.data import read_toml
from sandbox.slack.seed import ANN
from shared import settings
from shared.api.values import as_object
from shared.domain.event_kinds import POSTED_AT_ONCE
from shared.storage.files import CREDENTIALS
from shared.store.deliveries import Arrival, alert_id
from shared.text import parent_watch

SCENARIO = "calm-week"
"""The only scenario with a story: in the others the account itself has enough to tell."""
ACCOUNT = "acme"
"""The sandbox's workspace whose key the demo uses."""
SEED = "7"

READY_SECONDS = 120.0
"""Each program has so long to start; a busy small machine took over 30 s."""
STOP_SECONDS = 5.0
RESTARTS = 5
"""The demo stops waiting for a bot that is not ready after so many starts."""
RESTART_PAUSE_SECONDS = 0.5
"""A bot that dies at its start must not keep a core busy."""
PATIENCE_SECONDS = 90.0
"""A person waits so long for a card: guardrails look every 30 seconds, and a domain bears a minute of bounces."""
LOOK_EVERY_SECONDS = 1.0
SETTLE_SECONDS = 30.0

Message = Mapping[str, Any]


async def run(options: Namespace) -> int:
    """Run the demo until it is stopped or its time has passed; 1 if an alert was lost or doubled."""
    headless = options.headless or not attended()
    if headless and not options.headless:
        print("No terminal for the dashboard. Continuing as with --headless.", file=sys.stderr)
    with stopping(signal.SIGHUP) as stop:
        async with set_up(speed=options.speed, scenario=options.scenario) as installation:
            running = _log(installation) if headless else _show(installation)
            async with _beside(stop.wait(), running) as tasks:
                first = asyncio.FIRST_COMPLETED
                done, _ = await asyncio.wait(tasks, timeout=options.seconds, return_when=first)
                for task in done:
                    task.result()  # raises what ended it
            result = await verify(installation)
    print("\n".join(result.lines), flush=True)
    return FAILED if result.lost or result.doubled else 0


@contextlib.asynccontextmanager
async def _beside(*work: Coroutine[Any, Any, Any]) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Run this work while the block runs."""
    tasks = [asyncio.create_task(each, name="demo") for each in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _log(installation: Installation) -> None:
    """Log what happens on stderr: the story's sentences, and each message in the alert channel."""
    began = time.monotonic()

    def log(line: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {line}", file=sys.stderr, flush=True)

    print(json.dumps(installation.announcement), flush=True)
    # The first delivery loads what later ones find: it is made before anything is timed. A reply that the account would have
    # had anyway, only earlier; it counts among the alerts.
    await installation.cause("reply.interested")
    seen = set[str]()
    async with _beside(Story(installation, log).play()):
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                for message in await installation.alerts():
                    if message["ts"] not in seen:
                        log(f"In Slack: {message['text']}")
                    seen.add(message["ts"])
            if seen:
                installation.timed_from = installation.timed_from or time.time()
            await asyncio.sleep(LOOK_EVERY_SECONDS)


async def _show(installation: Installation) -> None:
    """Show the dashboard until it is closed; the story's sentences come up on it."""
    from tui.app.run import run_dashboard

    sentences = asyncio.Queue[str]()
    async with _beside(Story(installation, sentences.put_nowait).play()):
        await run_dashboard(
            lambda: settings.load(environ=installation.environ),
            open_replies=open_replies,
            environ=installation.environ,
            notice=f"Slack: {installation.announcement['slack_page']}",
            tips=sentences,
        )


def free_port() -> int:
    """A port below those that the system gives to connections, which could take it before the program has started."""
    while True:
        port = 12_000 + secrets.randbelow(20_000)
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def environment(**given: str) -> dict[str, str]:
    """This process's environment without the settings of a real account, plus those that are given."""
    real = ("OUTREACH_", "SLACK_", CREDENTIALS)
    return {name: value for name, value in os.environ.items() if not name.startswith(real)} | given


@contextlib.asynccontextmanager
async def _running(
    *words: str, env: Mapping[str, str], log: Path, stdout: int | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `outreach WORDS` for the length of the block; it ends with this process, too, and writes to `log`."""
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            # `-P`: what lies in the working folder shadows no module of ours.
            sys.executable, "-P", "-m", "outreach_ops", *words,
            env={**env, parent_watch.VARIABLE: "1"},
            # Its lifeline: a child ends when nobody holds the other end, also after the demo was killed.
            stdin=asyncio.subprocess.PIPE,
            stdout=stdout or output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the demo, which ends its children in order
        )  # fmt: skip
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        assert process.stdin
        process.stdin.close()


@contextlib.asynccontextmanager
async def _starting(what: str, log: Path) -> AsyncIterator[None]:
    """Bound a start; one that fails is told by the last lines of its log. Raises `Failed`."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            yield
    except (TimeoutError, ValueError, ChildProcessError):
        last = log.read_text(errors="replace").splitlines()[-5:]  # noqa: ASYNC240 # nothing else goes on
        raise Failed("\n  ".join([f"{what}:", *last])) from None


@dataclass
class Installation:
    """Everything that runs, and where; `announcement` is the first line that scripts read."""

    announcement: dict[str, Any]
    environ: Mapping[str, str]
    """Its settings, as environment variables."""
    http: aiohttp.ClientSession
    steps: Sequence[Mapping[str, Any]]
    """The story."""
    restarts: int = -1
    """Those of the bot."""
    timed_from: float = 0.0
    """The time before which no delivery is timed, in Unix seconds."""

    async def service(self, path: str, body: object = None) -> dict[str, Any]:
        """Read from the service's control API, or with a body let something happen there."""
        return await self._ask(f"{self.announcement['control_url']}{path}", body)

    async def slack(self, path: str, body: object = None) -> dict[str, Any]:
        """Look at Slack, or with a body act there as a person."""
        return await self._ask(f"{self.announcement['slack_control_url']}/{path}", body)

    async def _ask(self, url: str, body: object) -> dict[str, Any]:
        async with self.http.request("GET" if body is None else "POST", url, json=body) as answer:
            read: dict[str, Any] = await answer.json()
            return read

    async def messages(self) -> Sequence[Message]:
        """The messages of the alert channel."""
        channel = self.announcement["slack_alert_channel"]
        messages: Sequence[Message] = (await self.slack(f"messages?channel={channel}"))["messages"]
        return messages

    async def alerts(self) -> Sequence[Message]:
        """The messages that show alerts."""
        return [message for message in await self.messages() if _alerts_in(message)]

    async def cause(self, kind: str, **what: object) -> None:
        """Let an event happen in the account."""
        await self.service("/events", {"workspace": ACCOUNT, "kind": kind, **what})

    async def keep_bot(self, log: Path) -> None:
        """Run the bot, which is started again whenever it dies."""
        while True:
            async with _running("bot", env=self.environ, log=log) as process:
                self.announcement["bot_pid"] = process.pid
                self.restarts += 1
                await process.wait()
            await asyncio.sleep(RESTART_PAUSE_SECONDS)

    async def until_ready(self) -> None:
        """Wait until the bot can take deliveries. Raises `ChildProcessError` where it dies again and again."""
        address, timeout = f"{self.announcement['bot_url']}/readyz", aiohttp.ClientTimeout(total=2)
        while self.restarts < RESTARTS:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with self.http.get(address, timeout=timeout):
                    return
            await asyncio.sleep(0.05)
        raise ChildProcessError


@contextlib.asynccontextmanager
async def set_up(*, speed: float, scenario: str) -> AsyncIterator[Installation]:
    """Start it all on free loopback ports; everything ends with the block. Raises `Failed`."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="outreach-demo-")))
        http = await stack.enter_async_context(aiohttp.ClientSession(raise_for_status=True))
        words = ["sandbox", "--port", "0", "--slack-port", "0", "--seed", SEED]
        words += ["--speed", f"{speed:g}", "--scenario", scenario]
        log, pipe = folder / "sandbox.log", asyncio.subprocess.PIPE
        sandbox = await stack.enter_async_context(_running(*words, env=environment(), log=log, stdout=pipe))
        assert sandbox.stdout
        async with _starting("The sandbox didn't start", log):
            announced = json.loads(await sandbox.stdout.readline())
        port = free_port()
        announced["bot_url"] = bot_url = f"http://127.0.0.1:{port}"
        installation = Installation(
            announcement=announced,
            environ=environment(**_settings(announced, port=port, folder=folder)),
            http=http,
            steps=read_toml(__file__, "story.toml")["step"] if scenario == SCENARIO else (),
        )
        # As on Slack's own pages: the app's manifest, and the bot's address.
        await installation.slack("manifest", manifest())
        await installation.slack("request_url", {"url": f"{bot_url}/slack/events"})
        bot_log, log = folder / "bot.log", folder / "webhooks.log"
        await stack.enter_async_context(_beside(installation.keep_bot(bot_log)))
        # By the command of a real installation, which keeps the secret where the bot finds it.
        words = ["webhooks", "create", "--url", f"{bot_url}/webhooks/outreach"]
        subscribing = _running(*words, env=installation.environ, log=log)
        async with _starting("The subscription failed", log), subscribing as process:
            if await process.wait():
                raise ChildProcessError
        async with _starting("The bot didn't become ready", bot_log):
            await installation.until_ready()
        yield installation


def _settings(announced: Mapping[str, Any], *, port: int, folder: Path) -> dict[str, str]:
    """The settings of the bot and the dashboard, which acts as the person that the Slack page begins with."""
    channel, file = announced["slack_alert_channel"], folder / "outreach.toml"
    # An hour of the account takes a minute, so its domains are checked more often; nobody else's resolvers are asked.
    file.write_text(
        f'[dashboard]\nslack_user = "{ANN.id}"\n\n[dns]\nevery = "1m"\nper_second = 20\n\n'
        f'[[routes.rules]]\nchannel = "{channel}"\nevents = ["domain.dns"]\n'
    )
    return {
        # Named, so that no user's file is read.
        "OUTREACH_CONFIG": str(file),
        "OUTREACH_BASE_URL": announced["base_url"],
        "OUTREACH_API_KEY": announced["api_keys"][ACCOUNT],
        "OUTREACH_ALERT_CHANNEL": channel,
        "OUTREACH_STATE_DIR": str(folder),
        "OUTREACH_PORT": str(port),
        # So that `Claim & reply` leads to the bot, as with an address that people reach.
        "OUTREACH_PUBLIC_URL": announced["bot_url"],
        "OUTREACH_POLL_SECONDS": "5",
        # The zones of the account's domains; without it the demo would ask the system's resolvers.
        "OUTREACH_DNS_RESOLVERS": ",".join(announced["dns_resolvers"]),
        "SLACK_BOT_TOKEN": announced["slack_bot_token"],
        "SLACK_SIGNING_SECRET": announced["slack_signing_secret"],
        "SLACK_API_URL": announced["slack_api_url"],
    }


class Story:
    """`play` it once; `say` is called with each sentence, and `pace` stretches the time to read it."""

    def __init__(self, installation: Installation, say: Callable[[str], None], *, pace: float = 1.0) -> None:
        self._installation, self._say, self._pace = installation, say, pace
        self._before: Sequence[tuple[str, str]] = ()
        """The buttons before the last thing that happened: only others are pressed."""

    async def play(self) -> None:
        """Play it to the end. Where something didn't come it says so, and the demo goes on without the story."""
        try:
            for step in self._installation.steps:
                await self._play(step)
        except (aiohttp.ClientError, TimeoutError) as error:
            self._say(f"The story stops here: {str(error) or 'no answer'}. The demo goes on.")

    async def _play(self, step: Mapping[str, Any]) -> None:
        announced = self._installation.announcement
        act = {"user": step.get("by", ""), "channel": announced["slack_alert_channel"]}
        if "press" in step:
            label = step["press"]
            # The message as it is now: a card is edited while people read it.
            act |= {"text": label, "ts": await self._message_with(label), "wait": 10}
            await self._installation.slack("click", act)
        else:
            self._before = await self._buttons()
        if "command" in step:
            await self._installation.slack("command", {**act, "text": step["command"]})
        async with _beside(self._happen(step)):
            if "until" in step:
                await self._message_with(step["until"])
        if "say" in step:
            self._say(step["say"].format_map(announced))
        await asyncio.sleep(step.get("seconds", 0) * self._pace)

    async def _happen(self, step: Mapping[str, Any]) -> None:
        """Let the step's event happen, once or `every` so many seconds."""
        while "event" in step:
            await self._installation.cause(**step["event"])
            if "every" not in step:
                break
            await asyncio.sleep(step["every"] * self._pace)

    async def _buttons(self) -> Sequence[tuple[str, str]]:
        """The label of each button in the alert channel, and the `ts` of its message, the oldest first."""
        found: list[tuple[str, str]] = []
        for message in await self._installation.messages():
            for block in message.get("blocks", ()):
                elements = (*block.get("elements", ()), block.get("accessory") or {})
                buttons = [element for element in elements if element.get("type") == "button"]
                found += [(button["text"]["text"], message["ts"]) for button in buttons]
        return found

    async def _message_with(self, label: str) -> str:
        """Wait for a button that was not there before; gives the `ts` of the newest message with it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            fresh = [button for button in await self._buttons() if button not in self._before]
            having = [ts for text, ts in fresh if text == label]
            if having:
                return having[-1]
            await asyncio.sleep(LOOK_EVERY_SECONDS / 2)
        raise TimeoutError(f"{label} didn't come")


class Result(NamedTuple):
    """The demo's result; `lines` is the readable summary."""

    lines: Sequence[str]
    lost: int
    doubled: int


async def verify(installation: Installation) -> Result:
    """Stop the service's time, wait for what is under way, and compare what both sides show."""
    await installation.service("/time", {"speed": 0})
    deadline = time.monotonic() + SETTLE_SECONDS
    while True:
        result = await _compare(installation)
        if not result.lost or time.monotonic() > deadline:
            return result
        await asyncio.sleep(LOOK_EVERY_SECONDS / 5)


async def _compare(installation: Installation) -> Result:
    # When the service made the first delivery of each alert, in Unix seconds, and the domain or lead that it is about.
    sent: dict[str, tuple[float, str]] = {}
    for kind in POSTED_AT_ONCE:
        # One that was never accepted can't be missing in Slack. The newest come first.
        path = f"/deliveries?limit=10000&state=delivered&kind={kind}"
        for delivery in (await installation.service(path))["data"]:
            arrival = Arrival(workspace=settings.DEFAULT, body=delivery["body"].encode(), at=0.0)
            alert, body = alert_id(arrival.dkey), json.loads(arrival.body)
            # An event that somebody typed may be about nothing that has a name.
            about = str(body.get("domain") or as_object(body.get("lead")).get("email") or alert)
            sent[alert] = delivery["first_sent"], about
    shown, edited = list[tuple[str, float]](), defaultdict[str, float](float)
    for message in await installation.alerts():
        edited_at = float((message.get("edited") or {}).get("ts", 0))
        for alert in sent.keys() & {*_alerts_in(message)}:
            shown.append((alert, message["posted_at"]))
            _, about = sent[alert]
            edited[about] = max(edited[about], edited_at)
    posted = {alert for alert, _ in shown}
    # One object is one message: what is news of the same domain or lead is told by an edit of its card.
    joined = sum(alert not in posted and edited[about] >= at for alert, (at, about) in sent.items())
    lost, doubled = len(sent) - len(posted) - joined, len(shown) - len(posted)
    starts = {alert: at for alert, (at, _) in sent.items() if at >= installation.timed_from}
    timed = sorted(at - starts[alert] for alert, at in shown if alert in starts)
    delay = "not measured"
    if timed:
        p50, p99 = (timed[-(-len(timed) * share // 100) - 1] * 1000 for share in (50, 99))
        delay = f"p50 {p50:.0f} ms, p99 {p99:.0f} ms of {len(timed)}"
    counted = await installation.service("/summary")
    worst = max(counted["worst_second"].values(), default=0)
    on_cards = f", {joined} on the card of the same domain or lead" if joined else ""
    lines = (
        f"deliveries made      {counted['deliveries']['by_state']['delivered']}",
        f"alerts               {len(posted)} of {len(sent)} posted, {lost} lost, {doubled} doubled{on_cards}",
        f"delivery to Slack    {delay}",
        f"requests to the API  {counted['requests']}, of them 429: {counted['rate_limited']}, most in one second: {worst}",
        f"bot restarts         {installation.restarts}",
    )
    return Result(lines, lost, doubled)


def _alerts_in(message: Message) -> Sequence[str]:
    """The ids of the alerts that a message shows; others are answers to a person and reminders in a thread."""
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    alerts: Sequence[str] = payload.get("alert_ids") or list(filter(None, [payload.get("alert_id")]))
    return alerts
