"""Draw the pictures of docs/ anew, and the recording of a crisis: the real account of the sandbox, without a terminal.

    python -m tests.tui.draw_pictures [FOLDER]

Each picture is an SVG file. The recording is one, too, whose frames follow each other: the dashboard with its feed and its
history, polling the sandbox while the crisis goes on, and keys pressed between.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from textual.pilot import Pilot

from shared.api import OutreachClient
from shared.api.models import StatsRow
from shared.commands import Invocation
from shared.commands.result import Result
from shared.domain.snapshot import SOURCES, DailyCounts, Snapshot, service_day, take_snapshot
from shared.domain.totals import totals
from shared.settings import load
from tests.clock import moment
from tests.tui.crisis_sheet import ACCOUNT, Crisis, crisis
from tests.waiting import until
from tui.app.dashboard import DashboardApp, utc_now
from tui.app.run import start_settings_of
from tui.feed.pending_changes import PendingChanges
from tui.feed.poller import Tick, intervals
from tui.feed.startup import ServiceFeed
from tui.feed.workspace_state import WorkspaceState
from tui.model.alarms import notice_then
from tui.model.board import Board, compose
from tui.model.changes import between
from tui.model.lines import ChangeLine
from tui.model.page_status import PageStatus

OTHER = "globex"
DAYS = 13
EACH = 3.0
"""Seconds for which a frame of the recording is shown."""
STEPS = (0, 10, 6, 6, 36, 72)
"""Hours between the scenes: calm, the crisis, recovery."""
LARGE, SMALL = (160, 50), (110, 32)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A moment of the account, and what has changed until then."""

    snapshot: Snapshot
    changes: tuple[ChangeLine, ...]
    other: Snapshot
    """The other workspace at that moment."""

    @property
    def now(self) -> datetime:
        return self.snapshot.inboxes.read_at or moment()

    @property
    def board(self) -> Board:
        return compose(self.snapshot, intervals=intervals(30))


async def scenes() -> list[Scene]:
    """The sandbox's crisis, from calm to recovery."""
    found: list[Scene] = []
    async with crisis() as account:
        service, client = account.service, account.client
        daily = await _daily(client)
        async with OutreachClient(base_url=service.base_url, api_key=service.api_keys[OTHER]) as other:
            for hours in STEPS:
                await account.advance(hours)
                found.append(await _scene(client, found, account, daily=daily, other=other))
    return found


async def _daily(client: OutreachClient) -> DailyCounts:
    today = service_day(client, now=moment())
    days = [today - timedelta(days=ago) for ago in range(DAYS, 0, -1)]
    rows: list[StatsRow] = [totals(await client.stats(start=day, end=day), group="day") for day in days]
    return DailyCounts(days=tuple(zip(days, rows, strict=True)))


async def _scene(
    client: OutreachClient,
    before: Sequence[Scene],
    account: Crisis,
    *,
    daily: DailyCounts,
    other: OutreachClient,
) -> Scene:
    now = (client.service_time or moment()) if not before else before[0].now
    now += timedelta(hours=account.hours)
    snapshot = replace(await take_snapshot(client, ACCOUNT, now=now), daily=daily)
    beside = await take_snapshot(other, OTHER, now=now)
    if not before:
        return Scene(snapshot=snapshot, changes=(), other=beside)
    changed = between(before[-1].snapshot, snapshot, at=now)
    return Scene(snapshot=snapshot, changes=(*changed, *before[-1].changes)[:40], other=beside)


def _state(workspace: str = ACCOUNT) -> WorkspaceState:
    async def run(_: Invocation) -> Result:
        raise AssertionError("nobody presses a key in a picture")

    changes = PendingChanges(run, now=moment)
    return WorkspaceState(workspace=workspace, pending_changes=changes)


async def drawn_all(scene: Scene) -> str:
    """The wall of all workspaces."""
    states = [_state(), _state(OTHER)]
    app = DashboardApp(states, now=lambda: scene.now, wall=True)
    async with app.run_test(size=LARGE) as pilot:
        for state, snapshot in zip(states, (scene.snapshot, scene.other), strict=True):
            board = compose(snapshot, intervals=intervals(30))
            app.post_message(app.Ticked(Tick(snapshot=snapshot, board=board, changes=(), beats=7), state))
        await pilot.pause(0.3)
        app.second_passed()
        await pilot.pause(0.3)
        return app.export_screenshot(title="outreach dashboard")


async def drawn(scene: Scene, size: tuple[int, int], *, theme: str = "night", wall: bool = False) -> str:
    app = DashboardApp([_state()], now=lambda: scene.now, theme_name=theme, wall=wall)
    async with app.run_test(size=size) as pilot:
        tick = Tick(snapshot=scene.snapshot, board=scene.board, changes=scene.changes, beats=7)
        app.post_message(app.Ticked(tick))
        await pilot.pause(0.3)
        app.presenter.show()
        await pilot.pause(0.3)
        return app.export_screenshot(title="outreach dashboard")


