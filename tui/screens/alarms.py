"""The list of alarms: active since when, recovered, acknowledged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message

from shared.api.models import Sequence as SequenceModel
from shared.domain.card import Card, Fact, Tone
from shared.domain.workspace_verdict import DOMAIN_KINDS
from shared.records.domains import DomainPast
from shared.text.formats import show_count, show_exact_span
from shared.text.sanitize import visible
from tui.feed.workspace_state import Feed, WorkspaceState
from tui.model.input.keys import ALARMS, bindings, common, foot_of
from tui.model.lists.columns import SIGN, Column
from tui.model.lists.lines import PageRef, Stamp
from tui.model.news.alarms import Alarm
from tui.model.news.remedies import Act, remedy_of
from tui.model.pages.page_status import PageStatus
from tui.screens.headed import HeadedScreen
from tui.theme import formatting
from tui.theme.palette import TONE_INK, Glyphs, Ink, Piece
from tui.widgets.line_table import LineTable
from tui.widgets.panel import Panel
from tui.widgets.remedy_pane import RemedyPane
from tui.widgets.status_lines import Foot


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
    if line.alarm.is_on:
        return ((visible(line.alarm.text), Ink.STRONG),)
    return ((visible(line.alarm.worst or line.alarm.text), Ink.MUTED),)


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
    Column(SIGN, "", 1, _sign),
    Column("state", "State", 15, _state, rank=3, sort=lambda x: x.alarm.is_on),
    Column(
        "workspace", "Workspace", 14, lambda x, _, __: ((visible(x.state.workspace), Ink.ACCENT),), rank=1
    ),
    Column("where", "Where", 22, _where, least=14, sort=lambda x: x.alarm.where),
    Column("what", "What", 30, _what, least=24, grow=1),
    Column("since", "Since", 20, _since, least=12, sort=lambda x: x.alarm.text_since),
    Column("acknowledged", "Acknowledged", 12, _acknowledged, rank=2, sort=lambda x: x.alarm.is_new),
)
"""The sign tells what still is so, and its time when it ended: the state is left out first."""


UNREAD = Stamp(interval=0)
AGAIN = 2.0
"""Seconds until the bot's records are asked again about a domain."""


