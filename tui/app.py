"""The dashboard put together: settings into client, history, poller and screen, and an orderly end for all of them."""

from __future__ import annotations

import contextlib
import getpass
import logging
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from shared.api.client import OutreachClient
from shared.database import beside
from shared.desk import Desk, open_client
from shared.history import History
from shared.records import Actor, Records
from shared.settings import Settings, Workspace
from tui.dashboard import DashboardApp, utc_now
from tui.hands import Hands, run_at
from tui.logfile import logging_to
from tui.look import ASCII, UNICODE, Glyphs
from tui.memory import Memory
from tui.poller import Poller
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
        async with open_client(settings, place) as client, _remembering(settings, place) as memory:
            app = DashboardApp(
                workspace=place.name,
                feed=_poller(settings, place, client=client, memory=memory),
                hands=None if wishes.read_only else _hands(place, client=client, records=records),
                memory=memory,
                notice=notice,
                glyphs=_glyphs(wishes),
                wall=wall,
                folder=settings.state_dir / "exports",
            )
            app.wear(wishes.theme)
            if wishes.keys:
                app.set_keymap({f"board.{name}": keys for name, keys in wishes.keys.items()})
            async with watched(lambda: app.exit(return_code=1)):
                await app.run_async()
    return app.return_code or 0


def _glyphs(wishes: Wishes) -> Glyphs:
    speaks = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    return ASCII if wishes.ascii or not speaks else UNICODE


def _poller(settings: Settings, place: Workspace, *, client: OutreachClient, memory: Memory) -> Poller:
    return Poller(
        client=client,
        workspace=place.name,
        poll_seconds=settings.poll_seconds,
        now=utc_now,
        thresholds=place.thresholds,
        memory=memory,
    )


def _hands(place: Workspace, *, client: OutreachClient, records: Records | None) -> Hands:
    desk = Desk(
        workspace=place,
        client=client,
        actor=Actor(name=getpass.getuser(), face="dashboard"),
        records=records,
        now=utc_now,
        confirmed=True,
    )
    return Hands(partial(run_at, desk), now=utc_now)


@contextlib.asynccontextmanager
async def _remembering(settings: Settings, place: Workspace) -> AsyncIterator[Memory]:
    async with History(beside(settings.database, "history"), thresholds=place.thresholds) as history:
        yield Memory(history, workspace=place.name)