async def drawn_replay(then: Scene, now: Scene) -> str:
    """The moment of the crisis, looked at from after it."""
    app = DashboardApp([_state()], now=lambda: now.now)
    async with app.run_test(size=LARGE) as pilot:
        app.board_screen.replay(then.now, f"REPLAY {then.now:%d %b %H:%M}")
        status = PageStatus(
            workspace=ACCOUNT,
            now=then.now,
            board=then.board,
            mode=app.board_screen.mode,
            is_past=True,
            alarm=notice_then(then.board.conditions),
        )
        app.board_screen.show(then.board, changes=then.changes, status=status)
        await pilot.pause(0.3)
        app.board_screen.show(then.board, changes=then.changes, status=status)
        await pilot.pause(0.3)
        return app.export_screenshot(title="outreach dashboard")


@asynccontextmanager
async def live(account: Crisis) -> AsyncIterator[tuple[DashboardApp, Pilot[int]]]:
    """The dashboard as `outreach dashboard` starts it, with everything read."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "outreach.toml"
        config.touch()
        settings = load(
            config=config,
            environ={
                "OUTREACH_BASE_URL": account.service.base_url,
                "OUTREACH_API_KEY": account.service.api_keys[ACCOUNT],
                "OUTREACH_DATABASE_URL": f"sqlite:///{folder}/outreach.db",
                "OUTREACH_POLL_SECONDS": "3600",
            },
        )
        (start,) = start_settings_of(settings, None)
        feed = ServiceFeed(lambda: settings, start_settings=start, open_records=None, now=utc_now)
        changes = PendingChanges(feed.run, now=utc_now)
        state = WorkspaceState(workspace=start.workspace, feed=feed, pending_changes=changes)
        app = DashboardApp([state])
        async with app.run_test(size=SMALL) as pilot:
            await until(lambda: state.last and len(state.last.snapshot.daily.days) == DAYS, seconds=120)
            yield app, pilot


async def recorded() -> list[str]:
    """The frames: calm, the first domains pause, one of them, its wall, all is worse, recovery."""
    async with crisis() as account, live(account) as (app, pilot):
        state = app.workspaces.current

        async def frame(*keys: str, hours: int = 0) -> str:
            if hours:
                before = state.beats
                await account.advance(hours)
                app.action_refresh()
                await until(lambda: state.beats >= before + len(SOURCES), seconds=60)
            if keys:
                await pilot.press(*keys)
            await pilot.pause(0.5)
            app.second_passed()
            await pilot.pause(0.5)
            return app.export_screenshot(title="outreach dashboard")

        return [
            await frame(),
            await frame(hours=4),
            await frame("7", "enter"),
            await frame("escape", "1", "w", hours=4),
            await frame("x", hours=60),
        ]


def recording(frames: Sequence[str]) -> str:
    """One SVG that shows the frames in turn, forever; each keeps its own style classes."""
    whole, share = EACH * len(frames), 100 / len(frames)
    head = re.match(r"<svg[^>]*>", frames[0])
    assert head
    parts = [
        re.sub(r"terminal-\d+-", f"f{number}-", re.sub(r"^<svg[^>]*>|</svg>\s*$", "", frame.strip()))
        for number, frame in enumerate(frames)
    ]
    style = (
        f"@keyframes turn {{ 0%, {share:.3f}% {{ visibility: visible }} {share + 0.001:.3f}%, 100% "
        "{ visibility: hidden } } .frame { visibility: hidden; "
        f"animation: turn {whole}s step-end infinite }}"
    )
    shown = [
        f'<g class="frame" style="animation-delay:{number * EACH - whole if number else 0}s">{part}</g>'
        for number, part in enumerate(parts)
    ]
    return f"{head[0]}<style>{style}</style>{''.join(shown)}</svg>"


def small(picture: str) -> str:
    """The same without fonts from elsewhere, and without what no viewer needs."""
    picture = re.sub(r"@font-face\s*\{[^}]*\}\s*", "", picture)
    picture = re.sub(r'<clipPath id="[^"]*-line-\d+">.*?</clipPath>', "", picture, flags=re.DOTALL)
    picture = re.sub(r' clip-path="url\(#[^"]*-line-\d+\)"', "", picture)
    picture = picture.replace("Fira Code", "DejaVu Sans Mono, Menlo, Consolas")
    return re.sub(r">\s+<", "><", picture)


async def main(folder: Path) -> None:
    calm, *others, recovered = await scenes()
    worst = max(others, key=lambda scene: scene.board.verdict.severity)
    pictures = {
        "dashboard": await drawn(calm, LARGE),
        "dashboard-day": await drawn(calm, LARGE, theme="day"),
        "dashboard-trouble": await drawn(worst, LARGE),
        "dashboard-wall": await drawn(worst, LARGE, wall=True),
        "dashboard-all": await drawn_all(worst),
        "dashboard-replay": await drawn_replay(worst, recovered),
        "dashboard-crisis": recording(await recorded()),
    }
    for name, picture in pictures.items():
        (folder / f"{name}.svg").write_text(small(picture), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs")))
