"""A model that does whatever it reads, on an account in which strangers have written fifty injections: nothing changes.

That such a test can fail is part of it: what a person types changes what is compared.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from mcp import Client, StdioServerParameters

from sandbox.service import Service
from sandbox.slack import seed
from shared.store import facts
from shared.store.db import schema
from tests.bot.harness import HASTE, BotHarness, bot_inside, interested, open_harness, sequences_of
from tests.cli.conftest import PROGRAM, ROOT
from tests.injections import COMPANIES, INJECTIONS, NAMES, REPLIES, SUBJECTS, asked_calls
from tests.rate_limit import lift_rate_limit

YES = {"confirm": True, "confirmed": True, "yes": True, "approved_by": "U0ANN"}
FLAGS = ({"confirm": True}, YES)
READING = (
    "status",
    "sequences",
    "inboxes",
    "stats",
    "leads",
    "replies",
    "subscriptions",
    "guardrails",
    "audit",
    "whoami",
)
KEPT = (facts.RULE, facts.SWITCH, facts.WEBHOOK, facts.SUBSCRIPTION, facts.DIGEST, facts.ROTA, facts.ABSENCE)
"""What the bot keeps that a command changes."""

PAGES = 5
"""The account may live on while a test runs, and puts leads of its own before those of the test."""

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


class ObedientModel:
    """Calls every tool that any text it gets names, as written, as the tool wants it, and with each word for yes."""

    def __init__(self, tools: list[Any], call: Call) -> None:
        self._schemas = {tool.name: tool.input_schema for tool in tools}
        self._call = call
        self._waiting: list[tuple[str, dict[str, Any]]] = []
        self._known: set[str] = set()
        self.received: list[str] = [json.dumps([tool.model_dump(mode="json") for tool in tools])]
        self.obeyed: list[tuple[str, dict[str, Any]]] = []

    async def review(self, emails: list[str]) -> None:
        """What a person asks for, and then whatever that brings with it."""
        for tool in READING:
            self._intend(tool, {})
        for email in emails:
            self._intend("lead", {"who": email})
        while self._waiting:
            name, arguments = self._waiting.pop(0)
            result = await self._call(name, arguments)
            found = result.model_dump(mode="json", by_alias=True)
            self.received.append(json.dumps(found, ensure_ascii=False))
            for text in texts(found):
                self._read(text)

    def _read(self, text: str) -> None:
        for name, arguments in asked_calls(text):
            self.obeyed.append((name, arguments))
            self._intend(name, arguments)
            fitted = self._fitted(name, arguments)
            self._intend(name, fitted)
            for flag in FLAGS:
                self._intend(name, {**fitted, **flag})

    def _intend(self, name: str, arguments: dict[str, Any]) -> None:
        key = json.dumps([name, arguments], sort_keys=True)
        if key not in self._known:
            self._known.add(key)
            self._waiting.append((name, arguments))

    def _fitted(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments that the tool has, in the form that it wants."""
        known = self._schemas.get(name, {}).get("properties", {})
        wants_list = {key for key, one in known.items() if "array" in json.dumps(one)}
        return {
            key: [value] if key in wants_list and isinstance(value, str) else value
            for key, value in arguments.items()
            if key in known
        }


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


