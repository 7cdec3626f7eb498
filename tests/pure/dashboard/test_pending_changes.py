"""Changes that were asked for, until a later reading proves or refutes them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from shared.api.models import Sequence
from shared.commands import Invocation, parse
from shared.commands.base import Question, Result
from shared.commands.pause import SetStatus
from shared.domain.card import Card
from shared.domain.snapshot import Snapshot
from tests.kit.snapshots import NAMES, NOW, Clock, account, board_of, reading
from tui.feed.pending_changes import PendingChanges, changeable

SECOND = timedelta(seconds=1)


def sequence(number: int, status: str | None = "active") -> Sequence:
    return Sequence(id=f"sq_{number}", name=NAMES[number], status=status, steps=3)


def read(*statuses: str | None, seconds: int) -> Snapshot:
    """The sequences as they are read so many seconds after the change; None is one that is gone."""
    listed = tuple(sequence(number, status) for number, status in enumerate(statuses) if status)
    return replace(account(), sequences=reading(listed, at=NOW + seconds * SECOND))


class Desk:
    """Pending changes, and what they have run; the service agrees to the first change of each act."""

    def __init__(self, *, read_only: bool = False) -> None:
        self.clock, self.ran = Clock(), list[Invocation]()
        self.during: list[str] = []
        self.changes = PendingChanges(self.run, now=self.clock, read_only=read_only)

    async def run(self, asked: Invocation) -> Result | Question:
        self.ran.append(asked)
        self.during = self.marks()
        act = asked.arguments
        done = tuple(target.id for target in act.targets[:1]) if isinstance(act, SetStatus) else ()
        return Result(card=Card(title="Done"), sequences=done)

    async def pause(self, *numbers: int, status: str = "paused") -> None:
        act = SetStatus(targets=tuple(map(sequence, numbers)), status=status)  # type: ignore[arg-type] # of those two
        done = await self.changes.run(Invocation(arguments=act, line="pause"))
        assert isinstance(done, Result)

    def marks(self) -> list[str]:
        board = board_of(read(*["active"] * 3, seconds=0))
        return [line.pending for line in self.changes.mark(board).sequences]


async def test_a_change_is_marked_at_once_and_until_a_later_read_shows_it() -> None:
    desk = Desk()
    await desk.pause(0, 1)
    assert desk.during == ["pausing…", "pausing…", ""]
    assert desk.marks() == ["pausing…", "", ""], "the service didn't agree to the second"
    assert desk.changes.confirm(read("active", seconds=-1)) == []
    assert desk.marks() == ["pausing…", "", ""], "that was read before"
    desk.clock.advance(9)
    assert desk.changes.confirm(read("paused", seconds=0)) == []
    assert desk.marks() == [""] * 3
    await desk.pause(2, status="active")
    assert desk.marks() == ["", "", "resuming…"]


async def test_what_did_not_become_so_is_told_in_words() -> None:
    desk = Desk()
    await desk.pause(0)
    await desk.pause(1)
    told = desk.changes.confirm(read("active", None, seconds=0))
    assert told == [f"{NAMES[0]} is active, not paused", f"{NAMES[1]} is gone, not paused"]
    assert desk.marks() == [""] * 3


async def test_a_clock_that_was_set_back_keeps_no_change_pending() -> None:
    desk = Desk()
    await desk.pause(0)
    desk.clock.advance(-3600)
    assert desk.changes.confirm(Snapshot(workspace="acme")) == [], "nothing was read"
    assert desk.changes.confirm(read("paused", seconds=-3600)) == []
    assert desk.marks() == [""] * 3


async def test_a_dashboard_that_only_reads_runs_no_change() -> None:
    desk, listing = Desk(read_only=True), parse("sequences")
    await desk.pause(0)
    assert desk.ran == []
    await desk.changes.run(listing)
    assert desk.ran == [listing]


def test_active_ones_are_paused_and_else_the_paused_ones_resume() -> None:
    active, paused, new = sequence(0), sequence(1, "paused"), sequence(2, None)
    assert changeable([new, paused, active]) == ("paused", ("sq_0",))
    assert changeable([new, paused]) == ("active", ("sq_1",))
    assert changeable([new]) == ("", ())
