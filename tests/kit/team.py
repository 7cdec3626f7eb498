"""A sales team on Slack: the stand-in with its people, the bot, and the service behind it.

Everything runs in this process, on the kit's clock. A test acts as a person (`say`, `click`), as the service
(`deliver`) or as whoever runs the bot (`stop`, `start`, `get`), and reads what people read.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import os
import re
import signal
import socket
import sqlite3
import sys
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlencode

import aiohttp
import pytest
import sqlalchemy as sa
import yaml

from bot import server
from bot.app import Bot, open_bot
from bot.runtime import Supervisor
from bot.worker import JobScheduler
from sandbox.slack import seed
from sandbox.slack.acts import Body
from sandbox.slack.server import SlackStandIn
from shared import settings as shared_settings
from shared.store import LeaseTimings, open_store
from shared.store.db.schema import jobs
from tests.kit import clock
from tests.kit.build import SECRET, signature
from tests.kit.databases import migrated_file
from tests.kit.event_loop import WATCH, blocks_written
from tests.kit.ports import free_port
from tests.kit.processes import running_async
from tests.kit.service import Account
from tests.kit.shell import spare_process
from tests.kit.waiting import BOUND_SECONDS, is_awaited, until

ALERTS, SALES, PRIVATE = seed.ALERTS, seed.SALES, seed.PRIVATE
HASTE = LeaseTimings(period=0.05, lease=1.5, read_pause=0.2, doubt=1.2)
"""The worker's waits, shortened so that no test waits for them."""
DAYS_READ = 0
"""The days before the start whose counts the bot reads: its thirty are sixty requests of every test."""
ANSWER_SECONDS = 30.0
MANIFEST = yaml.safe_load(Path("manifest.yml").read_text(encoding="utf-8"))
START_BOUND = 60.0
"""Seconds for the start of a process: on a machine that is busy with other things it takes many."""
REST_SECONDS = 3.0
"""The bot has so long to do what a moved clock has made due."""
PROGRAM = """
import gc, sys
gc.disable()
from functools import partial
from bot import app
from bot.server import run
from shared.store import LeaseTimings
from shared.settings import load
gc.enable()
app.open_store = partial(app.open_store, timings={pace!r})
sys.exit(run(load(), load=load))
"""
"""A process of the bot runs this: `outreach bot`, without the worker's waits, and as it without collecting while it loads."""


_DUE = sa.select(jobs.c.id).where((jobs.c.token != 0) | (jobs.c.due_at <= sa.bindparam("at"))).limit(1)
"""A job that is leased, or due until then."""
_numbers = itertools.count()


class _Jobs(JobScheduler):
    """The scheduler of the bot that was opened last."""

    opened: _Jobs | None = None

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(supervisor)
        _Jobs.opened = self

    def wake(self) -> None:
        """Have the scheduler look at the clock again; one that is about to start does so by itself."""
        if self.scheduler.running:
            self.scheduler.wakeup()

    @property
    def at_work(self) -> bool:
        return bool(self._running)


@dataclass(frozen=True)
class Message:
    """A message as its readers see it."""

    data: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.data[name]

    @property
    def ts(self) -> str:
        return str(self.data["ts"])

    @property
    def channel(self) -> str:
        return str(self.data["channel"])

    @property
    def alert_id(self) -> str:
        """The alert in the message's metadata, or nothing."""
        metadata = self.data.get("metadata") or {}
        return str(metadata.get("event_payload", {}).get("alert_id", ""))

    @property
    def shown(self) -> str:
        """All texts of the blocks, a line each, or the plain text where there are none."""
        return "\n".join(_texts(self.data.get("blocks") or [])) or str(self.data["text"])

    def part(self, words: str) -> str:
        """The texts of the block that shows these words."""
        blocks = ["\n".join(_texts(one)) for one in self.data.get("blocks") or []]
        return next(text for text in blocks if words in text)

    @property
    def mrkdwn(self) -> str:
        """The texts that Slack reads for mentions, links and styles: the plain text and the `mrkdwn` of blocks.

        Texts of `rich_text` and `plain_text` are shown letter by letter.
        """
        texts = [str(part["text"]) for part in _parts(self.data.get("blocks"), "mrkdwn")]
        return "\n".join([str(self.data["text"]), *texts])

    @property
    def title(self) -> str:
        """The first line of what is shown."""
        return self.shown.splitlines()[0]

    @property
    def buttons(self) -> list[str]:
        """The labels of the buttons and of the entries of menus."""
        return [label for element in _elements(self.data.get("blocks")) for label in _labels(element)]