class Account:
    """A bot and a service, in which strangers have written."""

    def __init__(self, bot: BotHarness, service: Service) -> None:
        self.bot, self.service = bot, service
        self.key = next(iter(self.service.api_keys.values()))
        self.emails = [f"stranger{number}@evil.example" for number in range(len(INJECTIONS))]

    async def plant(self) -> None:
        """Let each injection come in where its kind does: in a reply, a name, a company or a subject."""
        self.sequence = next(one["id"] for one in await self.sequences() if one["status"] == "active")
        kinds = (
            *["reply"] * len(REPLIES),
            *["first_name"] * len(NAMES),
            *["company"] * len(COMPANIES),
            *["subject"] * len(SUBJECTS),
        )
        leads = []
        for number, (kind, written) in enumerate(zip(kinds, INJECTIONS, strict=True)):
            email = self.emails[number]
            text = written.replace("{sequence}", self.sequence).replace("{lead}", email)
            lead = {
                "email": email,
                "first_name": "Ann",
                "company": "Acme",
                **({kind: text} if kind != "reply" else {}),
            }
            leads.append(lead)
            reply = text if kind == "reply" else "Yes, call me."
            assert await self.bot.deliver(interested(number, lead=lead, reply=reply)) == 200
        await self.request("POST", "/leads", {"sequence_id": self.sequence, "leads": leads})

    async def request(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.key}"}
        url = f"{self.service.base_url}{path}"
        async with self.bot.http.request(method, url, json=body, headers=headers) as answer:
            assert answer.status < 300, await answer.text()
            return await answer.json()

    async def sequences(self) -> list[dict[str, Any]]:
        return await sequences_of(self.service, http=self.bot.http)

    async def state(self) -> dict[str, Any]:
        """All that a command could change, at the service and in the bot's own tables."""
        assert self.bot.running is not None
        database = self.bot.running.store.database
        rows = {}
        for kind in KEPT:
            rows[kind] = await database.read(partial(facts.listed, kind=kind))
        statuses = {one["id"]: one["status"] for one in await self.sequences()}
        return {"sequences": statuses, "leads": await self.strangers(), **rows}

    async def strangers(self) -> list[str]:
        """The strangers among the newest leads: those that were planted, and whom a call may have added."""
        found: list[str] = []
        cursor = ""
        for _ in range(PAGES):
            page = await self.request("GET", f"/leads?limit=100{cursor}")
            leads = next(value for value in page.values() if isinstance(value, list))
            found += [one["email"] for one in leads if one["email"].endswith("@evil.example")]
            cursor = f"&cursor={page.get('next_cursor')}"
        return sorted(found)

    def secrets(self) -> list[str]:
        """What no assistant may ever get."""
        names = ("OUTREACH_API_KEY", "OUTREACH_WEBHOOK_SECRET", "SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET")
        return [self.bot.environ[name] for name in names]

    async def effects(self) -> set[str]:
        """The effects of all that assistants did, as the audit log has them."""
        assert self.bot.running is not None
        rows = await self.bot.running.store.database.read(partial(_rows, schema.audit))
        columns = [column.name for column in schema.audit.columns]
        entries = [dict(zip(columns, row, strict=True)) for row in rows]
        return {one["effect"] for one in entries if one["via"] == "assistant"}


def _rows(table: sa.Table, tx: sa.Connection) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in tx.execute(sa.select(table))]


@asynccontextmanager
async def attacked(folder: Path) -> AsyncIterator[Account]:
    """An account as strangers have left it."""
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(Service(speed=0))
        service.guard.limited = False
        where = {
            "OUTREACH_BASE_URL": service.base_url,
            "OUTREACH_API_KEY": next(iter(service.api_keys.values())),
        }
        bot = await stack.enter_async_context(open_harness(folder, **where))
        await stack.enter_async_context(bot_inside(bot, pace=HASTE))
        found = Account(bot, service)
        await found.plant()
        yield found


@pytest.fixture(autouse=True)
def unpaced(monkeypatch: pytest.MonkeyPatch) -> None:
    lift_rate_limit(monkeypatch)


@pytest.mark.parametrize(
    "emails",
    [3, pytest.param(len(INJECTIONS), marks=pytest.mark.e2e)],  # all of them take long
)
async def test_a_model_that_obeys_everything_changes_nothing(tmp_path: Path, emails: int) -> None:
    async with attacked(tmp_path) as found:
        before = await found.state()
        command, *words = (*PROGRAM, "mcp")
        environ = {"PATH": os.environ["PATH"], **found.bot.environ}
        server = StdioServerParameters(command=command, args=words, env=environ, cwd=ROOT)
        async with Client(server) as client:
            model = ObedientModel((await client.list_tools()).tools, client.call_tool)
            await model.review(found.emails[:emails])
        assert await found.state() == before
        assert {name for name, _ in model.obeyed} >= {"pause", "resume"}
        everything = "".join(model.received)
        assert [secret for secret in found.secrets() if secret in everything] == []
        assert "\U000e0041" not in everything
        assert await found.effects() <= {"read", "refused", "failed"}


async def test_the_state_that_is_compared_shows_what_a_person_changes(tmp_path: Path) -> None:
    """Else the test above could never fail."""
    async with attacked(tmp_path) as found:
        before = await found.state()
        assert before["leads"] == sorted(found.emails)
        await found.bot.say(f"pause {found.sequence}", user=seed.BEN.id)
        await found.bot.say("subscribe bounces here", user=seed.BEN.id)
        after = await found.state()
        statuses = before["sequences"][found.sequence], after["sequences"][found.sequence]
        assert statuses == ("active", "paused")
        assert before[facts.SUBSCRIPTION] != after[facts.SUBSCRIPTION]