class AlarmsScreen(HeadedScreen[None]):
    """Every alarm of the last day; active ones first. What is acknowledged keeps its place."""

    is_always_live: ClassVar[bool] = True
    path = ("Alarms",)
    keys = ALARMS
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(ALARMS, group="alarms"),
        *bindings(common(ALARMS)),
    ]

    @dataclass
    class Opened(Message):
        """An alarm was opened: show its domain's page, or the details of the service's failure."""

        state: WorkspaceState
        alarm: Alarm
        ref: PageRef | None

    @dataclass
    class PauseAsked(Message):
        """These sequences are to be paused, after confirmation."""

        state: WorkspaceState
        sequences: Sequence[SequenceModel]

    @dataclass
    class GuardrailsAsked(Message):
        """The guardrails of a workspace are to be shown."""

        state: WorkspaceState

    @dataclass
    class IncidentWanted(Message):
        """Show all domains over the time of an alarm."""

        state: WorkspaceState
        alarm: Alarm

    def __init__(
        self, states: Sequence[WorkspaceState], *, glyphs: Glyphs, now: Callable[[], datetime]
    ) -> None:
        super().__init__(glyphs=glyphs)
        self.remedy = RemedyPane()
        self._pasts: dict[str, DomainPast] = {}
        self._reading: set[str] = set()
        self._now = now
        self._states = states
        self.foot = Foot()
        self.panel = Panel(
            "alarms", title="Alarms", columns=COLUMNS, glyphs=glyphs, empty="No alarms in the last 24 hours."
        )

    def compose(self) -> ComposeResult:
        yield self.head
        yield self.panel
        yield self.remedy
        yield self.foot

    def on_mount(self) -> None:
        self.panel.grid.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(lambda: self.foot.show(foot_of(self.keys_here)))

    def tick(self, status: PageStatus) -> None:
        super().tick(status)
        self._list(now=status.now)

    def _list(self, *, now: datetime) -> None:
        lines = [
            AlarmLine(state=state, alarm=alarm, now=now) for state in self._states for alarm in state.alarms
        ]
        lines.sort(key=lambda line: line.alarm.place)
        active = sum(line.alarm.is_on for line in lines)
        recovered = f"{len(lines) - active} recovered" if active < len(lines) else ""
        stamps = [state.board.stamps["inboxes"] if state.board else UNREAD for state in self._states]
        unread = next((stamp for stamp in stamps if stamp.read_at is None), None)
        self.panel.show(lines, stamp=unread, now=now, aside=recovered, count=active)
        self._show_remedy()

    @property
    def line(self) -> AlarmLine | None:
        line = self.panel.grid.line
        return line if isinstance(line, AlarmLine) else None

    def _show_remedy(self) -> None:
        """What to do about the chosen alarm; what the bot recorded of its domain is read once it is chosen."""
        line = self.line
        if line is None:
            self.remedy.show(None)
            return
        is_known = line.key in self._pasts or line.key in self._reading
        if not is_known and line.alarm.kind in DOMAIN_KINDS and line.state.feed:
            self._reading.add(line.key)
            self.run_worker(
                self._read_past(line, line.state.feed), group="past", exclusive=False, exit_on_error=False
            )
        past = self._pasts.get(line.key)
        self.remedy.show(remedy_of(line.alarm, board=line.state.board, past=past, now=self._now()))

    async def _read_past(self, line: AlarmLine, feed: Feed) -> None:
        past = await feed.domain_past(line.alarm.where)
        if past is not None:
            self._pasts[line.key] = past
            self._show_remedy()
        else:  # the records may not be open yet
            await asyncio.sleep(AGAIN)
        self._reading.discard(line.key)

    @on(LineTable.Moved)
    @on(LineTable.Arranged)
    def _chosen(self, event: LineTable.Moved | LineTable.Arranged) -> None:
        event.stop()
        self.panel.tick(self._now())
        self._show_remedy()

    @on(RemedyPane.Chosen)
    def _step_clicked(self, event: RemedyPane.Chosen) -> None:
        self.action_step(event.act)

    def action_step(self, act: Act) -> None:
        """Carry a step out, if it is one of the chosen alarm's."""
        line, remedy = self.line, self.remedy.remedy
        if line is None or remedy is None or act not in {step.act for step in remedy.steps}:
            self.app.notify("That doesn't apply to this alarm.", severity="warning")
        elif act == "open":
            self._open(line)
        elif act == "pause":
            self.post_message(self.PauseAsked(line.state, remedy.sequences))
        elif act == "guardrails":
            self.post_message(self.GuardrailsAsked(line.state))
        elif line.state.feed:
            line.state.feed.read_now()
            self.app.notify("Everything is read again now.", timeout=3)

    def action_acknowledge_all(self) -> None:
        for state in self._states:
            state.acknowledge_all(now=self._now())
        self._list(now=self._now())

    def action_clear(self) -> None:
        for state in self._states:
            state.clear_recovered()
        self._list(now=self._now())

    def action_acknowledge(self) -> None:
        line = self.panel.grid.line
        if isinstance(line, AlarmLine):
            line.state.acknowledge(line.alarm.key, now=self._now())
            self._list(now=self._now())

    def action_incident(self) -> None:
        line = self.panel.grid.line
        if isinstance(line, AlarmLine):
            self.dismiss(None)
            self.app.post_message(self.IncidentWanted(line.state, line.alarm))

    @on(LineTable.Picked)
    def _picked(self, event: LineTable.Picked) -> None:
        event.stop()
        assert isinstance(event.line, AlarmLine)
        self._open(event.line)

    def _open(self, line: AlarmLine) -> None:
        domains = {one.domain for one in line.state.board.domains} if line.state.board else set()
        is_page = line.alarm.kind in DOMAIN_KINDS or line.alarm.where in domains
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
