"""Down into a line and back, to other workspaces, to other moments."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api.models import Inbox
from shared.domain.card import Fact, Tone
from shared.domain.snapshot import Reading
from shared.records.replies import InterestedReply, LeadReply
from tests.tui.accounts import NAMES, NOW, Clock, FakeFeed, account, board_of, tick_of
from tests.tui.app.app_driver import open_app, path_of, press, see, state
from tui.feed.history_access import HistoryAccess
from tui.model.lists.lines import ChangeLine, PageRef
from tui.model.pages.page_content import page, way
from tui.model.workspace.changes import between
from tui.screens.detail_page import DetailScreen
from tui.screens.dialogs import CardDialog

DOMAIN = "useacme.example"


async def test_one_goes_down_from_domains_to_an_inbox_and_back(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "7", "enter", "enter")
        assert path_of(app).startswith("acme › useacme.example › person")
        await press(pilot, "escape")
        assert "person" not in path_of(app)
        await press(pilot, "escape")
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
        snapshot = account(replies=(reply,))
        earlier = replace(snapshot, interested=replace(snapshot.interested, value=()))
        found = between(earlier, snapshot, at=NOW)
        app.post_message(app.Ticked(tick_of(snapshot, changes=found)))
        await pilot.pause()
        names = [line.subject for line in app.board_screen.changes]
        at = next(number for number, name in enumerate(names) if name.startswith("Maya Sharma"))
        await press(pilot, "6", *("down",) * at, "enter")
        assert path_of(app).startswith("acme › Maya Sharma")
        assert isinstance(app.screen, DetailScreen)
        card = app.screen.summary_card
        assert card
        facts = {fact.label: fact.value for fact in card.facts}
        assert (facts["Sequence"], facts["Claimed by"], facts["Step"]) == (NAMES[0], "ann", "2")
        assert facts["Replied"] == "02 Mar 14:32"
        assert card.text == ("Yes, call me on Monday.",)


async def test_the_page_of_a_domain_tells_its_dns_and_what_to_do(clock: Clock) -> None:
    acme = state("acme", clock=clock)
    assert isinstance(acme.feed, FakeFeed)
    broken = Fact(label="SPF", value="2 records, and only one is allowed, since 14:02 UTC", tone=Tone.BAD)
    acme.feed.dns[DOMAIN] = ((broken,), ("Merge them into one TXT record at useacme.example.",))
    async with open_app([acme], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "7", "enter")
        assert isinstance(app.screen, DetailScreen)
        card = app.screen.summary_card
        assert card
        assert broken in card.facts
        assert card.text[-1] == "Next: Merge them into one TXT record at useacme.example."


async def test_a_change_leads_to_what_has_changed(clock: Clock) -> None:
    before = account()
    asleep = tuple(replace(box, status="resting") for box in before.inboxes.value or ())
    after = replace(before, inboxes=replace(before.inboxes, value=asleep))
    found = between(before, after, at=NOW)
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        app.post_message(app.Ticked(tick_of(after, changes=found)))
        await pilot.pause()
        await press(pilot, "6", "enter")
        assert path_of(app).startswith(f"acme › {app.board_screen.changes[0].subject}")


async def test_a_page_that_was_left_at_once_is_no_error(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        app.navigation.open_page(PageRef(kind="domain", key=DOMAIN))
        page_screen = app.screen
        assert isinstance(page_screen, DetailScreen)
        await page_screen.dismiss(None)
        page_screen.open(
            PageRef(kind="domain", key=DOMAIN),
            board=board_of(account()),
            changes=(),
            status=app.presenter.status(),
        )
        await pilot.pause()
        assert app.board_screen.is_current


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (("enter",), {"back", "up", "hours", "days", "weeks", "value", "read", "help", "quit"}),
        (("2", "enter"), {"back", "hours", "days", "weeks", "value", "read", "pause/resume", "help", "quit"}),
        (("2", "enter", "enter"), {"back", "help", "quit"}),
    ],
)
async def test_the_foot_of_a_page_names_the_keys_that_do_something_there(
    clock: Clock, keys: tuple[str, ...], words: set[str]
) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, *keys)
        assert isinstance(app.screen, DetailScreen)
        assert {part.split()[1] for part in app.screen.foot.text.split("   ") if part.strip()} == words


def test_a_path_never_goes_round_in_a_circle() -> None:
    board = board_of(account())
    boxes = [PageRef(kind="inbox", key=line.key) for line in board.inboxes if line.inbox.domain == DOMAIN]
    domain = PageRef(kind="domain", key=DOMAIN)
    assert way([domain], boxes[0], board=board) == [domain, boxes[0]]
    assert way([domain, boxes[0]], boxes[1], board=board) == [domain, boxes[1]]
    assert way([domain, boxes[0]], domain, board=board) == [domain]
    assert way([boxes[0]], domain, board=board) == [domain]


async def test_a_click_on_the_path_goes_back_up(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "7", "enter", "enter")
        await pilot.click("#top", offset=(19, 0))
        await pilot.pause()
        assert path_of(app) == "acme › useacme.example"
        await pilot.click("#top", offset=(12, 0))
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
        assert path_of(app).startswith("acme › SaaS founders – Europe › Step 1")


async def test_the_health_of_an_inbox_is_plotted_over_hours_days_and_weeks(
    clock: Clock, falling: HistoryAccess
) -> None:
    async with open_app([state("acme", clock=clock, history=falling)], clock=clock) as (app, pilot):
        box = Inbox(email=f"ann@{DOMAIN}", health_score=84.0, daily_limit=40, status="active")
        await see(app, pilot, 0, replace(account(), inboxes=Reading(value=(box,), read_at=NOW)))
        await press(pilot, "enter")
        screen = app.screen
        assert isinstance(screen, DetailScreen)
        assert "1 24 hours   2 14 days   3 12 weeks" in screen.plot_head.text
        assert screen.plot.plot
        assert next(value for value in screen.plot.plot.values if value is not None) == 99
        await press(pilot, "1")
        known = [value for value in screen.plot.plot.values if value is not None]
        assert known == [87.0] * (len(known) - 1) + [84.0]
        await press(pilot, "3", "m", "m", "m", "m")
        assert screen.plot.plot.title == "Daily limit"


async def test_an_inbox_shows_what_it_sent_today_of_its_limit(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "enter")
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.summary_card
        facts = {fact.label: fact.value for fact in app.screen.summary_card.facts}
        assert facts["Sent today"] == "26 of 30"
        assert "Limit" not in facts


async def test_a_line_that_is_gone_says_so_on_its_page(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "enter")
        await see(app, pilot, 0, account(inboxes=0))
        assert isinstance(app.screen, DetailScreen)
        assert app.screen.summary_card
        assert app.screen.summary_card.title == "This no longer exists"


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
        [state("acme", clock=clock)], clock=clock, keys={"problems": "x", "page.hours": "z"}
    ) as (
        app,
        pilot,
    ):
        await see(app, pilot, 0, account())
        await press(pilot, "x")
        assert app.board_screen.grid.arrangement.problems
        assert " x problems" in app.board_screen.foot.text
        await press(pilot, "f")
        assert app.board_screen.grid.arrangement.problems, "the old key does nothing"
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


async def test_changes_since_the_last_key_are_shown(clock: Clock) -> None:
    async with open_app([state("acme", clock=clock)], clock=clock) as (app, pilot):
        await see(app, pilot, 0, account())
        await press(pilot, "down")
        clock.advance(1800)
        worse = ChangeLine(
            clock() - timedelta(minutes=9), "ann@x.example", "active → resting", Tone.WARN, becomes="resting"
        )
        app.post_message(app.Ticked(tick_of(account(now=clock()), changes=(worse,))))
        await press(pilot, "down")
        clock.advance(1)
        app.second_passed()
        assert "1 change since 14:32, 1 for the worse" in app.board_screen.verdict.words.text


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


async def test_an_unknown_key_name_is_reported_with_the_nearest(clock: Clock) -> None:
    keys = {
        "problems": "x",
        "problms": "x",
        "page.hours": "z",
        "board.undo": "v",
        "grid.mark": "b",
        "nonsense": "y",
    }
    async with open_app([state("acme", clock=clock)], clock=clock, keys=keys) as (app, _):
        texts = [note.message for note in app._notifications]
        assert texts == [
            "[dashboard.keys] problms isn't a key name; did you mean problems?",
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
