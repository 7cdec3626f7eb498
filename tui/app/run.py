"""The dashboard put together: settings into client, history, poller and screen, and an orderly end for all of them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.app.dashboard import DashboardApp, utc_now
from tui.feed.pending_changes import Hands
from tui.feed.startup import Opening, OpenRecords
from tui.feed.workspace_state import Station
from tui.system.alarm_command import Caller
from tui.system.fast_start import Glimpse, look
from tui.system.gc_tuning import calm
from tui.system.logfile import logging_to
from tui.system.own_errors import Faults
from tui.system.self_restart import Resumed, hour, start_anew
from tui.system.terminal import watched
from tui.system.terminal_handover import LastingDriver, given_back
from tui.system.watchdog import watched_over
from tui.theme.palette import ASCII, UNICODE, Glyphs

if TYPE_CHECKING:
    from shared.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """The `[dashboard]` section: what it understands, with what holds when nothing is said."""

    theme: str = ""
    read_only: bool = False
    ascii: bool = False
    keys: Mapping[str, str] | None = None
    refresh_at: str = ""
    alarm_command: str = ""

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> Wishes:
        """Read the section; what has the wrong type is left at its default."""
        keys = section.get("keys")
        return cls(
            theme=str(section.get("theme", "")),
            read_only=section.get("read_only") is True,
            ascii=section.get("ascii") is True,
            refresh_at=str(section.get("refresh_at", "")),
            alarm_command=str(section.get("alarm_command", "")),
            keys={str(k): str(v) for k, v in keys.items()} if isinstance(keys, Mapping) else None,
        )


async def _until_left(app: DashboardApp) -> None:
    """Run the app; who cancels it has it leave in order, or its input thread would read a dead terminal for ever."""
    running = asyncio.create_task(app.run_async(), name="dashboard-app")
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        app.exit()
        await running
        raise


async def run_dashboard(
    load: Callable[[], Settings],
    *,
    open_records: OpenRecords | None = None,
    config: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    wall: bool = False,
    notice: str = "",
    workspace: str | None = None,
) -> int:
    """Show the dashboard until somebody leaves it, or its terminal is gone; returns the exit code.

    Raises what `load` raises: before the first paint where a glimpse of `config` and `environ` does not do.
    """
    resumed = Resumed.of(environ)
    with given_back(wanted=resumed is not None):
        app, openings = _made(
            load,
            glimpses=_glimpses(load, look(config=config, environ=environ, workspace=workspace), workspace),
            open_records=open_records,
            wall=wall,
            notice=notice,
        )
        await _shown(app, openings[0].glimpse, environ=environ, resumed=resumed)
        if openings[0].failure:
            raise openings[0].failure
    if app.resumes:
        with given_back():
            start_anew(app.resumes)
    return app.return_code or 0


def _made(
    load: Callable[[], Settings],
    *,
    glimpses: Sequence[Glimpse],
    open_records: OpenRecords | None,
    wall: bool,
    notice: str,
) -> tuple[DashboardApp, Sequence[Opening]]:
    """The app and what feeds it, one for each workspace."""
    first, *others = openings = tuple(
        Opening(load, glimpse=one, open_records=open_records, now=utc_now) for one in glimpses
    )
    wishes = Wishes.of(first.glimpse.section)
    app = DashboardApp(
        workspace=first.glimpse.workspace,
        feed=first,
        hands=Hands(first.run, now=utc_now, read_only=wishes.read_only),
        notice=notice,
        glyphs=_glyphs(wishes),
        wall=wall,
        folder=first.glimpse.state / "exports",
        others=[_station(feed, wishes=wishes) for feed in others],
        faults=Faults(),
    )
    for feed, station in zip(openings, app.stations, strict=True):
        feed.station, feed.leave = station, app.exit
    return app, openings


async def _shown(
    app: DashboardApp, glimpse: Glimpse, *, environ: Mapping[str, str], resumed: Resumed | None
) -> None:
    """Until it is left, with all that belongs to a real terminal."""
    wishes = Wishes.of(glimpse.section)
    app.wear(wishes.theme)
    app.remap(wishes.keys or {})
    if resumed:
        app.resume(resumed)
    if "TEXTUAL_DRIVER" not in environ:
        app.driver_class = LastingDriver
    caller = Caller(wishes.alarm_command)
    app.alarmed, app.renew_at = caller.call, hour(wishes.refresh_at)
    level = environ.get("OUTREACH_LOG_LEVEL", "").strip() or "INFO"
    with logging_to(glimpse.state / "dashboard.log", level=level), calm():
        async with watched(lambda: app.exit(return_code=1)), watched_over(environ), caller.open():
            await _until_left(app)


def _glimpses(
    load: Callable[[], Settings], glimpse: Glimpse | None, workspace: str | None
) -> tuple[Glimpse, ...]:
    if glimpse:
        return (glimpse,)
    return glimpses_of(load(), workspace)


def glimpses_of(settings: Settings, workspace: str | None) -> tuple[Glimpse, ...]:
    """One for each workspace of the settings, that which was named first, or else the default."""
    here = settings.workspace(workspace)
    places = (here, *(place for place in settings.workspaces.values() if place is not here))
    return tuple(
        Glimpse(
            workspace=place.name,
            state=settings.state_dir,
            poll_seconds=settings.poll_seconds,
            section=settings.dashboard,
        )
        for place in places
    )


def _station(feed: Opening, *, wishes: Wishes) -> Station:
    hands = Hands(feed.run, now=utc_now, read_only=wishes.read_only)
    return Station(workspace=feed.glimpse.workspace, feed=feed, hands=hands)


def _glyphs(wishes: Wishes) -> Glyphs:
    speaks = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    return ASCII if wishes.ascii or not speaks else UNICODE
