"""Large accounts in the faces: 5,000 sequences, 50,000 inboxes, 50 workspaces, 200 rules, 500 routes, 50 Slack teams."""

from __future__ import annotations

import asyncio
import gc
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa
from textual.widgets import Input

from bot.alerts.routing import Routes
from bot.commands.context import CommandContexts
from bot.commands.workspace_cache import WorkspaceCache
from bot.interactions.home_tab import home_view
from bot.interactions.home_tab.home import HomeTab
from bot.slack.permissions import Person
from bot.store import Store, open_store
from bot.store.db.slack_schema import slack_bots, slack_team_workspaces
from bot.store.queue.intake import Arrival
from bot.store.slack_teams import SlackTeams
from bot.store.webhooks import SecretCipher
from shared import settings as shared_settings
from shared.api.client import OutreachClient
from shared.api.models import Inbox
from shared.api.models import Sequence as Campaign
from shared.commands import parse
from shared.domain.snapshot import Reading, Snapshot
from shared.history import History
from shared.operations import run as operate
from shared.operations.reports.digest import digest_card
from shared.records.audit import Actor
from shared.records.guardrails import StoredRule
from shared.settings import Settings
from shared.storage.database import parse_url
from tests.bench.__main__ import Row
from tests.bot.harness import interested
from tests.clock import moment
from tests.shared.doubles import BASE, KEY, NoPacing, Service
from tests.tui.accounts import account, acme
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.poller import Tick, intervals
from tui.model.workspace.board import compose

SEQUENCES, INBOXES, WORKSPACES, TEAMS, RULES, CHANNELS = 5_000, 50_000, 50, 50, 200, 500
WAIT = 2.0
"""Seconds of a core that a person waits for at most."""
LONGER = 4.0
"""Where most of it is done in a thread, or while requests wait for their turn: a year is 53 weeks, each a request."""
ONCE = 20.0
"""The first snapshot ever writes a row for each value of each inbox, in a thread."""
COMMANDS = (
    "status",
    "sequences",
    "inboxes",
    "guard",
    "stats by sequence 7d",
    "stats by inbox 7d",
    "report {year}",
)


class Stopwatch:
    """Seconds of a core, by what they were spent on."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @contextmanager
    def timing(self, name: str, *, most: float = WAIT) -> Iterator[None]:
        gc.collect()
        began = time.process_time()
        yield
        spent = time.process_time() - began
        self.rows.append((name, spent, "s", f"under {most:g} s of a core", spent < most))


def run() -> list[Row]:
    """All rows, in about two minutes."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_bot(watch, Path(folder)))
        asyncio.run(_dashboard(watch, Path(folder)))
    return watch.rows


class LargeService(Service):
    """Has counts for each thing that is asked for, and its answers made beforehand: what is measured is the reader."""

    def __init__(self, *, sequences: int, inboxes: int) -> None:
        super().__init__()
        self.sequences = [
            {"id": f"sq_{n}", "name": f"Sequence {n}", "status": "active" if n % 9 else "paused", "steps": 4}
            for n in range(sequences)
        ]
        self.inboxes = [
            {
                "email": f"person{n}@domain{n % 900}.example",
                "health_score": 40 + n * 7 % 60,
                "daily_limit": 20 + n % 30,
                "status": "active",
            }
            for n in range(inboxes)
        ]
        self._made = {
            "/sequences": _page(self.sequences),
            "/inboxes": _page(self.inboxes),
            "/stats": _page([_counts(one["id"]) for one in self.sequences]),
            "/stats by inbox": _page([_counts(one["email"]) for one in self.inboxes]),
        }

    def _answer(self, method: str, path: str, asked: dict[str, Any]) -> httpx.Response:
        what = f"{path} by inbox" if asked.get("group_by") == "inbox" else path
        if method == "GET" and what in self._made:
            return httpx.Response(200, content=self._made[what], headers={"Content-Type": "application/json"})
        return super()._answer(method, path, asked)


def _page(rows: list[dict[str, Any]]) -> bytes:
    return json.dumps({"data": rows}).encode()