def _texts(part: Any) -> list[str]:
    """The texts of blocks, in their order, a line each."""
    if isinstance(part, list):
        return [text for one in part for text in _texts(one)]
    if not isinstance(part, dict):
        return []
    if part.get("type") in {"rich_text_section", "rich_text_quote"}:
        return ["".join(text for one in part["elements"] for text in _texts(one))]
    if isinstance(part.get("text"), str):
        return [part["text"]]
    return [text for value in part.values() for text in _texts(value)]


def _parts(part: Any, *kinds: str) -> list[dict[str, Any]]:
    """All objects of these types in blocks, in their order."""
    if not isinstance(part, list | dict):
        return []
    inner = part if isinstance(part, list) else part.values()
    found = [one for value in inner for one in _parts(value, *kinds)]
    return [part, *found] if isinstance(part, dict) and part.get("type") in kinds else found


def _elements(blocks: Any) -> list[dict[str, Any]]:
    """Everything that a person can act on."""
    return _parts(blocks, "button", "overflow", "static_select")


def _labels(element: Mapping[str, Any]) -> list[str]:
    if element["type"] == "button":
        return [element["text"]["text"]]
    return [option["text"]["text"] for option in element.get("options", ())]


@dataclass(eq=False)
class Installation:
    """A Slack, the settings of a bot, which runs or not, and what people and the service do with both."""

    slack: SlackStandIn
    http: aiohttp.ClientSession
    environ: dict[str, str]
    running: Bot | None = None
    _exits: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)

    def set(self, toml: str) -> None:
        """Settings beyond the environment, for a bot that is not started yet."""
        file = Path(self.environ["XDG_STATE_HOME"]) / "outreach.toml"
        file.write_text(toml, encoding="utf-8")
        file.chmod(0o600)
        self.environ["OUTREACH_CONFIG"] = str(file)

    async def deliver(
        self,
        body: bytes,
        *,
        headers: Mapping[str, str] | None = None,
        path: str = "",
        secret: str = SECRET,
    ) -> int:
        """Post a delivery, signed unless `headers` say otherwise; the status of the answer."""
        signed = {"X-Service-Signature": signature(body, secret)} if headers is None else headers
        url = f"{self.url}/webhooks/outreach{path}"
        async with self.http.post(url, data=io.BytesIO(body), headers=signed) as answer:
            return answer.status

    async def get(self, path: str) -> tuple[int, str]:
        async with self.http.get(f"{self.url}{path}", allow_redirects=False) as answer:
            return answer.status, await answer.text()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return int(self.environ["OUTREACH_PORT"])

    async def act(self, name: str, /, **body: Any) -> dict[str, Any]:
        """Do anything that the stand-in's control document lets a person do."""
        async with self.http.post(f"{self.slack.origin}/control/{name}", json=body) as answer:
            done: dict[str, Any] = await answer.json()
            assert done.pop("ok"), done
            return done

    async def query(self, name: str, **asked: str) -> dict[str, Any]:
        """Ask the stand-in's control API. Without a connection: tests ask more often than bots."""
        return await self.slack.control.queries[name](Body.model_validate(asked))

    async def posted(self) -> dict[str, int]:
        """Count how often each alert was posted, by its id."""
        return dict((await self.query("summary"))["alerts"])

    async def until_posted(self, count: int, *, seconds: float = BOUND_SECONDS) -> dict[str, int]:
        async def enough() -> dict[str, int] | None:
            posted = await self.posted()
            return posted if len(posted) >= count else None

        return dict(await until(enough, seconds=seconds))

    async def ready(self) -> tuple[int, dict[str, Any]]:
        """The status and the body of `/readyz`."""
        status, body = await self.get("/readyz")
        return status, json.loads(body)

    async def calls(self, method: str) -> list[dict[str, Any]]:
        """The last requests of the bot for this method of Slack."""
        return [one for one in (await self.query("traffic"))["exchanges"] if one["name"] == method]

    # -- the process of the bot

    @contextlib.asynccontextmanager
    async def inside(self, *, pace: LeaseTimings | None = None) -> AsyncIterator[Bot]:
        """The bot in this process, behind its real server."""
        async with running_bot(self.environ, pace=pace) as running:
            self.running = running
            yield running

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The bot's program in this process: SIGHUP has its settings read again, SIGTERM ends it."""

        def read() -> shared_settings.Settings:
            return shared_settings.load(environ=self.environ)

        with pytest.MonkeyPatch.context() as patched:
            spare_process(patched)
            patched.setattr("bot.app.open_store", partial(open_store, timings=HASTE))
            program = asyncio.create_task(server.serve(read(), load=read))
            try:
                await until(lambda: program.done() or self.is_up(), "the bot's program")
                yield
            finally:
                signal.raise_signal(signal.SIGTERM)
                await asyncio.wait_for(program, BOUND_SECONDS)

    async def start(self) -> None:
        """Start the bot, on the database of the one before."""
        self._exits = contextlib.AsyncExitStack()
        await self._exits.enter_async_context(self.inside(pace=HASTE))

    async def stop(self) -> None:
        """Stop the bot; what it has stored stays."""
        self.running = None
        await self._exits.aclose()

    @contextlib.asynccontextmanager
    async def process(
        self, *, pace: LeaseTimings | None = HASTE, before: str = "", stderr: int | None = None
    ) -> AsyncIterator[asyncio.subprocess.Process]:
        """The bot as its own process, killed at the end if it still lives; `before` is run in it first.

        It has the real time, so a test needs the fixture `real_time`, or to be an end-to-end test. Fails if its event loop
        was blocked for long, unless the test takes the log that says so (`stderr`).
        """
        environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd()), **self.environ}
        program = WATCH + before + PROGRAM.format(pace=pace)
        log = self.state_dir / f"bot-{next(_numbers)}.log"
        try:
            with log.open("wb") as file:
                async with running_async(
                    sys.executable, "-c", program, env=environ, stderr=file if stderr is None else stderr
                ) as process:
                    await until(self.is_up, "the bot's process", seconds=START_BOUND)
                    yield process
        finally:
            logged = log.read_text(errors="replace")
            sys.stderr.write(logged)
        assert blocks_written(logged) == [], "the event loop was blocked for so many seconds"

    async def is_up(self) -> bool:
        """Return True where the bot answers."""
        try:
            return (await self.get("/healthz"))[0] == 200
        except (aiohttp.ClientConnectionError, TimeoutError):
            return False

    async def restart(self, toml: str = "") -> None:
        await self.stop()
        if toml:
            self.set(toml)
        await self.start()

    @property
    def state_dir(self) -> Path:
        """The folder of the bot's files."""
        return Path(self.environ["XDG_STATE_HOME"])

    def stored(self) -> bytes:
        """Everything that is in the bot's files, unpacked where a database has it packed. Stop the bot before."""
        found = [path.read_bytes() for path in sorted(self.state_dir.rglob("*")) if path.is_file()]
        for path in self.state_dir.rglob("*.db"):
            with contextlib.closing(sqlite3.connect(path)) as database:
                for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
                    for value in itertools.chain(*database.execute(f'SELECT * FROM "{table}"')):
                        with contextlib.suppress(zlib.error):
                            found.append(zlib.decompress(value) if isinstance(value, bytes) else b"")
        return b"\n".join(found)

    def use_new_database(self) -> None:
        """Let a bot that is not started yet begin with an empty database."""
        folder = Path(self.environ["XDG_STATE_HOME"])
        self.environ["OUTREACH_DATABASE_URL"] = migrated_file(folder / "new" / "bot.db")

    async def pass_time(self, *, hours: float = 0, minutes: float = 0, seconds: float = 0) -> None:
        """Move the clock of everything, have the bot's jobs look at it, and let them do what is due.

        A clock that runs ahead of a busy machine makes what was decided too old before it is done. Under a fault
        the bot may have work for as long as that lasts, so that this wait ends without a complaint.
        """
        clock.move(hours * 3600 + minutes * 60 + seconds)
        if self.running is None:
            return
        assert _Jobs.opened is not None
        _Jobs.opened.wake()
        self.running.signals.changed()
        self.running.signals.account_changed()
        await asyncio.sleep(0.002)  # the scheduler starts what is due in the loop's next turns
        deadline = time.monotonic() + REST_SECONDS
        while not await self.is_at_rest():
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.005)

    async def is_at_rest(self, *, ahead: float = 0) -> bool:
        """Return True where nobody's answer and no job runs, and none of the store is leased or due within so many seconds."""
        assert self.running
        assert _Jobs.opened
        answering = any(task.get_name() == "listener" for task in asyncio.all_tasks())
        # Open cards are compared with the service.
        compares = ahead and not is_awaited(self.running.signals.account._event)
        if answering or compares or _Jobs.opened.at_work:
            return False
        database = self.running.store.database
        at = {"at": database.clock() + ahead}
        return await database.read(lambda tx: tx.execute(_DUE, at).first()) is None

    def second(self, port: int = 0) -> Installation:
        """The same Slack and database, for a bot on another port."""
        return Installation(
            self.slack, self.http, {**self.environ, "OUTREACH_PORT": f"{port or free_port()}"}
        )

    def use_socket_mode(self) -> None:
        """Have Slack reach a bot that is not started yet by Socket Mode alone."""
        self.slack.settings.request_url = None
        self.environ["SLACK_APP_TOKEN"] = self.slack.announcement["slack_app_token"]
        del self.environ["SLACK_SIGNING_SECRET"]

    async def install(self) -> None:
        """Install the app from its manifest, with commands, shortcuts and direct messages."""
        await self.act("manifest", **MANIFEST)

    async def serve_two_clients(self, toml: str = "") -> None:
        """Have the bot serve acme, whose alerts come to #outreach-alerts, and globex, whose come to #sales."""
        await self.stop()
        base, key, secret, _ = (
            self.environ.pop(f"OUTREACH_{name}")
            for name in ("BASE_URL", "API_KEY", "WEBHOOK_SECRET", "ALERT_CHANNEL")
        )
        for name, channel in {"acme": ALERTS, "globex": SALES}.items():
            keys = {"base_url": base, "api_key": key, "webhook_secret": secret, "alert_channel": channel}
            toml += f"\n[workspaces.{name}]\n" + "".join(
                f'{one} = "{value}"\n' for one, value in keys.items()
            )
        self.set(toml)
        await self.install()
        await self.start()

    # -- people

    async def say(self, line: str, *, user: str = "ann", channel: str = ALERTS, **more: Any) -> list[Message]:
        """Type `/outreach LINE` and return what the bot answered."""
        fields = {"user": user, "channel": channel, "wait": ANSWER_SECONDS, **more}
        done = await self.act("command", text=f"/outreach {line}", **fields)
        return [Message(one) for one in done["answers"]]

    async def ask(self, line: str, **more: Any) -> Message:
        """Type `/outreach LINE` and return its answer; what changed or was posted with it is none."""
        channel = more.get("channel", ALERTS)
        before = {one.ts for one in await self.messages(channel, user=more.get("user", "ann"))}
        await self.say(line, **more)

        async def new() -> list[Message]:
            found = await self.messages(channel, user=more.get("user", "ann"))
            fresh = [one for one in found if one.ts not in before and not one.alert_id]
            # What an earlier change's thread tells of this one may come first.
            return [one for one in fresh if one.data.get("thread_ts") in {None, more.get("thread_ts")}]

        told = await self.until(new, f"an answer to {line!r}")
        own = [one for one in told if one.data.get("seen_by")]
        answer: Message = (own or told)[-1]
        return answer  # what an earlier click led to may come late, and stands before it

    async def click(
        self, message: Message, label: str, *, user: str = "ann", near: str = "", **more: Any
    ) -> list[Message]:
        """Click a button of a message by its label, or choose an entry of a menu; returns what followed.

        In a message of several replies it is the button below the words `near`.
        """
        place = {"channel": message.channel, "ts": message.ts, "user": user, "wait": 5.0}
        done = await self.act("click", **{**place, **click_target(message, label, near=near), **more})
        return [Message(one) for one in done["answers"]]

    async def traffic(self, name: str = "") -> list[dict[str, Any]]:
        """The last requests between Slack and the bot, those whose name begins with this."""
        known = (await self.query("traffic"))["exchanges"]
        return [one for one in known if one["name"].startswith(name)]

    async def repeat(self, name: str) -> dict[str, Any]:
        """Send the last request of Slack with this name to the bot again, signed anew; its answer."""
        last = [one for one in await self.traffic(name) if one["direction"] == "to_bot"][-1]["request"]
        form = last if "command" in last else {"payload": json.dumps(last)}
        done = await self.act("request", body=urlencode(form))
        return dict(done["ack"])

    async def messages(self, channel: str = ALERTS, *, user: str = "ann") -> list[Message]:
        """All messages of a channel in their present state, the oldest first; `dm` is the user's own."""
        asked = {"channel": channel} | ({"user": user} if channel == "dm" else {})
        return [Message(one) for one in (await self.query("messages", **asked))["messages"]]

    async def mentioned(self) -> list[Message]:
        """The messages of the alert channel that everybody sees, but for those of people."""
        return [one for one in await self.messages() if not one.data.get("seen_by")]

    async def message(self, words: str, *, channel: str = ALERTS, user: str = "ann") -> Message:
        """The message that shows these words, once it does."""
        return await self._shown(words, lambda: self.messages(channel, user=user), "a message")

    @staticmethod
    async def _shown(words: str, known: Callable[[], Awaitable[list[Message]]], what: str) -> Message:
        async def there() -> Message | None:
            return next((one for one in await known() if words in one.shown), None)

        found: Message = await until(there, f"{words!r} in {what}")
        return found

    async def present(self, message: Message) -> Message:
        """A message as it is now."""
        known = await self.messages(message.channel)
        return next(one for one in known if one.ts == message.ts)

    async def changed(self, message: Message, words: str) -> Message:
        """The same message, once it shows these words."""

        async def now() -> list[Message]:
            return [await self.present(message)]

        return await self._shown(words, now, repr(message.title))

    async def thread(self, card: Message) -> list[Message]:
        """The messages in a card's thread, the oldest first."""
        known = await self.messages(card.channel)
        return [one for one in known if one.data.get("thread_ts") == card.ts != one.ts]

    async def in_thread(self, card: Message, words: str) -> Message:
        """The message in a card's thread that shows these words, once it is there."""
        return await self._shown(words, lambda: self.thread(card), f"the thread of {card.title!r}")

    async def home(self, user: str = "ann") -> Message:
        """The person's Home, once it shows more than its placeholder."""
        await self.act("home/open", user=user, wait=5)

        async def whole() -> Message | None:
            view = await self._view("homes", user)
            shown = Message({"text": "", "ts": "", "channel": "home", **(view or {})})
            return shown if view and "Loading" not in shown.shown else None

        found: Message = await until(whole, f"Home of {user}")
        return found

    async def open_view(self, user: str = "ann") -> Any:
        """The form that is open before a person, or None."""
        return await self._view("views", user)

    async def _view(self, kind: str, user: str) -> Any:
        state = await self.query("state")
        person = next(one["id"] for one in state["users"] if user in {one["id"], one["name"]})
        return state[kind].get(person)

    async def card(self, words: str, *, channel: str = ALERTS) -> Message:
        """The card of an alert that shows these words, once it is posted."""

        async def cards() -> list[Message]:
            return [one for one in await self.messages(channel) if one.alert_id]

        return await self._shown(words, cards, "a card")

    async def settled(self) -> list[Message]:
        """The messages of the alert channel once the bot has nothing left to do there."""
        await self.until(self._is_idle)
        return await self.messages()

    async def _is_idle(self) -> bool:
        """Return True where no delivery and no post waits."""
        if self.running is None:  # a process of its own
            waiting = await self.metrics("outreach_intake_waiting", "outreach_alerts")
            return all(value == 0 for value in waiting)
        backlogs = await self.running.store.backlogs()
        return not any(count for backlog in backlogs.values() for count in backlog.counts.values())

    async def metrics(self, *names: str) -> list[float]:
        """The values of these metrics, whatever their labels."""
        _, text = await self.get("/metrics")
        found = re.findall(rf"^(?:{'|'.join(names)})(?:\{{.*\}})? (\S+)$", text, re.MULTILINE)
        return [float(value) for value in found]

    @staticmethod
    async def until(condition: Callable[[], Any], what: str = "") -> Any:
        """Ask again and again until there is a true value, and return it. Fails after a bound."""
        return await until(condition, what)


