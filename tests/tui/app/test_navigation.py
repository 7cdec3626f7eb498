"""Down into a line and back, to other workspaces, to other moments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from textual.pilot import Pilot

from shared.api.models import Inbox
from shared.domain.card import Card, Tone
from shared.domain.records import InterestedReply, LeadReply
from shared.domain.snapshot import Reading, Snapshot
from shared.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import NAMES, NOW, Clock, FakeFeed, account, board_of, tick_of
from tui.app.dashboard import DashboardApp
from tui.feed.history_access import HistoryAccess
from tui.feed.pending_changes import PendingChanges
from tui.feed.workspace_state import WorkspaceState
from tui.model.changes import between
from tui.model.lines import ChangeLine, PageRef
from tui.model.page_content import page, way
from tui.screens.all_workspaces import AllWorkspacesScreen, WorkspaceTile
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog

DOMAIN = "useacme.example"


class RecordedLines:
    """Remembers the command lines that one workspace was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def __call__(self, line: str) -> Card:
        self.lines.append(line)
        return Card(title="Done")


def state(
    name: str, *, clock: Clock, history: HistoryAccess | None = None, read_only: bool = False
) -> WorkspaceState:
    lines = RecordedLines()
    pending_changes = PendingChanges(lines, now=clock, read_only=read_only)
    sent = {"person00@useacme.example": 26, "person08@useacme.example": 38}
    feed = FakeFeed(history=history, sent=sent)
    return WorkspaceState(workspace=name, feed=feed, pending_changes=pending_changes)


@asynccontextmanager
async def open_app(
    states: list[WorkspaceState],
    *,
    clock: Clock,
    size: tuple[int, int] = (160, 48),
    keys: Mapping[str, str] | None = None,
) -> AsyncIterator[tuple[DashboardApp, Pilot[int]]]:
    app = DashboardApp(states, now=clock, keys=keys)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield app, pilot


async def see(app: DashboardApp, pilot: Pilot[int], number: int, snapshot: Snapshot) -> None:
    app.post_message(app.Ticked(tick_of(snapshot), app.workspaces.all[number]))
    await pilot.pause()


