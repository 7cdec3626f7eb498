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
from tui.feed.pending_changes import PendingChanges
from tui.feed.startup import OpenRecords, ServiceFeed
from tui.feed.workspace_state import WorkspaceState
from tui.system.alarm_command import AlarmCommand
from tui.system.fast_start import StartSettings, read_start_settings
from tui.system.gc_tuning import tuned_gc
from tui.system.logfile import logging_to
from tui.system.own_errors import ErrorLog
from tui.system.self_restart import RestartState, hour, restart
from tui.system.terminal import exit_when_terminal_gone
from tui.system.terminal_handover import HandoverDriver, restored_terminal
from tui.system.watchdog import systemd_notified
from tui.theme.palette import ASCII, UNICODE, Glyphs

if TYPE_CHECKING:
    from shared.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardOptions:
    """The `[dashboard]` section: what it understands, with what holds when nothing is said."""

    theme: str = ""
    read_only: bool = False
    ascii: bool = False
    keys: Mapping[str, str] | None = None
    refresh_at: str = ""
    alarm_command: str = ""

    @classmethod
    def of(cls, section: Mapping[str, Any]) -> DashboardOptions:
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
    resumed = RestartState.of(environ)
    with restored_terminal(wanted=resumed is not None):
        app, feeds = _made(
            load,
            all_start_settings=_start_settings(
                load, read_start_settings(config=config, environ=environ, workspace=workspace), workspace
            ),
            open_records=open_records,
            wall=wall,
            notice=notice,
        )
        await _shown(app, feeds[0].start_settings, environ=environ, resumed=resumed)
        if feeds[0].failure:
            raise feeds[0].failure
    if app.restart_state:
        with restored_terminal():
            restart(app.restart_state)
    return app.return_code or 0


def _made(
    load: Callable[[], Settings],
    *,
    all_start_settings: Sequence[StartSettings],
    open_records: OpenRecords | None,
    wall: bool,
    notice: str,
) -> tuple[DashboardApp, Sequence[ServiceFeed]]:
    """The app and what feeds it, one for each workspace."""
    first, *others = feeds = tuple(
        ServiceFeed(load, start_settings=one, open_records=open_records, now=utc_now)
        for one in all_start_settings
    )
    wishes = DashboardOptions.of(first.start_settings.section)
    app = DashboardApp(
        workspace=first.start_settings.workspace,
        feed=first,
        pending_changes=PendingChanges(first.run, now=utc_now, read_only=wishes.read_only),
        notice=notice,
        glyphs=_glyphs(wishes),
        wall=wall,
        folder=first.start_settings.state / "exports",
        others=[_state(feed, wishes=wishes) for feed in others],
        faults=ErrorLog(),
    )
    for feed, state in zip(feeds, app.states, strict=True):
        feed.state, feed.leave = state, app.exit
    return app, feeds


async def _shown(
    app: DashboardApp,
    start_settings: StartSettings,
    *,
    environ: Mapping[str, str],
    resumed: RestartState | None,
) -> None:
    """Until it is left, with all that belongs to a real terminal."""
    wishes = DashboardOptions.of(start_settings.section)
    app.use_theme(wishes.theme)
    app.remap(wishes.keys or {})
    if resumed:
        app.resume(resumed)
    if "TEXTUAL_DRIVER" not in environ:
        app.driver_class = HandoverDriver
    caller = AlarmCommand(wishes.alarm_command)
    app.alarmed, app.restart_at = caller.call, hour(wishes.refresh_at)
    level = environ.get("OUTREACH_LOG_LEVEL", "").strip() or "INFO"
    with logging_to(start_settings.state / "dashboard.log", level=level), tuned_gc():
        async with (
            exit_when_terminal_gone(lambda: app.exit(return_code=1)),
            systemd_notified(environ),
            caller.open(),
        ):
            await _until_left(app)


def _start_settings(
    load: Callable[[], Settings], start_settings: StartSettings | None, workspace: str | None
) -> tuple[StartSettings, ...]:
    if start_settings:
        return (start_settings,)
    return start_settings_of(load(), workspace)


def start_settings_of(settings: Settings, workspace: str | None) -> tuple[StartSettings, ...]:
    """One for each workspace of the settings, that which was named first, or else the default."""
    here = settings.workspace(workspace)
    places = (here, *(place for place in settings.workspaces.values() if place is not here))
    return tuple(
        StartSettings(
            workspace=place.name,
            state=settings.state_dir,
            poll_seconds=settings.poll_seconds,
            section=settings.dashboard,
        )
        for place in places
    )


def _state(feed: ServiceFeed, *, wishes: DashboardOptions) -> WorkspaceState:
    pending_changes = PendingChanges(feed.run, now=utc_now, read_only=wishes.read_only)
    return WorkspaceState(workspace=feed.start_settings.workspace, feed=feed, pending_changes=pending_changes)


def _glyphs(wishes: DashboardOptions) -> Glyphs:
    speaks = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    return ASCII if wishes.ascii or not speaks else UNICODE
