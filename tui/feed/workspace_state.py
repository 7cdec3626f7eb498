"""One workspace as the dashboard holds it: what feeds it, who acts in it, what is known, remembered and changed.

Everything that belongs to a workspace is in its station, so that nothing of one is ever shown as another's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from shared.domain.health import DEFAULT, Thresholds
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.tick import Tick
from tui.model.board import Board
from tui.model.lines import ChangeLine

MOST_CHANGES = 200
"""Changes that are kept for the list of what changed."""


class Feed(Protocol):
    """Where ticks come from."""

    def start(self, deliver: Callable[[Tick], object]) -> None:
        """Begin."""

    def read_now(self, *names: str) -> None:
        """Read now."""

    async def sent_today(self) -> Mapping[str, int | None]:
        """What each inbox has sent today, as far as it can be told."""

    async def aclose(self) -> None:
        """End."""


def _recent_changes() -> deque[ChangeLine]:
    return deque(maxlen=MOST_CHANGES)


@dataclass(slots=True, kw_only=True, eq=False)
class WorkspaceState:
    """A workspace; each part may be missing, and what needs it then says so."""

    workspace: str
    feed: Feed | None = None
    pending_changes: PendingChanges | None = None
    history: HistoryAccess | None = None
    thresholds: Thresholds = DEFAULT
    last: Tick | None = None
    changes: deque[ChangeLine] = field(default_factory=_recent_changes)

    def take(self, tick: Tick) -> None:
        self.last = tick
        self.changes.extendleft(reversed(tick.changes))

    @property
    def board(self) -> Board | None:
        if self.last is None:
            return None
        return self.pending_changes.mark(self.last.board) if self.pending_changes else self.last.board