async def press(pilot: Pilot[int], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def falling(tmp_path: Path) -> AsyncIterator[HistoryAccess]:
    """A history in which the first inbox has lost three points a day, from 99 down to 84."""
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        for days, score in ((5, 99.0), (4, 96.0), (3, 93.0), (2, 90.0), (1, 87.0), (0, 84.0)):
            at = NOW - timedelta(days=days)
            box = Inbox(email=f"ann@{DOMAIN}", health_score=score, daily_limit=40, status="active")
            snapshot = account(now=at)
            await store.add(replace(snapshot, inboxes=Reading(value=(box,), read_at=at)), now=at)
        yield HistoryAccess(store, workspace="acme")


def names(app: DashboardApp) -> str:
    assert isinstance(app.screen, DetailScreen)
    return app.screen.path.text.strip()


async def test_one_goes_down_from_domains_to_an_inbox_and_back(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "d", "enter", "enter")
        assert names(app).startswith("acme › Domains › useacme.example › person")
        await press(pilot, "escape")
        assert "person" not in names(app)
        await press(pilot, "escape", "escape")
        assert app.board_screen.is_current


async def test_a_lead_has_a_page_with_its_reply_and_who_has_claimed_it(clock: Clock) -> None:
    acme = state("acme", clock=clock)
    assert isinstance(acme.feed, FakeFeed)
    acme.feed.shares_replies = True
    acme.feed.replies["maya@harbor.example"] = LeadReply(
        alert_id="al_1",
        received_at=NOW,
        sequence=NAMES[0],
        step=2,
        text="Yes, call me on Monday.",
        status="new",
    )
    reply = InterestedReply(email="maya@harbor.example", received_at=NOW, sequence=NAMES[0], claimed_by="ann")
    async with open_app([acme], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account(replies=(reply,)))
        await press(pilot, "4", "enter")
        assert names(app).startswith("acme › Maya Sharma")
        assert isinstance(app.screen, DetailScreen)
        card = app.screen.summary_card
        assert card
        facts = {fact.label: fact.value for fact in card.facts}
        assert (facts["Sequence"], facts["Claimed by"], facts["Step"]) == (NAMES[0], "ann", "2")
        assert facts["Replied"] == "02 Mar 14:32"
        assert card.text == ("Yes, call me on Monday.",)


async def test_a_change_leads_to_what_has_changed(clock: Clock) -> None:
    before = account()
    asleep = tuple(replace(box, status="resting") for box in before.inboxes.value or ())
    after = replace(before, inboxes=replace(before.inboxes, value=asleep))
    found = between(before, after, at=NOW)
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        app.post_message(app.Ticked(tick_of(after, changes=found)))
        await pilot.pause()
        await press(pilot, "5", "enter")
        assert names(app).startswith(f"acme › {app.board_screen.changes[0].subject}")


def test_a_path_never_goes_round_in_a_circle() -> None:
    board = board_of(account())
    boxes = [PageRef(kind="inbox", key=line.key) for line in board.inboxes if line.inbox.domain == DOMAIN]
    domain, domains = PageRef(kind="domain", key=DOMAIN), PageRef(kind="domains")
    assert way([domains, domain], boxes[0], board=board) == [domains, domain, boxes[0]]
    assert way([domains, domain, boxes[0]], boxes[1], board=board) == [domains, domain, boxes[1]]
    assert way([domains, domain, boxes[0]], domain, board=board) == [domains, domain]
    assert way([boxes[0]], domain, board=board) == [domain]


async def test_a_click_on_the_path_goes_back_up(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "d", "enter", "enter")
        await pilot.click("#path", offset=(9, 0))
        await pilot.pause()
        assert names(app).startswith("acme › Domains  ")
        await pilot.click("#path", offset=(2, 0))
        await pilot.pause()
        assert app.board_screen.is_current


async def test_a_sequence_shows_its_steps_and_says_whose_counts_they_are(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "2", "enter")
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.page
        assert [len(one.lines) for one in app.screen.page.lists] == [3, 2]
        assert any("whole workspace" in text for text in app.screen.page.card.text)
        await press(pilot, "enter")
        assert names(app).startswith("acme › SaaS founders – Europe › Step 1")


async def test_a_falling_inbox_tells_when_it_will_be_at_risk_over_each_range(
    clock: Clock, falling: HistoryAccess
) -> None:
    async with open_app([state("acme", clock=clock, history=falling)], clock=clock) as (app, pilot):
        box = Inbox(email=f"ann@{DOMAIN}", health_score=84.0, daily_limit=40, status="active")
        await see(app, pilot, 0, replace(account(), inboxes=Reading(value=(box,), read_at=NOW)))
        await press(pilot, "enter")
        screen = app.screen
        assert isinstance(screen, DetailScreen)
        assert screen.plot.plot
        assert next(value for value in screen.plot.plot.values if value is not None) == 99
        assert screen.summary_card
        assert ("Below 80", "in 1 to 4 days") in [(f.label, f.value) for f in screen.summary_card.facts]
        await press(pilot, "1")
        known = [value for value in screen.plot.plot.values if value is not None]
        assert known == [87.0] * (len(known) - 1) + [84.0]
        await press(pilot, "3", "m")
        assert screen.plot.plot.title == "Daily limit"


async def test_an_inbox_tells_when_its_limit_will_be_reached(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "enter")
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.summary_card
        facts = {fact.label: fact.value for fact in app.screen.summary_card.facts}
        assert facts["Sent today"] == "26 of 30"
        assert facts["Limit"] == "reached at 16:11 to 17:57, at this pace"


async def test_a_line_that_is_gone_says_so_on_its_page(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "enter")
        await see(app, pilot, 0, account(inboxes=0))
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.summary_card
        assert app.screen.summary_card.title == "This no longer exists"


# -- several workspaces --------------------------------------------------------------------------------


def other_account() -> Snapshot:
    boxes = (Inbox(email="ops@beta.example", health_score=12.0, daily_limit=5, status="active"),)
    snapshot = account(inboxes=0)
    sequences = tuple(replace(s, name=f"Beta {s.id}") for s in snapshot.sequences.value or ())
    return replace(
        snapshot,
        workspace="beta",
        inboxes=Reading(value=boxes, read_at=NOW),
        sequences=Reading(value=sequences, read_at=NOW),
    )


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
        assert names(app).startswith("beta › ops@beta.example")


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
        assert "█" in towers[0].standing.render_line(4).text, "numerals that are read from three metres"
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert app.screen.workspaces.display
        assert "acme" in app.screen.workspaces.grid.render_line(1).text
        assert not any(tower.display for tower in towers)
        await pilot.press("x")
        await pilot.pause()
        assert app.board_screen.is_current


# -- reading only, keys, help --------------------------------------------------------------------------


async def test_a_dashboard_that_only_reads_refuses_by_key_and_by_command(clock: Clock) -> None:
    only = state("acme", clock=clock, read_only=True)
    async with open_app([only], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "2", "p")
        assert app.board_screen.is_current
        await pilot.press("colon", *"pause sq_1", "enter")
        await pilot.pause(0.2)
        assert isinstance(app.screen, CardDialog)
        assert app.screen.card.title == "This dashboard is read-only"
        await press(pilot, "escape")
        assert only.pending_changes
        assert not only.pending_changes.pending


async def test_keys_can_be_others_and_the_foot_line_says_them(clock: Clock) -> None:
    async with open_app(
        [state("acme", clock=clock)], clock=clock, keys={"faults": "x", "page.hours": "z"}
    ) as (
        app,
        pilot,
    ):
        await see(app, pilot, 0, account())
        await press(pilot, "x")
        assert app.board_screen.grid.arrangement.faults
        assert " x faults" in app.board_screen.foot.text
        await press(pilot, "f")
        assert app.board_screen.grid.arrangement.faults, "the old key does nothing"
        await press(pilot, "enter", "z")
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.range.name == "24 hours"
        assert " z hours" in app.screen.foot.text


async def test_help_is_that_of_the_panel(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await pilot.press("2", "f1")
        await pilot.pause()
        assert isinstance(app.screen, CardDialog)
        assert app.screen.card.title == "Help: Sequences"


async def test_a_lines_address_is_copied(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "c")
        assert app.clipboard == "person00@useacme.example"


async def test_who_comes_back_is_told_what_changed_since(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "down")
        clock.advance(1800)
        worse = ChangeLine(clock() - timedelta(minutes=9), "ann@x.example", "active → resting", Tone.WARN)
        app.post_message(app.Ticked(tick_of(account(now=clock()), changes=(worse,))))
        await press(pilot, "down")
        clock.advance(1)
        app.board_screen.tick(clock())
        assert "1 change since 14:32, 1 for the worse" in app.board_screen.verdict.words.text


# -- another moment ------------------------------------------------------------------------------------


async def test_a_time_is_sought_and_compared_with_now(clock: Clock, falling: HistoryAccess) -> None:
    async with open_app([state("acme", clock=clock, history=falling)], clock=clock) as (app, pilot):
        box = Inbox(email=f"ann@{DOMAIN}", health_score=84.0, daily_limit=40, status="resting")
        await see(app, pilot, 0, replace(account(), inboxes=Reading(value=(box,), read_at=NOW)))
        await press(pilot, "at", *"yesterday 14:40", "enter")
        assert app.board_screen.has_class("-replay")
        assert "REPLAY 01 Mar 14:32:07" in app.board_screen.top.text
        await pilot.press("equals_sign")
        await pilot.pause(0.2)
        assert isinstance(app.screen, CardDialog)
        assert app.screen.card.table
        assert ("ann@useacme.example", "active → resting") in [
            row.cells for row in app.screen.card.table.rows
        ]
        await press(pilot, "escape", "escape")
        assert not app.board_screen.has_class("-replay")


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


async def test_a_key_that_nothing_is_called_by_is_told_with_the_nearest_name(clock: Clock) -> None:
    keys = {"fautls": "x", "page.hours": "z", "board.undo": "v", "grid.mark": "b", "nonsense": "y"}
    async with open_app([state("acme", clock=clock)], clock=clock, keys=keys) as (app, _):
        texts = [note.message for note in app._notifications]
        assert texts == [
            "[dashboard.keys] fautls isn't a key name; did you mean faults?",
            "[dashboard.keys] nonsense isn't a key name; valid names are in docs/dashboard.md",
        ]


async def test_sequences_of_one_name_share_no_plot() -> None:
    snapshot = account()
    names = tuple(replace(one, name="Spring") for one in snapshot.sequences.value or ())
    board = board_of(replace(snapshot, sequences=Reading(value=names, read_at=NOW)))
    shown = page(PageRef(kind="sequence", key="sq_1"), board=board, changes=())
    assert shown
    assert shown.keys == ("sq_1",)
    alone = page(PageRef(kind="sequence", key="sq_1"), board=board_of(snapshot), changes=())
    assert alone
    assert alone.keys == ("sq_1", NAMES[1])