def _counts(group: str) -> dict[str, Any]:
    return {"group": group, "sends": 900, "replies": 31, "positive_replies": 9, "meetings": 2}


def settings_of(folder: Path) -> Settings:
    """50 workspaces, 200 rules of routes and 500 channels with quiet hours of their own."""
    tables = [
        f'[workspaces.w{n}]\nbase_url = "{BASE}"\napi_key = "{KEY}{n}"\nalert_channel = "C0A{n:04}"\n'
        for n in range(WORKSPACES)
    ]
    rules = [
        f'[[routes.rules]]\nchannel = "C0R{n:04}"\nevents = ["reply.interested", "lead.bounced"]\nsequence = "Sequence {n}"\n'
        for n in range(RULES)
    ]
    channels = [f'[routes.channels.C0R{n:04}]\nquiet = "18:00-09:00"\n' for n in range(CHANNELS)]
    config = folder / "outreach.toml"
    config.write_text("\n".join((*tables, *rules, *channels)))
    config.chmod(0o600)
    environ = {
        "OUTREACH_CONFIG": str(config),
        "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/bot.db",
        "XDG_STATE_HOME": str(folder),
    }
    return shared_settings.load(environ=environ)


class Published:
    """Takes the place of Slack's Web API and of its directory: keeps what Home publishes."""

    team = ""

    def __init__(self) -> None:
        self.views: list[dict[str, Any]] = []

    async def call(self, _method: str, **values: Any) -> dict[str, Any]:
        self.views.append(values["view"])
        return {"ok": True}

    async def find(self, user: str) -> Person:
        return Person(id=user, name="ann", is_admin=True)


async def _links(_ids: Any) -> dict[str, str]:
    return {}


