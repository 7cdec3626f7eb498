"""The state of one workspace in the dashboard: feed, current board and changes.

Everything about a workspace is in its state, so that nothing is shown for another one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Protocol

from shared.api.models import StatsRow
from shared.api.words import Grouping
from shared.domain.card import Fact
from shared.domain.health import DEFAULT, Thresholds
from shared.domain.reply_queue import ReplyQueue
from shared.records.domains import DomainPast
from shared.records.replies import LeadReply
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.poller import Tick
from tui.model.lists.lines import ChangeLine
from tui.model.news.alarms import Alarm, acknowledge, acknowledge_all, update
from tui.model.workspace.board import Board
from tui.theme.marks import Mark

OpenQueue = Callable[[], "AbstractAsyncContextManager[ReplyQueue]"]
MOST_CHANGES = 200
"""Kept for the list of changes."""


class Feed(Protocol):
    """Where ticks come from, and where they are stored."""

    @property
    def history(self) -> HistoryAccess | None: ...  # None until it is open
    @property
    def thresholds(self) -> Thresholds: ...
    @property
    def shares_replies(self) -> bool: ...  # whether the bot's records are read as well

    def start(self, deliver: Callable[[Tick], object], fail: Callable[[Exception], object]) -> None:
        """Begin; `fail` is called when nothing can be delivered."""

    def read_now(self, *names: str) -> None:
        """Read these sources now, or all."""

    async def sent_today(self) -> Mapping[str, int | None]:
        """What each inbox has sent today, as far as it can be told."""

    async def recent_counts(
        self, grouping: Grouping, keys: Sequence[str], *, days: int
    ) -> Mapping[date, StatsRow]:
        """The counts by day of an inbox or a sequence, today included, by the first of its keys that has any."""

    async def recorded_marks(self, *, start: datetime, end: datetime) -> Sequence[Mark]:
        """What the bot recorded: pauses and by whom, paused domains, guardrails; nothing where it can't be read."""

    async def last_reply(self, email: str) -> LeadReply | None:
        """The newest reply of a lead, as far as the bot has it."""

    async def domain_dns(self, domain: str) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        """The DNS of a domain, and what to do about it; empty where it isn't checked."""

    async def domain_past(self, domain: str) -> DomainPast | None:
        """What the bot recorded of a domain in the last 30 days; None where nothing is known."""

    async def aclose(self) -> None:
        """End."""


@dataclass(slots=True, kw_only=True, eq=False)
class WorkspaceState:
    """A workspace; what needs a part that is missing says so."""

    workspace: str
    feed: Feed | None = None
    pending_changes: PendingChanges | None = None
    open_replies: OpenQueue | None = None
    """Opens the queue of replies in the bot's records; None where they aren't shared."""
    last: Tick | None = None
    changes: deque[ChangeLine] = field(default_factory=lambda: deque(maxlen=MOST_CHANGES))
    alarms: tuple[Alarm, ...] = ()
    has_looked: bool = False
    """Whether what holds now was compared with something before: only what is new since then is raised."""
    _recalled_at: datetime | None = None

    def take(self, tick: Tick, *, now: datetime) -> tuple[Alarm, ...]:
        """Hold another tick; the alarms that it raises."""
        self.last = tick
        self.changes.extendleft(reversed(tick.changes))
        inboxes = tick.snapshot.inboxes
        if tick.beats == 0 and not inboxes.failed_since:  # a stored board isn't the current state
            self._recalled_at = inboxes.read_at
            return ()
        is_read = inboxes.value is not None and inboxes.read_at != self._recalled_at
        found = update(
            self.alarms,
            tick.board.conditions,
            now=now,
            domains_read=is_read and not inboxes.failed_since,
            first_look=not self.has_looked,
            changes=self.changes,
        )
        self.has_looked = self.has_looked or is_read
        self.alarms = found.alarms
        return found.raised

    def acknowledge(self, key: str, *, now: datetime) -> None:
        self.alarms = acknowledge(self.alarms, key, now=now)

    def acknowledge_all(self, *, now: datetime) -> None:
        self.alarms = acknowledge_all(self.alarms, now=now)

    def clear_recovered(self) -> None:
        """Forget alarms that are over, acknowledged or not."""
        self.alarms = tuple(alarm for alarm in self.alarms if alarm.is_on)

    @property
    def history(self) -> HistoryAccess | None:
        return self.feed.history if self.feed else None

    @property
    def only_reads(self) -> bool:
        return self.pending_changes is None or self.pending_changes.read_only

    @property
    def thresholds(self) -> Thresholds:
        return self.feed.thresholds if self.feed else DEFAULT

    @property
    def beats(self) -> int:
        return self.last.beats if self.last else 0

    @property
    def board(self) -> Board | None:
        if self.last is None:
            return None
        return self.pending_changes.mark(self.last.board) if self.pending_changes else self.last.board


class Workspaces:
    """All workspaces of a dashboard, and the one whose board is shown."""

    def __init__(self, states: Sequence[WorkspaceState]) -> None:
        self.all = tuple(states)
        self.current = self.all[0]
