"""The list of alarms: active since when, recovered, acknowledged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message

from shared.domain.card import Card, Fact, Tone
from shared.domain.workspace_verdict import DOMAIN_KINDS
from shared.text.formats import show_count, show_exact_span
from shared.text.sanitize import visible
from tui.feed.workspace_state import WorkspaceState
from tui.model.alarms import Alarm
from tui.model.columns import Column
from tui.model.lines import PageRef, Stamp
from tui.model.page_status import PageStatus
from tui.screens.headed import HeadedScreen
from tui.theme import formatting
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece
from tui.widgets.line_table import LineTable
from tui.widgets.panel import Panel
from tui.widgets.status_lines import Foot

KEYS = (("enter", "open"), ("a", "acknowledge"), ("esc", "back"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmLine:
    """An alarm of a workspace at a given time."""

    state: WorkspaceState
    alarm: Alarm
    now: datetime

    @property
    def key(self) -> str:
        return f"{self.state.workspace} {self.alarm.key}"

    @property
    def tone(self) -> Tone:
        return self.alarm.tone

    @property
    def words(self) -> str:
        return f"{self.state.workspace} {self.alarm.words}"


def _sign(line: AlarmLine, _: int, glyphs: Glyphs) -> Sequence[Piece]:
    return ((glyphs.bad if line.alarm.is_on else glyphs.good, TONE_INK[line.tone]),)


def _state(line: AlarmLine, _: int, __: Glyphs) -> Sequence[Piece]:
    recovered = line.alarm.recovered_at
    if recovered is None:
        return (("on", Ink.BAD),)
    return ((f"recovered {formatting.moment(recovered, now=line.now)}", Ink.GOOD),)


def _what(line: AlarmLine, _: int, __: Glyphs) -> Sequence[Piece]:
    return ((visible(line.alarm.text), Ink.STRONG if line.alarm.is_on else Ink.MUTED),)


def _where(line: AlarmLine, _: int, __: Glyphs) -> Sequence[Piece]:
    return ((visible(line.alarm.where or "service"), Ink.TEXT),)


def _since(line: AlarmLine, _: int, __: Glyphs) -> Sequence[Piece]:
    """`04:12  20 min`; of one that has recovered, from when until when."""
    ended = line.alarm.recovered_at or line.now
    lasting = show_exact_span(max(ended - line.alarm.text_since, ended - ended))
    known = "" if line.alarm.since_words(line.now).startswith("before") else f"  {lasting}"
    until = line.alarm.recovered_at
    words = f" to {formatting.moment(until, now=line.now)}" if until else known
    return ((line.alarm.since_words(line.now), Ink.TEXT), (words, Ink.MUTED))


def _acknowledged(line: AlarmLine, _: int, __: Glyphs) -> Sequence[Piece]:
    at = line.alarm.acknowledged_at
    return ((formatting.moment(at, now=line.now) if at else "not yet", Ink.MUTED if at else Ink.WARN),)


COLUMNS = (
    Column("", 1, _sign),
    Column("State", 15, _state, rank=3, sort=lambda x: x.alarm.is_on),
    Column("Workspace", 14, lambda x, _, __: ((visible(x.state.workspace), Ink.ACCENT),), rank=1),
    Column("Where", 22, _where, least=14, sort=lambda x: x.alarm.where),
    Column("What", 30, _what, least=24, grow=1),
    Column("Since", 20, _since, least=12, sort=lambda x: x.alarm.text_since),
    Column("Acknowledged", 12, _acknowledged, rank=2, sort=lambda x: x.alarm.is_new),
)
"""The sign tells what still is so, and its time when it ended: the state is left out first."""


UNREAD = Stamp(interval=0)


class AlarmsScreen(HeadedScreen[None]):
    """Every alarm of the last day; unacknowledged ones first."""

    is_always_live: ClassVar[bool] = True
    path = ("Alarms",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,A", "dismiss", show=False, id="alarms.back"),
        Binding("a", "acknowledge", show=False, id="alarms.acknowledge"),
    ]

    @dataclass
    class Opened(Message):
        """An alarm was opened: show its domain's page, or the details of the service's failure."""

        state: WorkspaceState
        alarm: Alarm
        ref: PageRef | None

    def __init__(self, *, glyphs: Glyphs, now: Callable[[], datetime]) -> None:
        super().__init__(glyphs=glyphs)
        self._now = now
        self._states: Sequence[WorkspaceState] = ()
        self.foot = Foot()
        self.panel = Panel(
            "alarms", title="Alarms", columns=COLUMNS, glyphs=glyphs, empty="No alarms in the last 24 hours."
        )

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.panel
        yield self.foot

    def on_mount(self) -> None:
        self.panel.grid.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.foot.show(KEYS))

    def show(self, states: Sequence[WorkspaceState], *, status: PageStatus) -> None:
        self.tick(status)
        self._list(states, now=status.now)

    def _list(self, states: Sequence[WorkspaceState], *, now: datetime) -> None:
        self._states = states
        lines = [AlarmLine(state=state, alarm=alarm, now=now) for state in states for alarm in state.alarms]
        lines.sort(key=lambda line: line.alarm.rank)
        stamps = [state.board.stamps["inboxes"] if state.board else UNREAD for state in states]
        unread = next((stamp for stamp in stamps if stamp.read_at is None), None)
        self.panel.show(lines, stamp=unread, now=now)

    def action_acknowledge(self) -> None:
        line = self.panel.grid.line
        if isinstance(line, AlarmLine):
            line.state.acknowledge(line.alarm.key, now=self._now())
            self._list(self._states, now=self._now())

    @on(LineTable.Picked)
    def _picked(self, event: LineTable.Picked) -> None:
        event.stop()
        line = event.line
        assert isinstance(line, AlarmLine)
        is_page = line.alarm.kind in DOMAIN_KINDS
        ref = PageRef(kind="domain", key=line.alarm.where) if is_page else None
        if ref:
            self.dismiss(None)
        self.app.post_message(self.Opened(line.state, line.alarm, ref))


def alarm_card(alarm: Alarm, *, now: datetime) -> Card:
    """All that is known of an alarm that has no page."""
    recovered = alarm.recovered_at and formatting.moment(alarm.recovered_at, now=now)
    seen = alarm.acknowledged_at and formatting.moment(alarm.acknowledged_at, now=now)
    facts = (
        Fact(label="Since", value=alarm.since_words(now)),
        Fact(label="State", value=f"recovered {recovered}" if recovered else "active", tone=alarm.tone),
        Fact(label="Acknowledged", value=seen or "not yet"),
        *((Fact(label="Inboxes", value=show_count(alarm.extent)),) if alarm.extent else ()),
    )
    return Card(title=alarm.where or "The service", tone=alarm.tone, text=(alarm.text,), facts=facts)