async def _bot(watch: Stopwatch, folder: Path) -> None:
    with watch.timing("settings of 50 workspaces, 200 rules, 500 routes"):
        settings = settings_of(folder)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(parse_url(f"sqlite:///{folder}/bot.db")))
        large = LargeService(sequences=SEQUENCES, inboxes=INBOXES)
        small = LargeService(sequences=SEQUENCES // WORKSPACES, inboxes=INBOXES // WORKSPACES)
        clients = {}
        for name in settings.workspaces:
            service = large if name == "w0" else small
            client = OutreachClient(
                base_url=BASE, api_key=KEY, pacer=NoPacing(), transport=service, retries=0
            )
            clients[name] = await stack.enter_async_context(client)
        contexts = CommandContexts(settings=settings, store=store, clients=clients)
        for number in range(RULES):
            sentence = f"notify about sequence when replies < {1 + number % 40}% of at least 50 sends in 24h"
            await store.guardrails.add_rule("w0", StoredRule(name=f"rule{number}", sentence=sentence))
        await _commands(watch, contexts)
        await _home(watch, contexts)
        await _routes(watch, settings, store)
        await _teams(watch, store)


async def _commands(watch: Stopwatch, contexts: CommandContexts) -> None:
    context = contexts.at(contexts.settings.workspace("w0"), Actor(name="ann", id="U1", face="slack"))
    last = moment().date() - timedelta(days=1)
    year = f"{last - timedelta(days=364)}..{last}"
    for line in COMMANDS:
        slow = "by inbox" in line or "report" in line
        with watch.timing(f"`{line.format(year='over a year')}`", most=LONGER if slow else WAIT):
            result = await operate(parse(line.format(year=year)), context)
        assert not result.refused, result.card
    with watch.timing("digest"):
        await digest_card(context)


async def _home(watch: Stopwatch, contexts: CommandContexts) -> None:
    others = contexts.only([name for name in contexts.clients if name != "w0"])
    for name, of in (("Home of 49 workspaces", others), ("Home of the large one", contexts.only(["w0"]))):
        slack: Any = Published()
        home = HomeTab(of, slack, slack, cache=WorkspaceCache(of), links=_links)
        with watch.timing(name):
            await home.show("U1", view=home_view.loading())
        assert slack.views


async def _routes(watch: Stopwatch, settings: Settings, store: Store) -> None:
    routes = Routes(
        alert_channels={name: one.alert_channel for name, one in settings.workspaces.items()},
        routing=settings.routes,
    )
    now = store.database.clock()
    for first in range(0, 1_000, 100):
        batch = [
            Arrival(workspace="w1", body=interested(n, sequence=f"Sequence {n % RULES}"), at=now)
            for n in range(first, first + 100)
        ]
        await store.arrivals.append(batch, number=1 + first)
    with watch.timing("1,000 deliveries through 200 rules"):
        while await store.deliveries.route(routes.decide, limit=50):
            pass


async def _teams(watch: Stopwatch, store: Store) -> None:
    installed = datetime(2026, 1, 1)  # noqa: DTZ001 # the SDK's columns have no zone
    bots = [
        {
            "client_id": "1.2",
            "app_id": "A1",
            "team_id": f"T{n}",
            "team_name": f"Team {n}",
            "bot_token": "xoxb-1",
            "is_enterprise_install": False,
            "installed_at": installed,
        }
        for n in range(TEAMS)
    ]
    seen = [{"team": f"T{n}", "workspace": f"w{m}"} for n in range(TEAMS) for m in range(WORKSPACES)]
    with store.database.engine.begin() as connection:
        connection.execute(sa.insert(slack_bots), bots)
        connection.execute(sa.insert(slack_team_workspaces), seen)
    teams = SlackTeams(store.database, SecretCipher([]), client_id="1.2")
    with watch.timing("50 Slack teams with 50 workspaces each, read"):
        assert len(await teams.all()) == TEAMS


def large_snapshot(*, at: datetime) -> Snapshot:
    inboxes = tuple(
        Inbox(
            email=f"person{n:05}@domain{n % 900}.example",
            health_score=40.0 + n * 7 % 60,
            daily_limit=30,
            status="active",
        )
        for n in range(INBOXES)
    )
    sequences = tuple(
        Campaign(id=f"sq_{n}", name=f"Sequence {n}", status="active", steps=4) for n in range(SEQUENCES)
    )
    return replace(
        account(now=at),
        inboxes=Reading(value=inboxes, read_at=at),
        sequences=Reading(value=sequences, read_at=at),
    )


async def _dashboard(watch: Stopwatch, folder: Path) -> None:
    now = moment()
    async with History(parse_url(f"sqlite:///{folder}/history.db")) as store:
        history = HistoryAccess(store, workspace="acme")
        then = now - timedelta(hours=2)
        with watch.timing("dashboard: the first snapshot ever into the history, in a thread", most=ONCE):
            await history.keep(large_snapshot(at=then), now=then)
        then = now - timedelta(hours=1)
        with watch.timing("dashboard: a later one without a change"):
            await history.keep(large_snapshot(at=then), now=then)
        with watch.timing("dashboard: what the first paint reads of the history"):
            recalled = await history.recall(now=now)
        assert recalled.snapshot
        shown = recalled.snapshot
        app = DashboardApp([acme(history=history)])
        async with app.run_test(size=(200, 50)) as pilot:

            async def act(name: str, change: Callable[[], Any], *, most: float = WAIT) -> None:
                with watch.timing(f"dashboard: {name}", most=most):
                    await change()
                    await app.workers.wait_for_complete()
                    await pilot.pause()

            async def paint() -> None:
                board = await asyncio.to_thread(lambda: compose(shown, intervals=intervals(30)))
                app.post_message(app.Ticked(Tick(snapshot=shown, board=board, changes=(), beats=1)))

            async def narrow() -> None:
                await pilot.press("slash")
                app.screen.query_one(Input).value = "domain77."
                await pilot.press("enter")

            await act("a board", paint)
            await act("filter", narrow)
            await act("filter left", lambda: pilot.press("escape"))
            await act("other order", lambda: pilot.press("s"))
            await act("a step of the replay", lambda: pilot.press("left_square_bracket"), most=LONGER)
            assert app.board_screen.replayed_at
