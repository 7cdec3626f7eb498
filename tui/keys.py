"""The keys of the board in one table: bindings, foot line and help are made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key, what it does, and its place in the foot line; `id` is what `[dashboard.keys]` remaps."""

    id: str
    keys: str
    action: str
    word: str
    summary: str
    foot: int = 0
    """Its place in the foot line; 0 is none."""

    @property
    def shown(self) -> str:
        """The key as people read it."""
        first = self.keys.split(",")[0]
        return {"question_mark": "?", "slash": "/", "colon": ":", "escape": "esc"}.get(first, first)


BOARD = (
    Key(id="toggle", keys="p", action="want('toggle')", word="pause/resume",
        summary="Pause the selected or marked sequences, or resume them; asks first", foot=2),
    Key(id="undo", keys="u", action="want('undo')", word="undo", summary="Take back the last pause or resume, for 10 seconds"),
    Key(id="filter", keys="slash", action="want('filter')", word="filter",
        summary="Show only lines with these words; !word leaves out", foot=3),
    Key(id="sort", keys="s", action="sort", word="sort", summary="Sort by the next column (or click a title)", foot=5),
    Key(id="reverse", keys="S", action="reverse", word="reverse", summary="Sort the other way round"),
    Key(id="faults", keys="f", action="faults", word="faults", summary="Show only what is not well", foot=4),
    Key(id="group", keys="g", action="group", word="grouping",
        summary="Stats by sequence, step, variant or inbox", foot=6),
    Key(id="back", keys="escape", action="back", word="back", summary="Forget filter, order and marks"),
    Key(id="earlier", keys="left_square_bracket", action="want('earlier')", word="earlier",
        summary="Look at the snapshot before this one; { is an hour"),
    Key(id="later", keys="right_square_bracket", action="want('later')", word="later",
        summary="Look at the snapshot after this one; } is an hour, esc is now"),
    Key(id="hour-earlier", keys="left_curly_bracket", action="want('hour_earlier')", word="an hour earlier",
        summary="Look an hour further back"),
    Key(id="hour-later", keys="right_curly_bracket", action="want('hour_later')", word="an hour later",
        summary="Look an hour later"),
    Key(id="refresh", keys="r", action="want('refresh')", word="refresh", summary="Read everything now", foot=8),
    Key(id="wall", keys="w", action="want('wall')", word="wall", summary="Wall mode: large, turning, no keys", foot=7),
    Key(id="seen", keys="a", action="want('seen')", word="seen", summary="An alarm has been seen"),
    Key(id="theme", keys="t", action="want('theme')", word="theme", summary="Night, day, high contrast"),
    Key(id="export", keys="e", action="want('export')", word="export",
        summary="Write this view as CSV, text and SVG into the state folder"),
    Key(id="copy", keys="c", action="want('copy')", word="copy", summary="Copy the selected line's id or address"),
    Key(id="commands", keys="question_mark,colon,ctrl+p", action="want('commands')", word="commands",
        summary="Any command of the table; `help` for help", foot=1),
    Key(id="quit", keys="q,ctrl+c", action="app.quit", word="quit", summary="Leave", foot=9),
)  # fmt: skip


def bindings(keys: Sequence[Key] = BOARD) -> list[Binding]:
    """The table as the framework wants it."""
    return [Binding(key.keys, key.action, key.word, show=False, id=f"board.{key.id}") for key in keys]
