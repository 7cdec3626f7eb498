"""Several workspaces: on one screen, on a wall, side by side; nothing of one is shown as another's."""

from __future__ import annotations

from tests.tui.accounts import Clock, account
from tests.tui.app.app_driver import open_app, other_account, path_of, press, see, state
from tui.app.dashboard import DashboardApp
from tui.feed.workspace_state import WorkspaceState
from tui.screens.all_workspaces import AllWorkspacesScreen, WorkspaceTile


async def test_nothing_of_one_workspace_is_shown_as_anothers(clock: Clock) -> None:
    states = [state("acme", clock=clock), state("beta", clock=clock), state("gamma", clock=clock)]
    async with open_app(states, clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "2", "space", "slash", *"saas", "enter")
        await see(app, pilot, 1, other_account())
        assert app.board_screen.board
        assert app.board_screen.board.workspace == "acme"
        await press(pilot, "full_stop")
        screen = app.board_screen
        assert [line.key for line in screen.panels["inboxes"].grid.shown] == ["ops@beta.example"]
        assert {line.words.split()[0] for line in screen.panels["sequences"].grid.shown} == {"Beta"}
        assert len(screen.panels["sequences"].grid.chosen) == 1, "marks stay behind"
        assert "beta" in screen.top.text
        await press(pilot, "full_stop")
        assert all(not panel.grid.shown for panel in screen.panels.values()), "nothing is known of it yet"
        await press(pilot, "comma", "comma")
        assert len(screen.panels["inboxes"].grid.shown) == 24


async def test_what_is_asked_in_one_workspace_is_done_there(clock: Clock) -> None:
    states = [state("acme", clock=clock), state("beta", clock=clock)]
    async with open_app(states, clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await see(app, pilot, 1, other_account())
        await press(pilot, "full_stop", "2", "p", "y")
        text = [state.pending_changes and state.pending_changes.pending for state in app.workspaces.all]
        assert [len(pending or ()) for pending in text] == [0, 1]


async def test_all_workspaces_are_on_one_screen_the_worst_inbox_first(clock: Clock) -> None:
    states = [state("acme", clock=clock), state("beta", clock=clock), state("gamma", clock=clock)]
    async with open_app(states, clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await see(app, pilot, 1, other_account())
        await press(pilot, "0")
        screen = app.screen
        assert isinstance(screen, AllWorkspacesScreen)
        assert [line.key for line in screen.workspaces.grid.shown] == ["acme", "beta", "gamma"]
        rows = [screen.inboxes.grid.render_line(y).text for y in (1, 2)]
        assert "beta" in rows[0]
        assert "ops@beta.example" in rows[0]
        assert "acme" in rows[1]
        await press(pilot, "tab", "enter")
        assert app.workspaces.current.workspace == "beta"
        assert path_of(app).startswith("beta › ops@beta.example")


async def test_several_workspaces_share_a_wall_that_any_key_leaves(clock: Clock) -> None:
    states = [WorkspaceState(workspace="acme"), state("beta", clock=clock)]
    app = DashboardApp(states, now=clock, wall=True)
    async with app.run_test(size=(160, 48)) as pilot:
        await pilot.pause()
        assert isinstance(app.screen, AllWorkspacesScreen)
        await see(app, pilot, 1, other_account())
        await see(app, pilot, 0, account())
        assert "ops@beta.example" in app.screen.inboxes.grid.render_line(1).text
        assert not app.screen.foot.display
        assert not app.screen.inboxes.grid.has_focus, "a wall has no cursor"
        towers = list(app.screen.query(WorkspaceTile))
        assert [tower.head.text.split()[:4] for tower in towers] == [
            ["◆", "ACME", "1", "of"],
            ["◆", "BETA", "1", "of"],
        ]
        assert "█" in towers[0].standing.render_line(4).text, "numerals that are read from three meters"
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.screen.workspaces.display
        assert "acme" in app.screen.workspaces.grid.render_line(1).text
        assert not any(tower.display for tower in towers)
        await pilot.press("x")
        await pilot.pause()
        assert app.board_screen.is_current


async def test_the_workspaces_stand_side_by_side_and_a_click_goes_there(clock: Clock) -> None:
    states = [state(name, clock=clock) for name in ("acme", "globex", "initech")]
    async with open_app(states, clock=clock) as (app, pilot):
        for number in range(2):
            await see(app, pilot, number, account(inboxes=8 * (number + 1)))
        bar = app.board_screen.workspace_bar
        assert bar.text.split() == ["▌◆", "acme", "◆", "globex", "?", "initech", ",", ".", "turn", "0", "all"]
        await pilot.click("#workspace-bar", offset=(12, 0))
        assert app.workspaces.current.workspace == "globex"
        assert len(app.board_screen.panels["inboxes"].grid.shown) == 16
        assert bar.text.startswith(" ◆ acme  ▌◆ globex")
        await pilot.resize_terminal(60, 20)
        app.second_passed()
        await pilot.pause()
        assert bar.text.startswith(" ◆ acme  ▌◆ globex   ? initech")


async def test_where_not_all_names_fit_only_the_one_that_is_seen_is_named(clock: Clock) -> None:
    names = [f"a rather long workspace {n}" for n in range(4)]
    async with open_app([state(n, clock=clock) for n in names], clock=clock, size=(80, 24)) as (app, pilot):
        await see(app, pilot, 0, account())
        assert app.board_screen.workspace_bar.text.startswith(f"▌◆ {names[0]}   ?  ?  ? ")
        await press(pilot, "full_stop")
        assert f"▌? {names[1]}" in app.board_screen.workspace_bar.text


async def test_one_workspace_needs_no_bar(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        assert not app.board_screen.workspace_bar.display
