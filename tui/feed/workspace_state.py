"""The state of one workspace in the dashboard: feed, current board and changes.

Everything about a workspace is in its state, so that nothing is shown for another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.poller import Tick
from tui.model.alarms import Alarm, acknowledged, update
from tui.model.board import Board, unread
from tui.model.frame import Frame
from tui.model.happened import Mark

if TYPE_CHECKING:
    from shared.domain.reply_queue import ReplyQueue
    from tui.feed.startup import ServiceFeed

OpenQueue = Callable[[], AbstractAsyncContextManager["ReplyQueue"]]
MOST_CHANGES = 200
"""Kept for the list of changes."""


@dataclass(slots=True, kw_only=True, eq=False)
class WorkspaceState:
    """A workspace; what needs a part that is missing says so."""

    workspace: str
    feed: ServiceFeed | None = None
    pending_changes: PendingChanges | None = None
    open_replies: OpenQueue | None = None
    """Opens the queue of replies in the bot's records; None where they aren't shared."""
    last: Tick | None = None
    changes: deque[Mark] = field(default_factory=lambda: deque(maxlen=MOST_CHANGES))
    alarms: tuple[Alarm, ...] = ()
    has_looked: bool = False
    """The present was compared with something before: only what is new since then is raised."""
    _recalled_at: datetime | None = None
    _frame: Frame | None = None

    def take(self, tick: Tick, *, now: datetime) -> tuple[Alarm, ...]:
        """Hold another tick; the alarms that it raises."""
        self.last = tick
        # Newest first, as the history gives them.
        self.changes.extendleft(reversed(tick.changes))
        inboxes = tick.snapshot.inboxes
        if tick.is_stored:
            self._recalled_at = inboxes.read_at
            return ()
        is_read = inboxes.value is not None and inboxes.read_at != self._recalled_at
        news = update(
            self.alarms,
            [condition for condition in tick.board.conditions if condition.is_alarm],
            now=now,
            domains_read=is_read and not inboxes.failed_since,
            first_look=not self.has_looked,
            changes=self.changes,
        )
        self.has_looked = self.has_looked or is_read
        self.alarms = news.alarms
        return news.raised

    def acknowledge(self, where: str | None, *, now: datetime) -> None:
        """Acknowledge the alarm about something, or all; where none is new, take the last time back."""
        about = [alarm for alarm in self.alarms if where is None or alarm.where == where]
        if new := {alarm.key for alarm in about if alarm.is_new}:
            self.alarms = acknowledged(self.alarms, new, at=now)
            return
        # What was acknowledged together has the same time.
        last = max((alarm.acknowledged_at for alarm in about if alarm.acknowledged_at), default=None)
        together = {alarm.key for alarm in self.alarms if alarm.acknowledged_at == last}
        self.alarms = acknowledged(self.alarms, together, at=None)

    def frame(self, *, now: datetime, notices: Sequence[str] = (), mode: str = "") -> Frame:
        """The workspace as it is now."""
        made = Frame(
            board=self.board or unread(self.workspace),
            now=now,
            changes=tuple(self.changes),
            alarms=self.alarms,
            notices=tuple(notices),
            mode=mode or ("read-only" if self.only_reads else ""),
            only_reads=self.only_reads,
        )
        self._frame = made.after(self._frame)
        return self._frame

    @property
    def history(self) -> HistoryAccess | None:
        return self.feed.history if self.feed else None

    @property
    def only_reads(self) -> bool:
        return self.pending_changes is None or self.pending_changes.read_only

    @property
    def board(self) -> Board | None:
        if self.last is None:
            return None
        return self.pending_changes.mark(self.last.board) if self.pending_changes else self.last.board
