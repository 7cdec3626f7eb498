"""The dashboard on a screen, over the sandbox's account, driven by keys as a person does."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from textual.pilot import Pilot

from shared import settings as shared_settings
from shared.settings import Settings
from shared.store import open_store
from shared.store.history import Records
from tests.kit.clock import moment
from tests.kit.databases import migrated_file
from tests.kit.service import Account
from tests.kit.waiting import until
from tui.app.dashboard import DashboardApp
from tui.feed.pending_changes import PendingChanges
from tui.feed.startup import ServiceFeed
from tui.feed.workspace_state import WorkspaceState


class Screen:
    """A dashboard's screen, its text and its keys."""

    def __init__(self, pilot: Pilot[int]) -> None:
        self._pilot = pilot

    @property
    def text(self) -> str:
        """All characters of the screen, a line each."""
        size = self._pilot.app.size
        strips = self._pilot.app.screen._compositor.render_strips(size)
        return "\n".join(strip.text.rstrip() for strip in strips)

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*text)

    async def refresh(self) -> None:
        """Have everything read again, as the palette's "refresh" does."""
        await self.press("colon")
        await self.type("refresh")
        await self.press("enter")

    async def until(self, words: str) -> str:
        """Wait until these words are on the screen; the whole of it."""

        def shown() -> str:
            return self.text if words in self.text else ""

        return str(await until(shown, f"{words!r} on the screen"))


@contextlib.asynccontextmanager
async def _open_records(settings: Settings) -> AsyncIterator[Records]:
    async with open_store(settings.database, clock=lambda: moment().timestamp()) as store:
        yield store.records


@contextlib.asynccontextmanager
async def open_screen(
    account: Account, folder: Path, *, size: tuple[int, int] = (160, 48)
) -> AsyncIterator[Screen]:
    """A dashboard of the account, without a bot."""
    environ = {
        **account.environ,
        "OUTREACH_STATE_DIR": str(folder),
        "XDG_STATE_HOME": str(folder),
        "OUTREACH_DATABASE_URL": migrated_file(folder / "bot.db"),
    }
    settings = shared_settings.load(environ=environ)
    workspace = next(iter(settings.workspaces))
    feed = ServiceFeed(settings, workspace=workspace, open_records=_open_records, now=moment)
    changes = PendingChanges(feed.run, now=moment, read_only=False)
    state = WorkspaceState(workspace=workspace, feed=feed, pending_changes=changes)
    app = DashboardApp([state], now=moment, folder=folder)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause()
        yield Screen(pilot)
