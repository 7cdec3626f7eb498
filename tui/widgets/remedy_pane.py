"""What to do about the chosen alarm: cause, numbers, and steps that a key or a click carries out."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Group
from rich.table import Table as Grid
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import Static

from shared.text.sanitize import visible
from tui.model.news.remedies import Act, Remedy
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import PALETTES, TONE_INK, Ink, Palette
from tui.widgets.panel import TextLine, WrappedText

KEYS: dict[Act, str] = {"pause": "p", "open": "o", "guardrails": "G", "refresh": "r"}
MOST_STEPS = 3


class StepLine(WrappedText):
    """One step, which can be clicked."""

    DEFAULT_CSS = "StepLine { padding: 0; max-height: 100%; }"

    @dataclass
    class Clicked(Message):
        """The step was clicked."""

        number: int

    def __init__(self, number: int) -> None:
        super().__init__(id=f"step-{number}")
        self._number = number

    def on_click(self) -> None:
        self.post_message(self.Clicked(self._number))


class RemedyPane(ErrorBoundary, VerticalScroll, can_focus=False):
    """Shows a remedy; tells which step was clicked."""

    DEFAULT_CSS = """
    RemedyPane { height: auto; max-height: 65%; background: $o-panel; padding: 0 1; }
    RemedyPane Static { height: auto; }
    """

    class Chosen(Message):
        """A step was clicked."""

        def __init__(self, act: Act) -> None:
            super().__init__()
            self.act = act

    def __init__(self) -> None:
        super().__init__(id="remedy")
        self.title = TextLine()
        self.facts = Static("")
        self.steps = tuple(StepLine(number) for number in range(MOST_STEPS))
        self.remedy: Remedy | None = None

    def compose(self) -> ComposeResult:
        yield self.title
        yield self.facts
        yield from self.steps

    def show(self, remedy: Remedy | None) -> None:
        self.display = remedy is not None
        if remedy is None or remedy == self.remedy:
            return
        self.remedy = remedy
        palette = PALETTES[self.app.theme]
        self.title.set_text([("WHAT TO DO", Ink.STRONG)])
        self.facts.update(_drawn(remedy, palette))
        for number, line in enumerate(self.steps):
            line.display = number < len(remedy.steps)
            if line.display:
                step = remedy.steps[number]
                line.set_lines([[(f"{KEYS[step.act]}  ", Ink.ACCENT), (visible(step.text), Ink.TEXT)]])

    def on_step_line_clicked(self, event: StepLine.Clicked) -> None:
        event.stop()
        if self.remedy and event.number < len(self.remedy.steps):
            self.post_message(self.Chosen(self.remedy.steps[event.number].act))


def _drawn(remedy: Remedy, palette: Palette) -> Group:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for label, value, tone in remedy.facts:
        ink = Ink.TEXT if TONE_INK[tone] is Ink.MUTED else TONE_INK[tone]
        grid.add_row(Text(label, style=palette.muted), Text(visible(value), style=palette.ink(ink)))
    return Group(grid)
