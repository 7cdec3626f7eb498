"""Builds the dashboard from its settings: client, history, poller and screen; and shuts them down."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.text.systemd_notify import systemd_notified
from tui.app.dashboard import DashboardApp, utc_now
from tui.app.own_errors import ErrorLog
from tui.feed.pending_changes import PendingChanges
from tui.feed.startup import OpenRecords, OpenReplies, ServiceFeed, has_bot_database, opened_replies
from tui.feed.workspace_state import WorkspaceState
from tui.system.alarm_command import AlarmCommand
from tui.system.fast_start import StartSettings, read_start_settings
from tui.system.notifications import AUTO, TerminalNotifier
from tui.system.process import logging_to, tuned_gc
from tui.system.self_restart import RestartState, parse_time, restart
from tui.system.terminal import (
    AsciiDriver,
    HandoverDriver,
    exit_when_terminal_gone,
    is_gone,
    is_hung_up,
    output_encoding,
    plain_theme,
    restored_terminal,
)
from tui.theme.palette import glyphs_for

if TYPE_CHECKING:
    from shared.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardOptions:
    """The `[dashboard]` section with its defaults."""

    theme: str = ""
    read_only: bool = False
    ascii: bool = False
    keys: Mapping[str, str] | None = None
    refresh_at: str = ""
    alarm_command: str = ""
    notifications: str = AUTO

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
            notifications=str(section.get("notifications", AUTO)),
            keys={str(k): str(v) for k, v in keys.items()} if isinstance(keys, Mapping) else None,
        )


async def _run_until_exit(app: DashboardApp) -> None:
    """Run the app; on cancellation it exits cleanly, or its input thread would read a dead terminal forever."""
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
    open_replies: OpenReplies | None = None,
    config: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    wall: bool = False,
    notice: str = "",
    is_viewer: bool = False,
    workspace: str | None = None,
) -> int:
    """Show the dashboard until it is closed or its terminal is gone; returns the exit code.

    A viewer in a browser only reads, and leaves notifications, the alarm command and systemd to other dashboards.
    Raises what `load` raises: before the first paint where `config` and `environ` are not plain.
    """
    restored = RestartState.of(environ)
    with restored_terminal(wanted=restored is not None):
        quick = read_start_settings(config=config, environ=environ, workspace=workspace)
        all_start_settings = (quick,) if quick else start_settings_of(load(), workspace)
        first = all_start_settings[0]
        options = DashboardOptions.of(first.section)
        if is_viewer:
            options = replace(options, read_only=True, alarm_command="", notifications="off")
        alarm_command = AlarmCommand(options.alarm_command)
        encoding = output_encoding(sys.stdout.encoding, environ)
        glyphs = glyphs_for(encoding, ascii_only=options.ascii or environ.get("TERM") == "linux")
        driver = AsciiDriver if glyphs.ascii else HandoverDriver
        app = DashboardApp(
            [
                _state(load, one, options=options, open_records=open_records, open_replies=open_replies)
                for one in all_start_settings
            ],
            notice=notice,
            glyphs=glyphs,
            theme_name=options.theme,
            only_theme=plain_theme(environ),
            keys=options.keys,
            wall=wall,
            folder=first.state / "exports",
            error_log=ErrorLog(),
            on_alarm=alarm_command.call,
            notifier=TerminalNotifier(choice=options.notifications, environ=environ),
            restart_at=parse_time(options.refresh_at),
            restored=restored,
            driver_class=None if "TEXTUAL_DRIVER" in environ else driver,
        )
        level = environ.get("OUTREACH_LOG_LEVEL", "").strip() or "INFO"
        with logging_to(first.state / "dashboard.log", level=level), tuned_gc():
            leave = partial(app.exit, return_code=1)
            watched = exit_when_terminal_gone(leave, is_lost=is_hung_up if is_viewer else is_gone)
            notified = systemd_notified({} if is_viewer else environ)
            async with watched, notified, alarm_command.open():
                await _run_until_exit(app)
        if app.failure:
            raise app.failure
    if app.restart_state:
        with restored_terminal():
            restart(app.restart_state)
    return app.return_code or 0


def _state(
    load: Callable[[], Settings],
    start_settings: StartSettings,
    *,
    options: DashboardOptions,
    open_records: OpenRecords | None,
    open_replies: OpenReplies | None,
) -> WorkspaceState:
    feed = ServiceFeed(load, start_settings=start_settings, open_records=open_records, now=utc_now)
    pending_changes = PendingChanges(feed.run, now=utc_now, read_only=options.read_only)
    name = start_settings.workspace
    return WorkspaceState(
        workspace=name,
        feed=feed,
        pending_changes=pending_changes,
        open_replies=partial(opened_replies, load, name, open_replies)
        if open_replies and start_settings.has_bot
        else None,
    )


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
            has_bot=has_bot_database(settings),
        )
        for place in places
    )
