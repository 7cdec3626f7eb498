"""Pages and dialogs that start with the same lines: path, clock, verdict, alarm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.message import Message
from textual.screen import ScreenResultType

from tui.model.input.keys import Key, common
from tui.model.lists.lines import PageRef
from tui.model.pages.page_status import PageStatus
from tui.theme.error_boundary import SafeScreen
from tui.theme.palette import Glyphs
from tui.widgets.status_lines import StatusHead


class HeadedScreen(SafeScreen[ScreenResultType]):
    """Yields `head` first, and gets its status from the app: when it opens, and then every second."""

    is_always_live: ClassVar[bool] = False
    """Whether it shows the present even while the past is replayed."""

    keys: ClassVar[Sequence[Key]] = ()
    """The page's own, without those that work on every page."""

    @property
    def keys_here(self) -> Sequence[Key]:
        """What does something here: the page's own keys and those of every page, for foot line and palette."""
        return (*self.keys, *common(self.keys))

    @dataclass
    class StatusNeeded(Message):
        """A page has opened, and its top lines are empty."""

    @dataclass
    class PageWanted(Message):
        """What was chosen here has a page."""

        ref: PageRef

    def __init__(self, *, glyphs: Glyphs, notice: str = "") -> None:
        super().__init__()
        self.head = StatusHead(glyphs=glyphs, notice=notice)

    @property
    def path(self) -> tuple[str, ...]:
        """Where this page is, below the workspace."""
        return ()

    def tick(self, status: PageStatus) -> None:
        """Show what is so a second later."""
        self.show_head(status, path=self.path)

    def show_head(self, status: PageStatus, *, path: tuple[str, ...]) -> None:
        """The top lines; over a page, a dialog shows that page's path."""
        self.head.show(status, path=path)

    def on_screen_resume(self) -> None:
        self.post_message(self.StatusNeeded())
