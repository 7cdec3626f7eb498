"""The board: verdict, numbers, domains, and what belongs to the one under the cursor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from textual import on
from textual.containers import Container, VerticalScroll
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from tui.model.columns import INBOXES
from tui.model.facts import domain_card, service_facts
from tui.model.frame import DOMAINS, Frame
from tui.model.lines import PageRef
from tui.model.rich_card import facts_grid, render
from tui.screens.base import Page, panel_of
from tui.widgets.lanes import LanePanel
from tui.widgets.table import ListTable, Panel
from tui.widgets.text import CardText, TextLine

ROOMY = 30
"""Lines of a screen from which on the card says its name, which the title of the inboxes says too."""
MOST_INBOXES = 200
"""Inboxes that are listed of the domain under the cursor; its page has all."""


class BoardPage(Page):
    """Enter goes down to the domain; while the past is shown, lanes below the domains tell where in time it is."""

    can_pause = True

    def __init__(self) -> None:
        super().__init__()
        self.numbers = TextLine(id="numbers")
        self.domains = Panel("domains", title="Domains", columns=DOMAINS, empty="No inboxes are connected.")
        self.inboxes = Panel("inboxes", title="Inboxes", columns=INBOXES, empty="No domain is selected.")
        self.card = CardText(id="why")
        self.scrubber = LanePanel("scrubber", title="What happened")
        self.below = ContentSwitcher(initial="context", id="below")

    def parts(self) -> Iterable[Widget]:
        yield self.numbers
        yield self.domains
        with self.below:
            with Container(id="context"):
                with VerticalScroll(id="why-scroll", can_focus=False):
                    yield self.card
                yield self.inboxes
            yield self.scrubber

    def on_mount(self) -> None:
        self.scrubber.table.can_focus = False

    @property
    def domain(self) -> str:
        line = self.domains.table.line
        return line.key if line else ""

    def show(self, frame: Frame) -> None:
        self.numbers.set(frame.figures(self.size.width - 2))
        self.domains.show(frame.domain_lines, **panel_of("inboxes", frame))
        self.below.current = "panel-scrubber" if frame.is_past else "context"
        if frame.is_past and (incident := self.incident):
            # The moment that is shown may lie before all that the lanes know.
            start = min(incident.start, frame.now)
            self.scrubber.draw(replace(incident, start=start), cursor=frame.now)
        line = frame.domain(self.domain)
        self.inboxes.title = f"Inboxes of {line.key}" if line else "Inboxes"
        lines = frame.inboxes_of(line.key)[:MOST_INBOXES] if line else ()
        self.inboxes.show(lines, freshness=frame.freshness("inboxes"), is_lit=frame.is_past)
        self._show_card(frame)

    def _show_card(self, frame: Frame) -> None:
        """Say why the domain stands so, and what to do; where the service can't be read, that alone."""
        if frame.service:
            facts = service_facts(frame.service, frame=frame)
            self.card.set(facts, facts_grid(facts))
        elif line := frame.domain(self.domain):
            read = self.app.read_of(PageRef(kind="domain", key=line.key))
            card = domain_card(frame, line, read, is_brief=True)
            has_title = self.size.height >= ROOMY
            self.card.set((card, has_title), render(card, has_title=has_title))
        else:
            self.card.set((), "")

    @on(ListTable.Picked)
    def _picked(self, event: ListTable.Picked) -> None:
        kind = "domain" if event.table is self.domains.table else "inbox"
        self.app.go(PageRef(kind=kind, key=event.line.key))
