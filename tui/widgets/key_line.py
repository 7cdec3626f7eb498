"""The line of keys: the framework's, without the bindings of data that keep its removed parts in memory."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.widgets import Footer
from textual.widgets._footer import FooterKey


class KeyLine(Footer):
    """The keys of the page as they are now; a click presses one, and what would be refused isn't shown.

    The framework's own binds each key to the footer's state, which keeps every key that was ever shown
    (https://github.com/Textualize/textual/issues/6666): 9,000 blocks of memory a day on a wall that is looked at once.
    """

    def on_resize(self) -> None:
        self.refresh(recompose=True)

    def compose(self) -> ComposeResult:
        named: set[str] = set()
        room = self.app.size.width
        for _, binding, enabled, tooltip in self.screen.active_bindings.values():
            if binding.show and enabled and binding.action not in named:
                named.add(binding.action)
                label = self.app.get_key_display(binding)
                room -= len(label) + len(binding.description) + 2
                if room < -1:  # a key is shown whole, or not at all
                    return
                yield FooterKey(
                    binding.key,
                    label,
                    binding.description,
                    binding.action,
                    tooltip=tooltip,
                    classes="-compact",
                )
