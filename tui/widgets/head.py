"""The first lines of every page: where you are, how old it is and the time; then the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical

from shared.domain.card import Tone
from shared.domain.local_zone import local
from shared.text.formats import show_number
from shared.text.sanitize import visible
from tui.model.frame import Frame
from tui.theme.error_boundary import ErrorBoundary
from tui.theme.palette import SEEN, SIGNS, TONE_INK, Ink
from tui.theme.words import Lines, Piece, Words, clock, fit, width_of
from tui.widgets.text import TextLine


def silence(frame: Frame) -> list[Piece]:
    """Say for how long the service wants silence."""
    budget = frame.snapshot.budget
    wait = ((budget and budget.resumes_at) or 0) - frame.now.timestamp()
    return [(f"{SIGNS[Tone.WARN]} 429: paused for {wait:.0f} s  ", Ink.WARN)] if wait > 0 else []


class Head(ErrorBoundary, Vertical):
    """Painted from the frame alone; a click on a part of the path goes there."""

    DEFAULT_CSS = """
    Head { height: auto; }
    Head #verdict { padding: 0 1; background: $o-panel; }
    Head #verdict.-alarm { background: $o-alarm; }
    Head #verdict.-caution { background: $o-caution; }
    Head #notice { display: none; background: $o-caution; padding: 0 1; }
    Head #notice.-on { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.top = TextLine(id="top")
        self.verdict = TextLine(id="verdict")
        self.notice = TextLine(id="notice")

    def compose(self) -> ComposeResult:
        yield self.top
        yield self.verdict
        yield self.notice

    def show(self, frame: Frame, path: Sequence[str], *, key: str) -> None:
        """Show another frame; `key` acknowledges."""
        self._show_top(frame, path)
        self._show_verdict(frame, key)
        self.notice.set_class(bool(frame.notices), "-on")
        if frame.notices:
            more = f"  (and {len(frame.notices) - 1} more)" if len(frame.notices) > 1 else ""
            text = visible(frame.notices[0]) + more
            self.notice.set(Words(((text, Ink.STRONG), (f"  {key}: dismiss", Ink.MUTED))))

    def _show_top(self, frame: Frame, path: Sequence[str]) -> None:
        width = self.app.size.width
        time: Piece = (local(frame.now).strftime("%H:%M:%S %Z "), Ink.TEXT)
        mode: list[Piece] = [(f"  {frame.mode}", Ink.WARN)] if frame.mode else []
        for right in ([*silence(frame), time], [time]):
            links = self._path([frame.workspace, *path], width - width_of([*mode, *right]) - 1)
            left = [piece for link in links for piece in link.pieces]
            gap = width - width_of([*left, *mode, *right])
            if gap > 0:
                break
        if gap < 1:
            mode, gap = fit(mode, width - width_of([*left, *right]) - 1), 1
        end = Words((*mode, (" " * gap, Ink.TEXT), *right))
        self.top.set(Lines((*links, end), is_row=True))

    def _path(self, names: Sequence[str], room: int) -> list[Words]:
        """A link for each name; where they don't fit, those in the middle are left out."""
        links = [Words(((f" {visible(names[0])}", Ink.STRONG),), action=f"app.climb({len(names) - 1})")]
        for number, name in enumerate(names[1:], start=1):
            pieces: tuple[Piece, ...] = ((" › ", Ink.MUTED), (visible(name), Ink.ACCENT))
            links.append(Words(pieces, action=f"app.climb({len(names) - 1 - number})"))
        while len(links) > 2 and sum(width_of(link.pieces) for link in links) > room:
            del links[1]
        return links

    def _show_verdict(self, frame: Frame, key: str) -> None:
        headline, room = frame.headline, self.app.size.width - 5
        ink = Ink.MUTED if headline.is_stale else TONE_INK[headline.tone]
        hint = _alarm_hint(frame, key)
        fitted = headline.fitted(room - width_of(hint) - bool(hint))
        if hint and fitted.weight < headline.weight:
            # Why and since when come before a key that the help has too.
            hint = [(hint[0][0].partition("  ")[0], hint[0][1])]
            fitted = headline.fitted(room - width_of(hint) - 1)
        text = fitted.text
        self.verdict.set_class(frame.new_alarms > 0, "-alarm")
        self.verdict.set_class(headline.tone is Tone.BAD and not frame.new_alarms, "-caution")
        gap: Piece = (" " * max(2, room + 1 - len(text) - width_of(hint)) if hint else "", Ink.TEXT)
        said = Words(((f"{SIGNS[headline.tone]} ", ink), (text, ink if headline.is_stale else Ink.STRONG)))
        self.verdict.set(Lines((said, Words((gap, *hint), action="screen.acknowledge")), is_row=True))


def _alarm_hint(frame: Frame, key: str) -> list[Piece]:
    """The key that acknowledges what is new; once that is done, when it was."""
    if new := frame.new_alarms:
        return [(f"{show_number(new, 'alarm')}  {key}: acknowledge", Ink.TEXT)]
    times = [alarm.acknowledged_at for alarm in frame.alarms if alarm.acknowledged_at]
    if not times:
        return []
    return [(f"{SEEN} acknowledged {clock(max(times), now=frame.now)}", Ink.MUTED)]
