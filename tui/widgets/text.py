"""Texts that are painted again only when they differ."""

from __future__ import annotations

from rich.console import RenderableType
from textual.message import Message
from textual.widgets import Static

from tui.model.course import Course, draw
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.words import Lines, Words


class TextLine(ErrorBoundary, Static):
    """One line, or as many as were set."""

    DEFAULT_CSS = "TextLine { height: 1; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 # the framework's word
        super().__init__("", id=id, classes=classes)
        self._words: Words | Lines = Words()

    def set(self, words: Words | Lines) -> None:
        if words != self._words:
            has_other_height = isinstance(words, Lines) and not words.is_row
            self._words = words
            self.update(words, layout=has_other_height)


class CardText(ErrorBoundary, Static):
    """A card, drawn again when what it was made of differs."""

    DEFAULT_CSS = "CardText { height: auto; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 # the framework's word
        super().__init__("", id=id)
        self._made_of: object = None

    def set(self, made_of: object, drawn: RenderableType) -> bool:
        """Draw it, and return True, if `made_of` differs: what is drawn can't be compared."""
        differs = made_of != self._made_of
        if differs:
            self._made_of = made_of
            self.update(drawn)
            # Textual 8.2 keeps a height by this count, and doesn't count an update whose predecessor waits for its
            # layout, although that one may be measured by now: a line more would stay hidden (widget.py, `refresh`).
            self._layout_updates += 1
        return differs


class CourseText(ErrorBoundary, Static):
    """Health over time, as large as its place."""

    DEFAULT_CSS = "CourseText { height: 1fr; }"

    class Wanted(Message):
        """There is another width, so other points are needed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 # the framework's word
        super().__init__("", id=id)
        self.course: Course | None = None
        self._empty = "Loading…"

    def set(self, course: Course | None, *, empty: str) -> None:
        if (course, empty) != (self.course, self._empty):
            self.course, self._empty = course, empty
            self._draw()

    def on_resize(self) -> None:
        self._draw()
        self.post_message(self.Wanted())

    def _draw(self) -> None:
        if self.course is None or self.size.height < 2:
            self.update(Words.of(f"  {self._empty}"))
        else:
            self.update(
                Lines(draw(self.course, width=self.size.width, height=self.size.height)), layout=False
            )
