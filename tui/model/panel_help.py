"""Help for the panel that keys go to: what it shows, what its marks mean, and the keys as they now are. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shared.domain.card import Card, Column, Row, Table
from tui.model.keys import BOARD, PAGE, Key, key_label

AGE = "The head tells its age: past two intervals it says late and is dimmed, past five it is hatched."
PANELS = {
    "inboxes": (
        "Inboxes",
        (
            "Worst first. ● is well, ▲ at risk, ◆ bad, ? unknown; then ● active, ◐ warming, ○ resting. "
            "Lately is the health over the longest time that is known; sent and replies are of 30 days."
        ),
    ),
    "sequences": (
        "Sequences",
        (
            "► is active, ‖ paused. What was just asked for is shown as pausing… until a read proves it. "
            "Space marks several; p pauses or resumes them, u takes it back for 10 seconds."
        ),
    ),
    "stats": ("Stats", "Counts of 30 days by sequence, step, variant or inbox; g shows the next grouping."),
    "interested": ("Interested", "The newest leads who are interested, the newest first."),
    "changes": ("Changes", "What became different, the newest first, with the time at which it was seen."),
}


def panel(name: str, *, remapped: Mapping[str, str] | None) -> Card:
    title, text = PANELS[name]
    return Card(title=f"Help: {title}", text=(text, AGE), table=_keys(BOARD, remapped or {}))


def page(*, remapped: Mapping[str, str] | None) -> Card:
    text = (
        (
            "One domain, inbox, sequence or step: its figures, its course out of the history, and what it is made of. "
            "Enter goes deeper, esc back; a click on the path goes there. Dotted lines are the thresholds of health."
        ),
    )
    return Card(title="Help: pages", text=text, table=_keys(PAGE, remapped or {}))


def _keys(keys: Sequence[Key], remapped: Mapping[str, str]) -> Table:
    columns = (Column(title="Key"), Column(title="Does"))
    moves = (
        Row(cells=("arrows", "Move; page up and down, home and end too; enter opens, space marks")),
        Row(cells=("1–5, tab", "Go to a panel")),
    )
    rows = (Row(cells=(key_label(remapped.get(key.id, key.keys)), key.summary)) for key in keys)
    return Table(columns=columns, rows=(*(moves if keys is BOARD else ()), *rows))
