"""Builds the dashboard from its settings: client, history, poller and screen; and shuts them down."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial

from shared.settings import Settings
from shared.text.systemd_notify import systemd_notified
from tui.app.dashboard import DashboardApp, utc_now
from tui.app.own_errors import ErrorLog
from tui.feed.pending_changes import PendingChanges
from tui.feed.startup import OpenReplies, ServiceFeed, opened_replies
from tui.feed.workspace_state import WorkspaceState
from tui.system.alarm_command import AlarmCommand
from tui.system.notifications import OFF, TerminalNotifier
from tui.system.process import logging_to, tuned_gc
from tui.system.terminal import (
    AsciiDriver,
    TerminalDriver,
    exit_when_terminal_gone,
    is_gone,
    is_hung_up,
    plain_theme,
    speaks_unicode,
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
    open_replies: OpenReplies | None = None,
    environ: Mapping[str, str] = os.environ,
    wall: bool = False,
    notice: str = "",
    tips: asyncio.Queue[str] | None = None,
    is_viewer: bool = False,
    workspace: str | None = None,
) -> int:
    """Show the dashboard until it is closed or its terminal is gone; returns the exit code.

    `tips` come up on the page one after another.
    A viewer in a browser only reads, has no replies, and leaves notifications, the alarm command and systemd to other dashboards.
    Raises what `load` raises.
    """
    settings = load()
    options = settings.dashboard
    alarm_command = AlarmCommand("" if is_viewer else options.alarm_command)
    notifications = OFF if is_viewer else options.notifications
    is_plain = options.ascii or environ.get("TERM") == "linux" or not speaks_unicode(sys.stdout.encoding)
    driver = AsciiDriver if is_plain else TerminalDriver
    here = settings.workspace(workspace)
    others = [place.name for place in settings.workspaces.values() if place is not here]
    states = []
    for name in (here.name, *others):
        feed = ServiceFeed(settings, workspace=name, now=utc_now)
        changes = PendingChanges(feed.run, now=utc_now, read_only=options.read_only or is_viewer)
        queue = None
        if open_replies and feed.has_bot and not is_viewer:
            queue = partial(opened_replies, load, name, open_replies)
        states.append(WorkspaceState(workspace=name, feed=feed, pending_changes=changes, open_replies=queue))
    if states[0].feed and (stored := states[0].feed.stored_tick()):
        states[0].take(stored, now=utc_now())  # the first screen that is painted shows it
    app = DashboardApp(
        states,
        theme_name=options.theme,
        only_theme=plain_theme(environ, is_browser=is_viewer),
        keys=options.keys,
        wall=wall,
        notice=notice,
        tips=tips,
        folder=None if is_viewer else settings.state_dir / "exports",
        error_log=ErrorLog(),
        on_alarm=alarm_command.call,
        notifier=TerminalNotifier(choice=notifications, environ=environ),
        driver_class=None if "TEXTUAL_DRIVER" in environ else driver,
    )
    with logging_to(settings.state_dir / "dashboard.log", level=settings.log_level), tuned_gc():
        leave = partial(app.exit, return_code=1)
        watched = exit_when_terminal_gone(leave, is_lost=is_hung_up if is_viewer else is_gone)
        notified = systemd_notified({} if is_viewer else environ)
        async with watched, notified, alarm_command.open():
            await _run_until_exit(app)
    if app.failure:
        raise app.failure
    return app.return_code or 0