class Team(Installation):
    """The people, the bot and the service of one test."""

    def __init__(self, place: Installation, account: Account) -> None:
        super().__init__(place.slack, place.http, place.environ)
        self.account = account


def click_target(message: Message, label: str, *, near: str = "") -> dict[str, Any]:
    """Return the stand-in's name of what has this label, below these words."""
    blocks = list(message.data.get("blocks") or [])
    if near:
        first = next(place for place, one in enumerate(blocks) if near in "".join(_texts(one)))
        blocks = blocks[first:]
    for element in _elements(blocks):
        for option in element.get("options", ()):
            if option["text"]["text"] == label:
                return {"action_id": element["action_id"], "value": option["value"]}
        if near and label in _labels(element):
            return {"action_id": element["action_id"]}
    return {"text": label}


class HurriedServer(server.Server):
    """Ends without the tenth of a second that uvicorn gives to every connection, idle or not."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for listener in self.servers:
            listener.close()
        # What was accepted just now is a connection only some rounds of the loop later.
        for _round in range(5):
            await asyncio.sleep(0)
            for connection in list(self.server_state.connections):
                connection.shutdown()
        await until(lambda: not (self.server_state.connections or self.server_state.tasks))


@contextlib.asynccontextmanager
async def running_bot(environ: dict[str, str], *, pace: LeaseTimings | None) -> AsyncIterator[Bot]:
    """The bot in this process, behind its real server."""
    settings = shared_settings.load(environ=environ)
    with socket.create_server(("127.0.0.1", int(environ["OUTREACH_PORT"])), backlog=512) as listener:
        async with contextlib.AsyncExitStack() as stack:
            with mock.patch("bot.app.open_store", partial(open_store, timings=pace)):
                running = await stack.enter_async_context(open_bot(settings))
            http = HurriedServer(server.server_config(running.web))
            serving = asyncio.create_task(http.serve(sockets=[listener]), name="bot of the kit")
            try:
                yield running
            finally:
                http.stop()
                await serving


@contextlib.asynccontextmanager
async def installed(folder: Path, *, database: str = "", **environ: str) -> AsyncIterator[Installation]:
    """Slack and everything a bot needs to be started, without a bot yet. Nobody answers where its service should be."""
    port = free_port()
    async with (
        SlackStandIn(0, f"http://127.0.0.1:{port}") as slack,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as http,
    ):
        connection = slack.announcement
        given = {
            "OUTREACH_BASE_URL": "http://127.0.0.1:9/v1",
            "OUTREACH_API_KEY": "key-of-the-tests",
            "OUTREACH_WEBHOOK_SECRET": SECRET,
            "OUTREACH_ALERT_CHANNEL": ALERTS,
            "OUTREACH_DATABASE_URL": database or migrated_file(folder / "bot.db"),
            "OUTREACH_PORT": str(port),
            "OUTREACH_LOG_LEVEL": "WARNING",
            "SLACK_BOT_TOKEN": connection["slack_bot_token"],
            "SLACK_SIGNING_SECRET": connection["slack_signing_secret"],
            "SLACK_API_URL": connection["slack_api_url"],
            "XDG_STATE_HOME": str(folder),
        }
        yield Installation(slack, http, {**given, **environ})


@contextlib.asynccontextmanager
async def open_team(account: Account, folder: Path, *, toml: str = "") -> AsyncIterator[Team]:
    """A team whose bot runs. It posts as fast as it can, and the service answers at once."""
    # The only way to the jobs of a bot that runs.
    patched = pytest.MonkeyPatch()
    patched.setattr("bot.app.JobScheduler", _Jobs)
    patched.setattr("bot.guardrails.BACKFILL", DAYS_READ)
    patched.setattr("bot.jobs.standings.LEAST", 0.02)
    async with installed(folder, OUTREACH_DNS_ENABLED="false", **account.environ) as place:
        team = Team(place, account)
        team.environ["OUTREACH_PUBLIC_URL"] = team.url
        await team.act("settings", messages_per_second=0, answers_per_second=1_000, answers_burst=1_000)
        if toml:
            team.set(toml)
        await team.start()
        try:
            yield team
        finally:
            await team.stop()
            patched.undo()


def data_of(message: Message) -> str:
    """Everything in a message as text, for what must not be anywhere in it."""
    return json.dumps(message.data, ensure_ascii=False)
