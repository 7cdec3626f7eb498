"""The board, and the way down to a domain and an inbox."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from shared.api.models import Sequence
from shared.domain.snapshot import RATE_LIMITED, REJECTED, UNREADABLE, Reading
from shared.history.history import History
from shared.records.records import DomainPast, DomainPause
from shared.storage.database import parse_url
from tests.screens.desk import PAUSED, Desk, at_desk, crisis
from tests.tui.accounts import NOW, account, board_of, failing
from tui.feed.history_access import HistoryAccess
from tui.model.board import DomainFacts
from tui.widgets.table import ListTable

PAST = DomainPast(
    reason="bounce rate (7.1% of its sends, says the service)",
    pauses=(
        DomainPause(at=NOW - timedelta(minutes=20), reason="bounce rate"),
        DomainPause(at=NOW - timedelta(days=9), reason="spam", recovered_at=NOW - timedelta(days=8)),
    ),
    bounced=40,
    known_from=NOW - timedelta(days=60),
    sequences=("Fintech ops leaders", "Webinar follow-up"),
)


async def see_with_past(desk: Desk) -> None:
    """The same, with what a bot recorded of the paused domain."""
    board = board_of(crisis(), domain_facts=DomainFacts(pasts={PAUSED: PAST}))
    desk.app.state.feed.pasts[PAUSED] = PAST  # type: ignore[union-attr] # of the fake
    await desk.see(crisis(), board=board)


async def test_the_domain_under_the_cursor_tells_why_its_inboxes_and_what_to_do() -> None:
    async with at_desk(size=(160, 48)) as desk:
        await see_with_past(desk)
        assert desk.shown("domains")[0] == PAUSED
        for words in ("bounce rate", "Fintech ops leaders (active)", "Verify the addresses", "40 of"):
            assert words in desk.text, words
        assert all(key.endswith(PAUSED) for key in desk.shown("inboxes"))
        await desk.press("down")
        assert desk.shown("inboxes")[0] == "person02@tryacme.example"
        await desk.press("up", "enter")
        assert desk.shown("feeding") == ["sq_1", "sq_2"]
        assert "paused 21 Feb 14:32 for" in desk.text


async def test_each_trouble_of_the_service_has_its_own_start() -> None:
    snapshot, trouble = account(), ((REJECTED, 1), (UNREADABLE, 5), (RATE_LIMITED, 16))
    async with at_desk(snapshot=snapshot) as desk:
        readings = snapshot.inboxes
        for cause, minutes in trouble:
            at = NOW + timedelta(minutes=minutes)
            desk.clock.time = at
            readings = readings.failed("no", cause=cause, at=at)
            await desk.see(replace(snapshot, inboxes=readings))
        verdict = desk.text.splitlines()[1]
        assert f"{RATE_LIMITED} since 14:48 (0 s)" in verdict


async def test_a_service_that_cannot_be_read_is_named_with_what_to_do_and_the_last_data_stays() -> None:
    async with at_desk() as desk:
        await desk.see(failing(crisis(), since=NOW))
        await desk.second(400)
        text = desk.text
        assert "can't be reached" in text.splitlines()[1]
        assert "data from 14:32" in text.splitlines()[1]
        assert "OUTREACH_BASE_URL" in text
        assert PAUSED in text
        assert "stale: 6 min ago" in text
        await desk.press("2")
        assert "Fintech ops leaders" in desk.text.replace("\u00a0", " "), "hatching leaves words to be read"


async def test_enter_goes_down_and_esc_up_and_the_path_is_that_stack() -> None:
    async with at_desk() as desk:
        await desk.press("enter", "enter")
        assert f"acme › {PAUSED} › person" in desk.text.splitlines()[0]
        assert len(desk.app.pages) == 3
        await desk.press("escape")
        assert desk.text.splitlines()[0].startswith(f" acme › {PAUSED} ")
        await desk.pilot.click("#top", offset=(2, 0))
        await desk.settle()
        assert desk.app.pages == [desk.app.board], "a click on the path goes there"
        await desk.press("enter", "4")
        assert desk.text.splitlines()[0].startswith(" acme › Incidents ")
        await desk.press("escape", "5")
        assert desk.app.pages == [desk.app.board], "one workspace has no page of workspaces"


async def test_a_plot_names_the_time_that_it_shows_and_no_more(tmp_path: Path) -> None:
    """Ten minutes were titled "14 days"."""
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        for minutes in (10, 5, 0):
            at = NOW - timedelta(minutes=minutes)
            await store.add(account(now=at), now=at)
        async with at_desk(history=HistoryAccess(store, workspace="acme")) as desk:
            await desk.press("enter")
            axis = [line for line in desk.text.splitlines() if line.rstrip().endswith("14:32")][-1]
            assert axis.split()[-2:] == ["14:21", "14:32"]
            assert "days" not in "".join(line for line in desk.text.splitlines() if "HEALTH" in line)


async def test_the_cursor_stays_on_its_line_and_on_the_screen() -> None:
    """A pause in a list that is sorted by status moves the line."""
    many = tuple(Sequence(id=f"sq_{n:02}", name=f"S{n:02}", status="active", steps=1) for n in range(60))
    snapshot = replace(account(), sequences=Reading(value=many, read_at=NOW))
    async with at_desk(snapshot=snapshot, size=(80, 24)) as desk:
        await desk.press("2", "s", "down", "down")
        table = desk.app.screen.query_one("#sequences", ListTable)
        assert table.line
        assert table.line.key == "sq_02"
        paused = replace(snapshot.sequences, value=(*many[:2], replace(many[2], status="paused"), *many[3:]))
        await desk.see(replace(snapshot, sequences=paused))
        assert table.line.key == "sq_02"
        assert "‖ paused" in desk.text


async def test_an_account_without_inboxes_says_so_and_unknown_is_no_zero() -> None:
    async with at_desk(snapshot=account(inboxes=0)) as desk:
        assert "No inboxes are connected" in desk.text
        assert "healthy" not in desk.text.splitlines()[1]


async def test_the_arrows_read_a_lane_to_its_end_and_r_shows_a_longer_time(recorded: HistoryAccess) -> None:
    async with at_desk(history=recorded) as desk:
        await desk.press("4", "right", "right")
        assert "14:31  useacme.example not known" in desk.text
        await desk.press("left")
        assert "14:29  useacme.example not known" in desk.text
        for span in ("24 h", "7 days", "6 h"):
            await desk.press("r")
            assert f"INCIDENTS 4  {span}" in desk.text
            assert "useacme.example not known" not in desk.text, "another time is not read yet"
