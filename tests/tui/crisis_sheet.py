"""What a wall says through a deliverability crisis, beside the truth of the service, as a table.

    python -m tests.tui.crisis_sheet

The truth is the states of the domains that the service's own database holds; what the wall says comes from its API.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
from textual.pilot import Pilot

from sandbox.service import Service
from shared.api import OutreachClient
from shared.domain.snapshot import SOURCES, Snapshot, refresh
from shared.domain.workspace_verdict import WorkspaceVerdict, judge_reading
from tests.tui.accounts import NOW, Clock
from tui.app.dashboard import DashboardApp
from tui.feed.poller import Tick, intervals
from tui.feed.workspace_state import WorkspaceState
from tui.model.board import compose
from tui.model.changes import between
from tui.screens.wall import WallPage

ACCOUNT = "acme"
STEP_HOURS = 2
CRISIS_HOURS, RECOVERY_HOURS = 24, 144
"""Until the last domain that the scenario pauses is paused, and then until all have rested and warmed up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What was said at a moment, and what was so."""

    hours: int
    paused: frozenset[str]
    domains: int
    verdict: WorkspaceVerdict
    wall: str
    """In big letters, or in its first line."""
    is_lit: bool
    """Whether it is the block across the wall."""
    banner: str

    @property
    def row(self) -> str:
        truth = f"{len(self.paused)} of {self.domains} domains paused"
        words = f"{self.verdict.tone.value}: {self.verdict.text}"
        wall = f"{'BLOCK ' if self.is_lit else ''}{self.wall.strip()}"
        return f"| {self.hours} h | {truth} | {words} | {wall} | {self.banner.strip()} |"


@asynccontextmanager
async def crisis() -> AsyncIterator[Crisis]:
    async with (
        Service(port=0, scenario="deliverability-crisis", speed=0) as service,
        aiohttp.ClientSession() as http,
    ):
        client = OutreachClient(base_url=service.base_url, api_key=service.api_keys[ACCOUNT])
        async with client:
            yield Crisis(service, http, client)


@asynccontextmanager
async def on_a_wall() -> AsyncIterator[Watcher]:
    """A wall, and its clock, which goes on by the hours of the crisis."""
    clock = Clock()
    app = DashboardApp([WorkspaceState(workspace=ACCOUNT)], now=clock, wall=True)
    async with app.run_test(size=(160, 50)) as pilot:
        yield Watcher(app, pilot, clock)


@dataclass(frozen=True, slots=True)
class Watcher:
    """Someone who reads the wall."""

    app: DashboardApp
    pilot: Pilot[int]
    clock: Clock

    async def read(self, snapshot: Snapshot) -> tuple[str, bool, str]:
        """What stands on it once it shows a snapshot, whether as the block, and its banner."""
        board = compose(snapshot, intervals=intervals(30))
        changes = (
            between(self.app.workspaces.current.last.snapshot, snapshot, at=self.clock())
            if self.app.workspaces.current.last
            else ()
        )
        self.app.post_message(self.app.Ticked(Tick(snapshot=snapshot, board=board, changes=changes, beats=1)))
        await self.pilot.pause()
        wall = self.app.page
        assert isinstance(wall, WallPage)
        is_lit = bool(wall.trouble.display and wall.trouble.plain)
        return wall.head.verdict.plain, is_lit, wall.head.verdict.plain


class Crisis:
    """The account through its crisis, by the service's dials."""

    def __init__(self, service: Service, http: aiohttp.ClientSession, client: OutreachClient) -> None:
        self.service = service
        self._control = service.control_url
        self._http = http
        self.client = client
        self.hours = 0

    async def advance(self, hours: int) -> None:
        self.hours += hours
        async with self._http.post(f"{self._control}/time", json={"advance": hours * 3600}) as answer:
            answer.raise_for_status()

    async def pause_everything(self) -> None:
        event = {"workspace": ACCOUNT, "kind": "domain.paused", "count": 20}
        async with self._http.post(f"{self._control}/events", json=event) as answer:
            answer.raise_for_status()

    async def look(self, watcher: Watcher) -> Moment:
        async with self._http.get(f"{self._control}/state") as answer:
            states = {
                one["name"]: one["state"]
                for one in (await answer.json())["domains"]
                if "globex" not in one["name"]
            }
        watcher.clock.time = NOW + timedelta(hours=self.hours)
        found = await refresh(
            Snapshot(workspace=ACCOUNT), SOURCES["inboxes"], self.client, now=watcher.clock()
        )
        wall, is_lit, banner = await watcher.read(found)
        return Moment(
            hours=self.hours,
            paused=frozenset(name for name, state in states.items() if state == "paused"),
            domains=len(states),
            verdict=judge_reading(found.inboxes),
            wall=wall,
            is_lit=is_lit,
            banner=banner,
        )


async def moments() -> list[Moment]:
    """From calm through the crisis to all domains paused, and on until they have recovered."""
    async with crisis() as account, on_a_wall() as watcher:
        seen = [await account.look(watcher)]
        for _ in range(CRISIS_HOURS // STEP_HOURS):
            await account.advance(STEP_HOURS)
            seen.append(await account.look(watcher))
        await account.pause_everything()
        seen.append(await account.look(watcher))
        for _ in range(RECOVERY_HOURS // 12):
            await account.advance(12)
            seen.append(await account.look(watcher))
    return seen


def sheet(seen: list[Moment]) -> str:
    head = ("| after | the service | the verdict | the wall | its banner |", "|---|---|---|---|---|")
    return "\n".join((*head, *(moment.row for moment in seen)))


if __name__ == "__main__":
    print(sheet(asyncio.run(moments())))  # noqa: T201 # a script
