"""The dashboard put together: settings into client, history, poller and screen, and an orderly end for all of them."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from shared.database import beside
from shared.history import History
from shared.records import Records
from shared.settings import Settings, Workspace
from tui.collector import calm
from tui.dashboard import DashboardApp, utc_now
from tui.faults import Faults
from tui.hands import Hands
from tui.logfile import logging_to
from tui.look import ASCII, UNICODE, Glyphs
from tui.memory import Memory
from tui.opening import Opening
from tui.terminal import watched

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The `[dashboard]` section: what it understands, with what holds when nothing is said."""

    theme: str = ""
    read_only: bool = False
    ascii: bool = False
    keys: Mapping[str, str] | None = None

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Wishes:
        """Read the section; what has the wrong type is left at its default."""
        keys = section.get("keys")
        return cls(
            theme=str(section.get("theme", "")),
            read_only=section.get("read_only") is True,
            ascii=section.get("ascii") is True,
            keys={str(k): str(v) for k, v in keys.items()} if isinstance(keys, Mapping) else None,
        )


async def run_dashboard(
    settings: Settings,
    *,
    records: Records | None = None,
    wall: bool = False,
    notice: str = "",
    workspace: str | None = None,
) -> int:
    """Show the dashboard until somebody leaves it, or its terminal is gone; returns the exit code."""
    place = settings.workspace(workspace)
    wishes = Wishes.of(settings.dashboard)
    with logging_to(settings.state_dir / "dashboard.log", level=settings.log_level):
        async with _remembering(settings, place) as memory:
            opening = Opening(settings, place, memory=memory, records=records, now=utc_now)
            app = DashboardApp(
                workspace=place.name,
                feed=opening,
                hands=None if wishes.read_only else Hands(opening.run, now=utc_now),
                memory=memory,
                notice=notice,
                glyphs=_glyphs(wishes),
                wall=wall,
                folder=settings.state_dir / "exports",
                thresholds=place.thresholds,
                faults=Faults(),
            )
            app.wear(wishes.theme)
            if wishes.keys:
                app.set_keymap({f"board.{name}": keys for name, keys in wishes.keys.items()})
            with calm():
                async with watched(lambda: app.exit(return_code=1)):
                    await app.run_async()
    return app.return_code or 0


def _glyphs(wishes: Wishes) -> Glyphs:
    speaks = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    return ASCII if wishes.ascii or not speaks else UNICODE


@contextlib.asynccontextmanager
async def _remembering(settings: Settings, place: Workspace) -> AsyncIterator[Memory]:
    async with History(beside(settings.database, "history"), thresholds=place.thresholds) as history:
        yield Memory(history, workspace=place.name)
