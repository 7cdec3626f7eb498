"""What the top lines of every page say. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tui.model.news.alarms import AlarmNotice
from tui.model.workspace.board import Board


@dataclass(frozen=True, slots=True, kw_only=True)
class PageStatus:
    """A workspace now, or at the moment that is replayed: verdict, connection, alarm and time."""

    workspace: str
    now: datetime
    """The time of what is shown."""
    board: Board | None = None
    beats: int = 0
    mode: str = ""
    """`read-only`, a command that runs, or which moment is replayed."""
    is_past: bool = False
    alarm: AlarmNotice | None = None
    notices: tuple[str, ...] = ()
    """Problems of the dashboard itself."""
    news: str = ""
    """What has changed since the last look; in a replay, what is wrong now."""
