"""Runs commands of the dashboard, and tracks status changes until a read confirms them.

Separate from the screens, which only show it; every change goes through the same parser and table.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from shared import operations
from shared.api.models import Sequence
from shared.commands import Invocation, invocation
from shared.commands.arguments import Resume
from shared.commands.pauses import Pause
from shared.commands.result import Problem, Result
from shared.domain.card import Card, Tone
from shared.domain.snapshot import Snapshot
from shared.operations.context import CommandContext
from tui.model.workspace.board import Board

logger = logging.getLogger(__name__)

UNDO = timedelta(seconds=10)
PROGRESS = {"paused": "pausing…", "active": "resuming…"}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """A sequence that shall become something; `done_at` is when the service agreed."""

    sequence: Sequence
    status: str
    done_at: datetime | None = None
    hours: int = 0
    """Of a pause, after which it resumes automatically; 0 means until someone resumes it."""

    @property
    def asked(self) -> Invocation:
        target = (self.sequence.id,)
        if self.status == "active":
            return invocation(Resume(target=target))
        return invocation(Pause(target=target, duration=timedelta(hours=self.hours) if self.hours else None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What the first read after it said of a change."""

    change: StatusChange
    status: str | None


def status_changes_for(sequences: Iterable[Sequence]) -> tuple[StatusChange, ...]:
    """Pause what is active; where nothing is, resume what is paused. What has another status is left alone."""
    chosen = tuple(sequences)
    for status, wanted in (("active", "paused"), ("paused", "active")):
        if requested := tuple(StatusChange(sequence=s, status=wanted) for s in chosen if s.status == status):
            return requested
    return ()


ONLY_READS = Card(
    title="This dashboard is read-only",
    tone=Tone.WARN,
    text=("Nothing was changed. Use a shell or Slack, or a dashboard without read_only.",),
)


async def run_command(context: CommandContext, asked: Invocation) -> Result:
    """Carry out a command; every failure is a result too."""
    try:
        return await operations.run(asked, context)
    except Exception as error:  # noqa: BLE001 # whatever it is becomes a card, and the screen lives
        card = operations.error_card(error)
        logger.warning("%s: %s", asked.line, card.summary)
        return Result(card=card, effect="failed", problem=Problem(text=str(error)))


class PendingChanges:
    """Runs commands, and remembers requested until they are proven."""

    def __init__(
        self,
        run: Callable[[Invocation], Awaitable[Result]],
        *,
        now: Callable[[], datetime],
        read_only: bool = False,
    ) -> None:
        self._run = run
        self._now = now
        self.read_only = read_only
        self.pending: dict[str, StatusChange] = {}
        self._done: tuple[StatusChange, ...] = ()
        self._done_at: datetime | None = None

    async def run(self, asked: Invocation) -> Result:
        if not self.refuses(asked):
            return await self._run(asked)

        return Result(card=ONLY_READS, problem=Problem(text="read-only"))

    def refuses(self, asked: Invocation) -> bool:
        return self.read_only and asked.changes

    async def carry_out(self, requested: Iterable[StatusChange]) -> tuple[Result, ...]:
        """Ask the service, one after another."""
        asked = tuple(requested)
        self.pending |= {change.sequence.id: change for change in asked}
        results = [await self._one(change) for change in asked]
        done = tuple(change for change in asked if change.sequence.id in self.pending)
        self._done, self._done_at = done, self._now()
        return tuple(results)

    async def _one(self, change: StatusChange) -> Result:
        try:
            result = await self.run(change.asked)
        except BaseException:
            self.pending.pop(change.sequence.id, None)
            raise
        if result.refused:
            self.pending.pop(change.sequence.id, None)
        else:
            self.pending[change.sequence.id] = replace(change, done_at=self._now())
        return result

    def undo(self) -> tuple[StatusChange, ...]:
        """Changes that take back the last ones; none when more than ten seconds have passed."""
        if self._done_at is None or not timedelta() <= self._now() - self._done_at <= UNDO:
            return ()
        back = tuple(
            StatusChange(
                sequence=replace(change.sequence, status=change.status),
                status="active" if change.status == "paused" else "paused",
            )
            for change in self._done
        )
        self._done, self._done_at = (), None
        return back

    def confirm(self, snapshot: Snapshot) -> tuple[Confirmation, ...]:
        """Take out the changes that a later read proves or refutes."""
        self._correct_clock()
        read_at = snapshot.sequences.read_at
        statuses = {sequence.id: sequence.status for sequence in snapshot.sequences.value or ()}
        ready = [
            change
            for change in self.pending.values()
            if change.done_at and read_at and read_at >= change.done_at
        ]
        for change in ready:
            del self.pending[change.sequence.id]
        return tuple(Confirmation(change=change, status=statuses.get(change.sequence.id)) for change in ready)

    def _correct_clock(self) -> None:
        """Where it was set back, what was done lies in the future: the first read from now on proves it."""
        now = self._now()
        for key, change in self.pending.items():
            if change.done_at and change.done_at > now:
                self.pending[key] = replace(change, done_at=now)

    def mark(self, board: Board) -> Board:
        """The board with what is pending said in its lines."""
        if not self.pending:
            return board
        lines = tuple(
            replace(line, pending=PROGRESS[self.pending[line.key].status])
            if line.key in self.pending
            else line
            for line in board.sequences
        )
        return replace(board, sequences=lines)
