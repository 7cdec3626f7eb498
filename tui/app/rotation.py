"""A screen without keys: the page of all workspaces, then the wall of each in turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tui.app.navigation import Navigation
from tui.app.presenter import Presenter, Ui
from tui.feed.workspace_state import WorkspaceState
from tui.screens.all_workspaces import AllWorkspacesScreen

IDLE = timedelta(minutes=2)
"""Without a key for so long, a board that someone opened gives way again."""


@dataclass(slots=True, kw_only=True)
class Rotation:
    """Each view is shown for `every`; of a workspace in trouble only the view that tells of it."""

    ui: Ui
    presenter: Presenter
    navigation: Navigation
    every: timedelta
    since: datetime = field(init=False)
    """When what is shown was opened."""

    def __post_init__(self) -> None:
        self.since = self.ui.now()

    def second_passed(self, *, last_input: datetime | None) -> None:
        now, screen = self.ui.now(), self.ui.app.screen
        if screen is self.ui.board:
            if last_input is None or now - last_input >= IDLE:
                self._open(None, now)
        elif screen is self.ui.wall:
            if len(self.ui.workspaces.all) > 1 and now - self.since >= self.every * self.ui.wall.turns:
                screen.dismiss(None)
                self._open(self._after(self.ui.workspaces.current), now)
        elif isinstance(screen, AllWorkspacesScreen) and screen.is_wall and now - self.since >= self.every:
            screen.dismiss(None)
            self._open(self._after(None), now)

    def _after(self, shown: WorkspaceState | None) -> WorkspaceState | None:
        """The next wall; None is the page of all workspaces."""
        states = self.ui.workspaces.all
        left = states[states.index(shown) + 1 :] if shown else states
        return next(iter(left), None)

    def _open(self, state: WorkspaceState | None, now: datetime) -> None:
        self.since = now
        if state is None and len(self.ui.workspaces.all) > 1:
            self.presenter.open_all_workspaces(wall=True)
            return
        if state:
            self.navigation.go_to(state)
        self.ui.wall.begin(now)
        self.presenter.open_wall()
