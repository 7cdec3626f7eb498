"""Changes that the dashboard asks for: it runs commands, and remembers changes until the service's next answer confirms them.

Separate from the screens, which only show it; every change goes through the same function as in the other faces.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime

from shared.api.models import Sequence
from shared.commands import Invocation
from shared.commands.base import CommandContext, Question, Result
from shared.commands.errors import failed_card
from shared.commands.pause import SetStatus
from shared.domain.card import Card, Tone
from shared.domain.snapshot import Snapshot
from shared.frozen import frozen
from tui.model.board import Board

logger = logging.getLogger(__name__)
PROGRESS = {"paused": "pausing…", "active": "resuming…"}


@frozen
class StatusChange:
    """A sequence that shall become something; `done_at` is when the service agreed."""

    id: str
    label: str
    status: str
    done_at: datetime | None = None


def changeable(sequences: Iterable[Sequence]) -> tuple[str, tuple[str, ...]]:
    """The status that these get, with their ids: active ones are paused; where none is, the paused ones resume."""
    chosen = tuple(sequences)
    for status, wanted in (("active", "paused"), ("paused", "active")):
        if ids := tuple(sequence.id for sequence in chosen if sequence.status == status):
            return wanted, ids
    return "", ()


ONLY_READS = Card(
    title="This dashboard is read-only",
    tone=Tone.WARN,
    text=("Nothing was changed. Use a shell or Slack, or a dashboard without read_only.",),
)


async def run_command(context: CommandContext, asked: Invocation) -> Result | Question:
    """Carry out a command, or the answer to its question; every failure is a result too."""
    from shared.commands.run import run  # late: it loads the client, which no first paint needs

    try:
        return await run(asked, context)
    except Exception as error:  # noqa: BLE001 # whatever it is becomes a card, and the screen lives
        card = failed_card(error, asked)
        logger.warning("%s: %s", asked.line, card.summary)
        return Result(card=card, effect="failed", problem=str(error))


class PendingChanges:
    """Runs commands, and remembers what was asked of the service until it is proven."""

    def __init__(
        self,
        run: Callable[[Invocation], Awaitable[Result | Question]],
        *,
        now: Callable[[], datetime],
        read_only: bool = False,
    ) -> None:
        self._run = run
        self._now = now
        self.read_only = read_only
        self.pending: dict[str, StatusChange] = {}

    async def run(self, asked: Invocation) -> Result | Question:
        if self.read_only and asked.changes:
            return Result(card=ONLY_READS, problem="read-only")
        act = asked.arguments
        return await (self._change(asked, act) if isinstance(act, SetStatus) else self._run(asked))

    async def _change(self, asked: Invocation, act: SetStatus) -> Result | Question:
        """The rows of the sequences say what is under way, until it is proven or has failed."""
        requested = {
            sequence.id: StatusChange(id=sequence.id, label=sequence.label, status=act.status)
            for sequence in act.targets
        }
        # Marked before the request goes out: the key must answer at once.
        self.pending |= requested
        done: tuple[str, ...] = ()
        try:
            result = await self._run(asked)
            done = result.sequences if isinstance(result, Result) else ()
        finally:
            for name, change in requested.items():
                # The service's word is not proof: only a later read of the sequence takes the mark away.
                if name in done:
                    self.pending[name] = replace(change, done_at=self._now())
                else:
                    self.pending.pop(name, None)
        return result

    def confirm(self, snapshot: Snapshot) -> list[str]:
        """Take out the changes that a later read proves or refutes; what it refutes, in words."""
        now, read_at = self._now(), snapshot.sequences.read_at
        statuses = {sequence.id: sequence.status for sequence in snapshot.sequences.value or ()}
        refuted = []
        for change in [*self.pending.values()]:
            # Where the clock was set back, what was done lies in the future: the first read from now on proves it.
            done_at = min(change.done_at, now) if change.done_at else None
            if done_at is None or read_at is None or read_at < done_at:
                self.pending[change.id] = replace(change, done_at=done_at)
                continue
            del self.pending[change.id]
            status = statuses.get(change.id)
            if status != change.status:
                refuted.append(f"{change.label} is {status or 'gone'}, not {change.status}")
        return refuted

    def mark(self, board: Board) -> Board:
        """The board with what is pending said in its lines."""
        if not self.pending:
            return board
        lines = []
        for line in board.sequences:
            change = self.pending.get(line.key)
            lines.append(replace(line, pending=PROGRESS[change.status]) if change else line)
        return replace(board, sequences=tuple(lines))
