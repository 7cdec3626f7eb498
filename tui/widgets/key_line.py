"""The line of keys at the foot of a page."""

from __future__ import annotations

from tui.theme.palette import Ink
from tui.theme.words import Lines, Words
from tui.widgets.text import TextLine


class KeyLine(TextLine):
    """The keys of the page as they are now; a click presses one, and what would be refused isn't shown.

    The framework's Footer is a widget for each key: with it the first paint takes a quarter more processor time, and
    each key that was ever shown stays in memory (https://github.com/Textualize/textual/issues/6666).
    """

    DEFAULT_CSS = "KeyLine { dock: bottom; }"

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self._show())
        self._show()

    def on_resize(self) -> None:
        self._show()

    def _show(self) -> None:
        links: dict[str, Words] = {}
        room = self.app.size.width
        for active in self.screen.active_bindings.values():
            binding, action = active.binding, active.binding.action
            if binding.show and active.enabled and action not in links:
                key = self.app.get_key_display(binding)
                room -= len(key) + len(binding.description) + 2
                if room < -1:  # a key is shown whole, or not at all
                    break
                click = action if action.startswith("app.") else f"screen.{action}"
                pieces = ((key, Ink.ACCENT), (f" {binding.description} ", Ink.MUTED))
                links[action] = Words(pieces, action=click)
        self.set(Lines(tuple(links.values()), is_row=True))
