"""A page: one domain, inbox, sequence, step or lead, with its history and its parts.

Mounted once; opening a part or going back shows another subject in the same widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from rich.console import Group
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Static

from shared.domain.card import Card, Fact, Tone
from shared.domain.local_zone import local
from shared.text.sanitize import visible
from tui.model.input.keys import PAGE, Key, bindings, common, foot_of, keys_of_page
from tui.model.lists import layout
from tui.model.lists.columns import INBOXES
from tui.model.lists.lines import ChangeLine, Freshness, PageRef
from tui.model.pages import rich_card
from tui.model.pages.page_content import Metric, Page, above, name_of, page, page_ref_of, way
from tui.model.pages.page_status import PageStatus
from tui.model.workspace.board import Board
from tui.screens.headed import HeadedScreen
from tui.theme.palette import PALETTES, Glyphs, Ink, Piece, faded
from tui.theme.plotting import RANGES, Plot, Range, words_of
from tui.widgets.line_table import LineTable
from tui.widgets.panel import LinkLine, Panel, TextLine
from tui.widgets.plot import PlotArea
from tui.widgets.status_lines import Foot

LOOK_EVERY = timedelta(seconds=15)
"""Between two readings of what a page shows besides the board."""
RANGE_KEYS = ("hours", "days", "weeks")
GONE = Card(title="This no longer exists", tone=Tone.UNKNOWN, text=("The service no longer lists it.",))


class DetailScreen(HeadedScreen[None]):
    """Shows the last spot of its way."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings(PAGE, group="page"),
        *bindings(common(PAGE)),
        Binding("tab", "other_list", show=False, priority=True),
    ]

    HORIZONTAL_BREAKPOINTS = layout.WIDTHS

    @dataclass
    class DataNeeded(Message):
        """Another plot, or figures of today, are wanted for what is shown."""

        ref: PageRef

    def __init__(
        self,
        *,
        glyphs: Glyphs,
        remapped: Mapping[str, str],
        only_reads: bool,
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(glyphs=glyphs)
        self._glyphs = glyphs
        self._remapped = remapped
        self._only_reads = only_reads
        self._now = now
        self._trail: list[PageRef] = []
        self._board: Board | None = None
        self._changes: Sequence[ChangeLine] = ()
        self.page: Page | None = None
        self.summary_card: Card | None = None
        self._age = ""
        """How old the facts are, where they are stale."""
        self._facts: tuple[Fact, ...] = ()
        self._text: tuple[str, ...] = ()
        self._status: PageStatus | None = None
        self._metric = 0
        self._looked_at: datetime | None = None
        self.range: Range = RANGES[1]
        self.facts_text = Static("", id="facts")
        self.plot_head = TextLine(id="plot-head")
        self.plot = PlotArea(glyphs=glyphs)
        self.foot = Foot()
        self.panels = tuple(
            Panel(f"page-{n}", title="", columns=INBOXES, glyphs=glyphs, empty="") for n in (0, 1)
        )

    def compose(self) -> ComposeResult:
        yield self.head
        with Horizontal(id="page-top"):
            with VerticalScroll(id="page-facts", can_focus=False):
                yield self.facts_text
            with Vertical(id="page-plot"):
                yield self.plot_head
                yield self.plot
        with Horizontal(id="page-lists"):
            yield from self.panels
        yield self.foot

    def on_mount(self) -> None:
        self.panels[0].grid.focus()

    def on_resize(self) -> None:
        self.call_after_refresh(self._resized)

    def _resized(self) -> None:
        self._show_foot()
        self._fit_lists()
        self._look()

    @property
    def keys_here(self) -> Sequence[Key]:
        kind = self.ref.kind if self.ref else ""
        return (*keys_of_page(kind, only_reads=self._only_reads), *common(PAGE))

    def _show_foot(self) -> None:
        self.foot.show(foot_of(self.keys_here, remapped=self._remapped))

    # -- what is shown ---------------------------------------------------------------------------------

    @property
    def ref(self) -> PageRef | None:
        return self._trail[-1] if self._trail else None

    @property
    def _moment(self) -> datetime:
        """The time of what is shown: of now, or of the moment that is replayed."""
        return self._status.now if self._status and self._status.is_past else self._now()

    @property
    def metric(self) -> Metric | None:
        metrics = self.page.metrics if self.page else ()
        return metrics[self._metric % len(metrics)] if metrics else None

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(name_of(ref, board=self._board) for ref in self._trail)

    def open(self, ref: PageRef, *, board: Board, changes: Sequence[ChangeLine], status: PageStatus) -> None:
        if self not in self.app.screen_stack:  # someone has left it already
            return
        self._board, self._changes, self._status = board, changes, status
        self._trail = []
        self._go(ref)
        self.tick(status)

    def show(self, board: Board, *, changes: Sequence[ChangeLine], status: PageStatus) -> None:
        self._board, self._changes, self._status = board, changes, status
        self._rearrange()
        self.tick(status)
        if self._looked_at and status.now - self._looked_at >= LOOK_EVERY:
            self._look()

    def tick(self, status: PageStatus) -> None:
        self._status = status
        self.set_class(status.is_past, "-replay")
        super().tick(status)
        for panel in self.panels:
            panel.tick(status.now)
        self._show_summary()

    def show_plot(self, ref: PageRef, plot: Plot | None, *, empty: str = "") -> None:
        """The plot of what is shown; that of another page came too late."""
        if ref != self.ref:
            return
        self.plot.show(plot, empty=empty or f"No history for the last {self.range.name}.")
        self._show_plot_head()

    @on(PlotArea.CursorMoved)
    def _show_plot_head(self) -> None:
        """The name of the value, and what the cursor reads."""
        title = self.plot.plot.title if self.plot.plot else self.metric.title if self.metric else ""
        pieces: list[Piece] = [(f" {title.upper()} ", Ink.STRONG)]
        if (plot := self.plot.plot) and (reading := self.plot.reading):
            pieces.append((f" {words_of(plot, reading)} ", Ink.ACCENT))
            for mark in reading.marks:
                pieces.append((f" {mark.sign(self._glyphs)} ", mark.look.ink))
                pieces.append(
                    (f"{local(mark.at):%d %b %H:%M} {visible(mark.subject)} {visible(mark.text)} ", Ink.TEXT)
                )
        taken = sum(len(text) for text, _ in pieces)
        self.plot_head.set_text(pieces, self._ranges(self.plot_head.size.width - taken))

    def _ranges(self, room: int) -> list[Piece]:
        """The ranges by their keys, or the one that is shown where no more has room: the foot names the keys, too."""
        keys = [self._remapped.get(key.id, key.keys) for key in PAGE if key.id in RANGE_KEYS]
        named: list[Piece] = []
        for key, one in zip(keys, RANGES, strict=True):
            ink = Ink.STRONG if one is self.range else Ink.MUTED
            named += [(f" {key} ", Ink.ACCENT), (f"{one.name}  ", ink)]
        more: list[Piece] = [(" m ", Ink.ACCENT), ("another value ", Ink.MUTED)]
        has_more = self.page is not None and len(self.page.metrics) > 1
        for pieces in ([*named, *more] if has_more else named, named):
            if sum(len(text) for text, _ in pieces) <= room:
                return pieces
        return [(f"{self.range.name} ", Ink.MUTED)]

    def show_more(self, ref: PageRef, facts: tuple[Fact, ...], *, text: tuple[str, ...] = ()) -> None:
        """What was read for this page alone."""
        if ref == self.ref:
            self._facts, self._text = facts, text
            self._show_summary()

    def _go(self, ref: PageRef) -> None:
        self._trail = way(self._trail, ref, board=self._board) if self._board else [ref]
        self._arrive()

    def _arrive(self) -> None:
        self._facts, self._text, self._metric = (), (), 0
        self.plot.leave()
        self.plot.show(None, empty="Loading…")
        self._rearrange()
        self.set_focus(self.panels[0].grid)
        self._look()

    def _rearrange(self) -> None:
        if self._board is None or self.ref is None:
            return
        self.page = page(self.ref, board=self._board, changes=self._changes)
        if self._status:
            self.show_head(self._status, path=self.path)
        has_plot = bool(self.page and self.page.metrics)
        self.query_one("#page-plot").display = has_plot
        self.set_class(not has_plot, "-no-plot")
        self._show_foot()
        lists = self.page.lists if self.page else ()
        for number, panel in enumerate(self.panels):
            panel.display = number < len(lists)
            if number < len(lists):
                one = lists[number]
                panel.rename(one.title)
                panel.grid.exchange(one.columns)
                stamp = self._board.stamps.get(one.source)
                panel.show(one.lines, stamp=stamp, now=self._moment, aside=one.aside)
        self._fit_lists()
        self._show_summary()

    def _fit_lists(self) -> None:
        """Below a plot the lists get what they need, and without one all that is left."""
        lists = self.page.lists if self.page else ()
        longest = max((len(one.lines) for one in lists), default=0)
        height = layout.page_lists_height(longest, self.size.height)
        has_plot = self.page is not None and bool(self.page.metrics)
        self.query_one("#page-lists").styles.height = height if has_plot else "1fr"

    def _show_summary(self) -> None:
        card = self.page.card if self.page else GONE
        facts = (*card.facts, *self._facts)
        stamp = self._board.stamps.get(self.page.source) if self._board and self.page else None
        is_stale = stamp is not None and stamp.freshness(self._moment) >= Freshness.LATE
        age = f"{self._glyphs.warn} {stamp.words(self._moment)}" if stamp and is_stale else ""
        summary = replace(card, text=(*card.text, *self._text), facts=facts)
        if (summary, age) != (self.summary_card, self._age):
            self.summary_card, self._age = summary, age
            palette = PALETTES[self.app.theme]
            drawn = rich_card.render(summary, palette=faded(palette) if age else palette, glyphs=self._glyphs)
            self.facts_text.update(Group(Text(age, style=palette.warn), drawn) if age else drawn)

    def _look(self) -> None:
        if self.ref:
            self._looked_at = self._now()
            self.post_message(self.DataNeeded(self.ref))

    # -- keys ------------------------------------------------------------------------------------------

    @on(LineTable.Picked)
    def _picked(self, event: LineTable.Picked) -> None:
        event.stop()
        number = next((n for n, panel in enumerate(self.panels) if panel.grid is event.grid), 0)
        source = self.page.lists[number].source if self.page else ""
        ref = page_ref_of(event.line, grouping=source)
        if ref and ref != self.ref:
            self._go(ref)

    @on(LinkLine.Clicked, "#top")
    def _path_clicked(self, event: LinkLine.Clicked) -> None:
        if event.number == 0:
            self.dismiss(None)
        elif event.number < len(self._trail):
            del self._trail[event.number :]
            self._arrive()

    def action_back(self) -> None:
        del self._trail[-1:]
        if self._trail:
            self._arrive()
        else:
            self.dismiss(None)

    def action_above(self) -> None:
        ref = above(self.ref, board=self._board) if self.ref and self._board else None
        if ref:
            self._go(ref)

    def action_range(self, number: int) -> None:
        self.range = RANGES[number]
        self._look()

    def action_metric(self) -> None:
        self._metric += 1
        self._look()

    def action_cursor(self, by: int) -> None:
        self.plot.move(by)

    def action_other_list(self) -> None:
        second = self.panels[1]
        target = second if second.display and not second.grid.has_focus else self.panels[0]
        self.set_focus(target.grid)
