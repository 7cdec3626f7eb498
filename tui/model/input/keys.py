"""The keys of board and pages in two tables, from which bindings, bottom line and help are made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from textual.binding import Binding

from shared.domain.card import Card, Column, Row, Table
from shared.text.sanitize import visible


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
    panels: tuple[str, ...] = ()
    """Where it does something; everywhere when none is named."""
    changes: bool = False
    """A dashboard that only reads does not offer it."""

    @property
    def shown(self) -> str:
        return key_label(self.keys)


KEY_LABELS = {
    "question_mark": "?", "slash": "/", "colon": ":", "escape": "esc", "at": "@", "equals_sign": "=",
    "left_square_bracket": "[", "right_square_bracket": "]", "left_curly_bracket": "{", "right_curly_bracket": "}",
    "comma": ",", "full_stop": ".", "less_than_sign": "<", "greater_than_sign": ">",
}  # fmt: skip


def key_label(keys: str) -> str:
    first = keys.split(",", maxsplit=1)[0]
    return KEY_LABELS.get(first, first)


BOARD = (
    Key(id="toggle", keys="p", action="app.pause_or_resume", word="pause/resume",
        summary="Pause or resume the selected or marked sequences, after confirmation", foot=2,
        panels=("sequences",), changes=True),
    Key(id="timed-pause", keys="P", action="app.timed_pause", word="pause for a time",
        summary="Pause the selected or marked sequences for some hours (P 2 y: two hours)", foot=3,
        panels=("sequences",), changes=True),
    Key(id="undo", keys="u", action="app.undo", word="undo", summary="Undo the last pause or resume, within 10 seconds",
        changes=True),
    Key(id="filter", keys="slash", action="app.filter", word="filter",
        summary="Filter lines by words. !word excludes, status:resting searches one column", foot=4),
    Key(id="sort", keys="s", action="sort", word="sort", summary="Sort by the next column (or click a title)", foot=6),
    Key(id="reverse", keys="S", action="reverse", word="reverse", summary="Reverse the sort order"),
    Key(id="problems", keys="f", action="problems", word="problems", summary="Show only problems", foot=5),
    Key(id="back", keys="escape", action="back", word="back", summary="Clear filter, sort order and marks"),
    Key(id="earlier", keys="left_square_bracket", action="app.step(-1)", word="earlier",
        summary="Previous snapshot ({ goes back an hour)"),
    Key(id="later", keys="right_square_bracket", action="app.step(1)", word="later",
        summary="Next snapshot (} goes forward an hour, Esc returns to now)"),
    Key(id="hour-earlier", keys="left_curly_bracket", action="app.leap(-1)", word="an hour earlier",
        summary="Go back an hour"),
    Key(id="hour-later", keys="right_curly_bracket", action="app.leap(1)", word="an hour later",
        summary="Go forward an hour"),
    Key(id="seek", keys="at", action="app.seek", word="go to time", summary="Go to a time: 14:02, yesterday 9:00, 3h"),
    Key(id="difference", keys="equals_sign", action="app.difference", word="difference",
        summary="Compare the time shown with now"),
    Key(id="replies", keys="5", action="app.replies", word="replies",
        summary="Replies to work on: claim, done, snooze, not interested, assign", foot=7),
    Key(id="everything", keys="0", action="app.all_workspaces", word="all workspaces",
        summary="All workspaces on one screen, worst first"),
    Key(id="next-workspace", keys="full_stop,ctrl+right", action="app.workspace(1)", word="next workspace",
        summary="Next workspace (, goes to the previous one)"),
    Key(id="previous-workspace", keys="comma,ctrl+left", action="app.workspace(-1)", word="previous workspace",
        summary="Previous workspace"),
    Key(id="refresh", keys="r", action="app.refresh", word="refresh", summary="Refresh everything now", foot=8),
    Key(id="wall", keys="w", action="app.wall", word="wall", summary="Wall mode: large text, rotating panels", foot=7),
    Key(id="seen", keys="a", action="app.acknowledge", word="acknowledge",
        summary="Acknowledge the alarm in the banner. It returns if it gets worse"),
    Key(id="alarms", keys="A", action="app.alarms", word="alarms",
        summary="All alarms, active and recovered. Enter opens one, a acknowledges it"),
    Key(id="incident", keys="i", action="app.incident", word="incident",
        summary="Every domain over time, with pauses, guardrails and lost replies: what happened, and when"),
    Key(id="theme", keys="t", action="app.theme", word="theme", summary="Switch theme: dark, light, high contrast"),
    Key(id="export", keys="e", action="app.export", word="export",
        summary="Export this view as CSV, text and SVG to the state folder"),
    Key(id="copy", keys="c", action="app.copy_line", word="copy", summary="Copy the selected line's id or email"),
    Key(id="help", keys="f1,question_mark", action="app.panel_help", word="help",
        summary="Help for this panel, and its keys", foot=10),
    Key(id="commands", keys="colon,ctrl+p", action="app.commands", word="commands",
        summary="Run any command (`help` lists them)", foot=1),
    Key(id="quit", keys="q,ctrl+c", action="app.quit", word="quit", summary="Quit", foot=11),
)  # fmt: skip


REPLAY = tuple(
    replace(key, foot=place, word=word)
    for place, (name, word) in enumerate(
        (("earlier", "earlier"), ("later", "later"), ("hour-earlier", "hour back"), ("hour-later", "hour forward"),
         ("seek", "go to time"), ("difference", "compare with now"), ("back", "now"), ("help", "help"), ("quit", "quit")), start=1)
    for key in BOARD if key.id == name
)  # fmt: skip
"""What the foot line says while another moment is looked at."""
PLOTTED = ("inbox", "domain", "sequence")
PAGE = (
    Key(id="back", keys="escape,backspace", action="back", word="back", summary="Back to the previous page", foot=1),
    Key(id="above", keys="o", action="above", word="up",
        summary="Up one level: from an inbox to its domain", foot=2, panels=("inbox",)),
    Key(id="hours", keys="1", action="range(0)", word="hours", summary="Plot 24 hours", foot=3, panels=PLOTTED),
    Key(id="days", keys="2", action="range(1)", word="days", summary="Plot 14 days", foot=4, panels=PLOTTED),
    Key(id="weeks", keys="3", action="range(2)", word="weeks", summary="Plot 12 weeks", foot=5, panels=PLOTTED),
    Key(id="metric", keys="m", action="metric", word="value", summary="Plot another value", foot=6,
        panels=("inbox", "sequence")),
    Key(id="read-left", keys="left", action="cursor(-1)", word="read values",
        summary="Move the cursor of the plot, which reads values and marks; or point with the mouse", foot=9, panels=PLOTTED),
    Key(id="read-right", keys="right", action="cursor(1)", word="read values", summary="The same to the right",
        panels=PLOTTED),
    Key(id="toggle", keys="p", action="app.pause_or_resume_shown", word="pause/resume",
        summary="Pause or resume this sequence, after confirmation", foot=7, panels=("sequence",), changes=True),
    Key(id="help", keys="f1,question_mark", action="app.page_help", word="help", summary="Help for pages", foot=8),
)  # fmt: skip
REPLIES = (
    Key(id="claim", keys="c", action="act('claim')", word="claim",
        summary="Claim the selected reply. If someone has it, you are asked before you take it over", foot=1, changes=True),
    Key(id="done", keys="d", action="act('done')", word="done", summary="Mark it done", foot=2, changes=True),
    Key(id="snooze", keys="z", action="act('snooze')", word="snooze",
        summary="Snooze it for a time or until a day. On a snoozed one: end its snooze", foot=3, changes=True),
    Key(id="dismiss", keys="n", action="act('dismiss')", word="not interested",
        summary="Close it as not interested, with a reason", foot=4, changes=True),
    Key(id="assign", keys="at", action="act('assign')", word="assign", summary="Assign it to a person by name", foot=5,
        changes=True),
    Key(id="release", keys="x", action="act('release')", word="release", summary="Release a claim", foot=6, changes=True),
    Key(id="undo", keys="u", action="undo", word="undo",
        summary="Undo your last claim, release, snooze, done or not interested", foot=7, changes=True),
    Key(id="copy", keys="y", action="copy", word="copy address", summary="Copy the lead's address", foot=10),
    Key(id="down", keys="J", action="scroll_words(1)", word="more", summary="Scroll the words of a long reply"),
    Key(id="up", keys="K", action="scroll_words(-1)", word="back", summary="Scroll them back"),
    Key(id="back", keys="escape,5", action="dismiss", word="back", summary="Back to the board", foot=8),
    Key(id="help", keys="f1,question_mark", action="app.help_of('replies')", word="help", summary="Help for this page", foot=9),
)  # fmt: skip
INCIDENT = (
    Key(id="back", keys="escape,backspace", action="back", word="back", summary="Back to the previous page", foot=1),
    Key(id="open", keys="enter", action="open", word="open", summary="Open the selected domain", foot=2),
    Key(id="up", keys="up,k", action="lane(-1)", word="up", summary="The lane above"),
    Key(id="down", keys="down,j", action="lane(1)", word="down", summary="The lane below"),
    Key(id="near", keys="1", action="range(0)", word="6 hours", summary="Show 6 hours", foot=3),
    Key(id="day", keys="2", action="range(1)", word="24 hours", summary="Show 24 hours", foot=4),
    Key(id="week", keys="3", action="range(2)", word="7 days", summary="Show 7 days", foot=5),
    Key(id="read-left", keys="left,h", action="cursor(-1)", word="read",
        summary="Move the cursor, which reads the selected lane; or point with the mouse", foot=6),
    Key(id="read-right", keys="right,l", action="cursor(1)", word="read", summary="The same to the right"),
    Key(id="export", keys="e", action="app.export", word="export", summary="Write a picture of it (SVG)", foot=7),
    Key(id="help", keys="f1,question_mark", action="app.help_of('incident')", word="help", summary="Help for this page", foot=8),
)  # fmt: skip
ALARMS = (
    Key(id="open", keys="enter", action="", word="open", summary="Open the domain, or the details of a failure", foot=1),
    Key(id="pause", keys="p", action="step('pause')", word="pause", changes=True, foot=2,
        summary="Pause the active sequences that used the alarm's domain, after confirmation"),
    Key(id="domain", keys="o", action="step('open')", word="open the domain", summary="Open the alarm's domain", foot=3),
    Key(id="incident", keys="i", action="incident", word="incident",
        summary="Every domain over time, from before the alarm began", foot=4),
    Key(id="acknowledge", keys="a", action="acknowledge", word="acknowledge", summary="Acknowledge the selected alarm", foot=4),
    Key(id="acknowledge-all", keys="A", action="acknowledge_all", word="acknowledge all", summary="Acknowledge all alarms", foot=5),
    Key(id="clear", keys="c", action="clear", word="clear recovered", summary="Remove the alarms that have recovered", foot=6),
    Key(id="guardrails", keys="G", action="step('guardrails')", word="guardrails", summary="The guardrails, for an alarm of one"),
    Key(id="refresh", keys="r", action="step('refresh')", word="refresh", summary="Read everything again, of an alarm of the service"),
    Key(id="back", keys="escape", action="dismiss", word="back", summary="Back to the board", foot=7),
    Key(id="help", keys="f1,question_mark", action="app.help_of('alarms')", word="help", summary="Help for this page", foot=8),
)  # fmt: skip
EVERYTHING = (
    Key(id="open", keys="enter", action="", word="open board", summary="Open the board of the workspace, or the page of the inbox", foot=1),
    Key(id="list", keys="tab", action="", word="switch list", summary="Workspaces, or the worst inboxes of all", foot=2),
    Key(id="sort", keys="s", action="sort", word="sort", summary="Sort by the next column (or click a title)", foot=3),
    Key(id="problems", keys="f", action="problems", word="problems", summary="Show only problems", foot=4),
    Key(id="wall", keys="w", action="wall", word="wall", summary="All workspaces on a wall", foot=5),
    Key(id="seen", keys="a", action="app.acknowledge", word="acknowledge", summary="Acknowledge the alarm in the banner"),
    Key(id="back", keys="escape,0", action="dismiss", word="back", summary="Back to the board", foot=6),
    Key(id="help", keys="f1,question_mark", action="app.help_of('everything')", word="help", summary="Help for this page", foot=7),
)  # fmt: skip
COMMON_IDS = (
    "seen",
    "alarms",
    "incident",
    "replies",
    "everything",
    "wall",
    "theme",
    "refresh",
    "commands",
    "quit",
)
"""Keys of the board that do the same on every page, unless the page has another use for them."""


def common(own: Sequence[Key]) -> tuple[Key, ...]:
    """The keys of the board that work beside those of a page."""
    taken = {one for key in own for one in key.keys.split(",")}
    return tuple(
        replace(key, foot=key.foot if key.id in ALWAYS else 0)
        for key in BOARD
        if key.id in COMMON_IDS and taken.isdisjoint(key.keys.split(","))
    )


def keys_of(panel: str, *, only_reads: bool = False) -> tuple[Key, ...]:
    """The keys of the board that do something in a panel."""
    return tuple(
        key for key in BOARD if (not key.panels or panel in key.panels) and not (only_reads and key.changes)
    )


def keys_of_page(kind: str, *, only_reads: bool = False) -> tuple[Key, ...]:
    """The keys that do something on a page of such a thing."""
    return tuple(
        key for key in PAGE if (not key.panels or kind in key.panels) and not (only_reads and key.changes)
    )


def bindings(keys: Sequence[Key] = BOARD, *, group: str = "board") -> list[Binding]:
    """The table as the framework wants it; `group` begins the names under which keys are remapped.

    Keys have priority: each is carried out before the next one is looked at
    (https://textual.textualize.io/guide/input/#priority-bindings). Another goes its way through the widgets first, and is
    lost if the key behind it opens a line or a page meanwhile.
    """
    return [
        Binding(key.keys, key.action, key.word, show=False, id=f"{group}.{key.id}", priority=True)
        for key in keys
        if key.action
    ]


ALWAYS = ("back", "help", "quit")
"""The ids of keys that the foot line shows on the smallest screen, at its end."""


class FootKey(NamedTuple):
    """A key in the foot line: what people read, and what a click presses."""

    label: str
    word: str
    key: str
    always: bool = False


def foot_of(keys: Sequence[Key], *, remapped: Mapping[str, str] | None = None) -> list[FootKey]:
    """The foot line: each key as it now is, with its word. `remapped` is the keys by id."""
    found = []
    last = {name: number for number, name in enumerate(ALWAYS, start=1)}
    for key in sorted((key for key in keys if key.foot), key=lambda key: (last.get(key.id, 0), key.foot)):
        pressed = (remapped or {}).get(key.id, key.keys)
        found.append(FootKey(key_label(pressed), key.word, pressed.split(",", maxsplit=1)[0], key.id in last))
    return found


def keys_by_group(keys: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """`undo` (the board's) and `page.hours` of `[dashboard.keys]`, by group and name."""
    groups: dict[str, dict[str, str]] = {}
    for name, key in keys.items():
        group, _, own = (name if "." in name else f"board.{name}").partition(".")
        groups.setdefault(group, {})[own] = key
    return groups


def unknown_key_warnings(names: Iterable[str], *, known: Collection[str]) -> list[str]:
    """Warnings about names in `[dashboard.keys]` that no key has; the board's names have no group."""
    import difflib  # late: only a mistake pays for it

    short = {name.removeprefix("board."): name for name in known}
    warnings = []
    for name in names:
        if name.removeprefix("board.") not in short:
            near = difflib.get_close_matches(name.lower(), short, n=1)
            hint = f"; did you mean {near[0]}?" if near else "; valid names are in docs/dashboard.md"
            warnings.append(f"[dashboard.keys] {visible(name)} isn't a key name{hint}")
    return warnings


AGE = "The title shows the data's age. After two intervals it is marked late and dimmed, after five stale and hatched."
RATES = (
    "1.1% ±0.4 means: the true rate is within 0.4 points, with 95% confidence. A small margin is left out. "
    "A dimmed rate is rough: its margin is a quarter of it or more, so don't compare by it."
)
SHOW_RATES = frozenset({"inboxes", "sequences"})
PANELS = {
    "inboxes": (
        "Inboxes",
        (
            "Worst first. ● is healthy, ▲ at risk, ◆ bad, ‖ can't send, ? unknown. Status: ● active, ◐ warming, ○ resting. "
            "Trend is health over the recorded history, from 40 to 100, in the color of its threshold. Sent and Reply rate cover 30 days."
        ),
    ),
    "sequences": (
        "Sequences",
        (
            "► is active, ‖ paused. A change shows as pausing… until the next read confirms it. "
            "Space marks several. p pauses or resumes them, u undoes it within 10 seconds."
        ),
    ),
    "domains": ("Domains", "Worst first: each domain's lowest health score, and its inboxes by status."),
    "changes": (
        "Changes",
        "Changes, newest first, with the time each was noticed. Enter opens what changed.",
    ),
}


def panel_help(name: str, *, remapped: Mapping[str, str] | None) -> Card:
    title, text = PANELS[name]
    texts = (text, RATES, AGE) if name in SHOW_RATES else (text, AGE)
    return Card(title=f"Help: {title}", text=texts, table=_key_table(BOARD, remapped or {}))


def page_help(*, remapped: Mapping[str, str] | None) -> Card:
    text = (
        "One domain, inbox, sequence, step or lead: its figures, its history, and its parts. "
        "Enter opens a part, Esc goes back. Click the path to jump. Dotted lines are the health thresholds."
        " Signs above the times of a plot are pauses (‖), resumed sequences (►), inboxes that rest (○) or send again (●)"
        " and guardrails (◆); the left and right keys read them."
    )
    return Card(title="Help: pages", text=(text,), table=_key_table(PAGE, remapped or {}))


PAGES = {
    "incident": (
        "Incident",
        (
            "One lane for each domain: healthy, warming, at risk, bad, resting (some inboxes) or paused (all). "
            "A cell shows the worst that was within it, and dots are times in which nothing was read. Signs below a lane are "
            "what happened. Domains in trouble come first, in the order in which it began."
        ),
        INCIDENT,
    ),
    "replies": (
        "Replies",
        (
            "Interested replies that aren't done: unclaimed first, the oldest first, then the snoozed and the claimed. What you do "
            "here is done in the name of your Slack user (slack_user under [dashboard]), with the permissions that it has in "
            "Slack. The card in Slack changes within a second, and so does this page when someone clicks there."
        ),
        REPLIES,
    ),
    "alarms": (
        "Alarms",
        (
            "Every alarm of the last day: unacknowledged ones first. Below the list is what to do about the selected one, with its "
            "keys. Which sequences used a domain, and how much bounced, is in the bot's database."
        ),
        ALARMS,
    ),
    "everything": (
        "All workspaces",
        "Each workspace with its verdict, figures and age, those with problems first; and the worst inboxes of all.",
        EVERYTHING,
    ),
}


def page_card(name: str, *, remapped: Mapping[str, str]) -> Card:
    """The help of a page that has keys of its own."""
    title, text, keys = PAGES[name]
    return Card(title=f"Help: {title}", text=(text,), table=_key_table(keys, remapped))


def _key_table(keys: Sequence[Key], remapped: Mapping[str, str]) -> Table:
    columns = (Column(title="Key"), Column(title="Does"))
    moves = (
        Row(cells=("arrows", "Move (also Page Up, Page Down, Home, End). Enter opens, Space marks")),
        Row(cells=("1, 2, 6, 7, tab, h l", "Go to a panel")),
    )
    rows = (Row(cells=(key_label(remapped.get(key.id, key.keys)), key.summary)) for key in keys)
    return Table(columns=columns, rows=(*(moves if keys is BOARD else ()), *rows))
