"""What the feed delivers: one message with everything in it."""

from __future__ import annotations

from dataclasses import dataclass

from shared.domain.snapshot import SOURCES, Snapshot
from tui.model.board import Board
from tui.model.lines import ChangeLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A new board, what became different with it, and how many reads have succeeded so far."""

    snapshot: Snapshot
    board: Board
    changes: tuple[ChangeLine, ...]
    beats: int


def intervals(poll_seconds: float) -> dict[str, float]:
    return {source.grouping or source.name: poll_seconds * source.factor for source in SOURCES.values()}
