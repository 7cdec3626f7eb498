"""The wall: what can't send and why, read from three meters; the whole picture moves by a cell against burning in."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Digits

from shared.domain.card import Tone
from shared.text.sanitize import visible
from tui.model.frame import DOMAINS, DomainLine, Frame
from tui.model.lines import Freshness
from tui.screens.base import Page, panel_of
from tui.theme.palette import SIGNS, STOPPED, TONE_INK, Ink
from tui.theme.words import Lines, Piece, Words
from tui.widgets.figlet import big
from tui.widgets.table import Panel
from tui.widgets.text import TextLine

SHIFT_EVERY = timedelta(minutes=10)
"""The time between movements of the whole picture."""
KINDS = (
    ("healthy", SIGNS[Tone.GOOD], Ink.GOOD),
    ("at_risk", SIGNS[Tone.WARN], Ink.WARN),
    ("bad", SIGNS[Tone.BAD], Ink.BAD),
    ("resting", STOPPED, Ink.STOPPED),
    ("unknown", SIGNS[Tone.UNKNOWN], Ink.UNKNOWN),
)


def burn_in_shift(since: timedelta) -> tuple[int, int]:
    """The cells to the right and down; a clock that was put back moves nothing."""
    return ((0, 0), (1, 0), (1, 1), (0, 1))[max(0, since // SHIFT_EVERY) % 4]


class HealthNumber(Vertical):
    """The number of inboxes of one kind: sign, word and numeral."""

    DEFAULT_CSS = (
        "HealthNumber { width: 1fr; height: auto; padding: 0 1; } HealthNumber Digits { width: auto; }"
    )

    def __init__(self, kind: str, sign: str, ink: Ink) -> None:
        super().__init__(classes=f"-{kind}")
        self._kind, self._sign, self._ink = kind, sign, ink
        self.label = TextLine()
        self.digits = Digits("")

    def compose(self) -> Iterable[Widget]:
        yield self.label
        yield self.digits

    def show(self, frame: Frame, *, is_large: bool) -> None:
        count = frame.board.verdict.counts[self._kind]
        is_known = frame.freshness("inboxes") is not Freshness.NEVER
        text = f"{count:,}" if is_known else "–"
        self.display = self._kind != "unknown" or bool(count)
        word = self._kind.replace("_", " ").upper()
        number: Piece = ("" if is_large else f" {text}", self._ink)
        self.label.set(Words(((f"{self._sign} ", self._ink), (word, Ink.STRONG), number)))
        self.digits.display = is_large
        if self.digits.value != text:
            self.digits.update(text)


class WallPage(Page):
    """The page for people who pass by: the domain that can't send and its cause are the largest; `a` acknowledges."""

    name_in_path = "Wall"

    def __init__(self, *, began: datetime) -> None:
        super().__init__()
        self._began = began

    def parts(self) -> Iterable[Widget]:
        self.place = Vertical(id="wall")
        self.trouble = TextLine(id="trouble")
        self.numbers = [HealthNumber(*kind) for kind in KINDS]
        self.figures = TextLine(id="numbers")
        self.domains = Panel(
            "wall-domains", title="Domains", columns=DOMAINS, empty="No inboxes are connected."
        )
        with self.place:
            yield self.trouble
            with Widget(id="wall-numbers") as row:
                row.styles.layout = "horizontal"
                yield from self.numbers
            yield self.figures
            yield self.domains

    def on_mount(self) -> None:
        self.domains.table.can_focus = False

    def show(self, frame: Frame) -> None:
        width, height = self.size
        lines = self._trouble(frame, width=width - 4, height=height // 2)
        self.trouble.set(Lines(lines))
        self.trouble.styles.height = len(lines)
        self.trouble.display = bool(lines)
        # On a small screen the trouble stands alone: numbers would push it out.
        is_small = width < 60 or height < 20
        is_large = height >= 30 and width >= 100
        for number in self.numbers:
            number.show(frame, is_large=is_large)
        self.query_one("#wall-numbers").display = not is_small
        self.figures.display = self.domains.display = not is_small
        self.figures.set(frame.figures(width - 2))
        self.domains.show(frame.domain_lines, **panel_of("inboxes", frame))
        right, down = burn_in_shift(frame.now - self._began)
        self.place.styles.padding = (down, 0, 0, right)

    def _trouble(self, frame: Frame, *, width: int, height: int) -> tuple[Words, ...]:
        """The worst trouble in the largest letters that fit: the domain, then its cause; the others by name."""
        if frame.service:
            return _block(frame.service.text, frame.lasting(frame.service), width=width, height=height)
        stopped = [line for line in frame.domain_lines if line.domain.resting]
        if not stopped:
            return ()
        first, *others = stopped
        names = ", ".join(line.key for line in others)
        also = f"also {visible(names)}" if names else ""
        return _block(first.key, _why(first), width=width, height=height, also=also)


def _why(line: DomainLine) -> str:
    since = f"since {line.since}" if line.since else ""
    return " · ".join(filter(None, (line.state, line.cause, since)))


def _block(name: str, why: str, *, width: int, height: int, also: str = "") -> tuple[Words, ...]:
    large = big(visible(name), width=width, height=max(1, height - 4))
    cause = (
        big(visible(why), width=width, height=max(1, height - len(large) - 2))
        if len(large) > 1
        else [visible(why)]
    )
    lines: list[Piece] = [(f" {text}", Ink.STRONG) for text in large]
    lines += [(f" {text}", TONE_INK[Tone.WARN]) for text in cause]
    lines += [(f" {also}", Ink.TEXT)] if also else []
    return tuple(Words((piece,)) for piece in lines)
