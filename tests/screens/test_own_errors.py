"""The dashboard's own mistakes cost a message, not the screen; and what is damaged or wild outside costs neither."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.strip import Strip

from shared.history.history import History
from shared.storage.database import parse_url
from tests.tui.accounts import NOW, Clock, account, acme, tick_of
from tui.app.dashboard import DashboardApp
from tui.app.own_errors import ErrorLog
from tui.feed.history_access import HistoryAccess
from tui.widgets.text import TextLine

# A mistake in painting shows only where it is drawn, which other tests leave out.
pytestmark = pytest.mark.usefixtures("drawn")


class FailingWidget(TextLine):
    """Trips over every click, and over every line that it paints while it is `blind`."""

    blind = False

    def on_click(self, _: events.Click) -> None:
        raise LookupError("tripped")

    def render_line(self, y: int) -> Strip:
        if self.blind:
            raise ZeroDivisionError
        return super().render_line(y)


class FailingWidgetApp(DashboardApp):
    """The dashboard with one widget that makes mistakes."""

    def __init__(self, clock: Clock, *, error_log: ErrorLog | None) -> None:
        super().__init__([acme()], now=clock, error_log=error_log)
        self.clumsy = self.board.numbers = FailingWidget(id="numbers")

    @property
    def notice(self) -> str:
        """What the head says of the dashboard itself."""
        line = self.board.head.notice
        return line.plain if line.has_class("-on") else ""


def a_click() -> events.Click:
    return events.Click(
        widget=None, x=0, y=0, delta_x=0, delta_y=0, button=1, shift=False, meta=False, ctrl=False
    )


async def test_a_failing_handler_shows_a_reference_and_the_screen_continues(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    app = FailingWidgetApp(clock, error_log=ErrorLog())
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(app.Ticked(tick_of(account())))
        await pilot.pause()
        # A mistake in a timer comes every second: its trace must not fill the log.
        for _ in range(12):
            app.clumsy.post_message(a_click())
        await pilot.press("a")  # the alarm of the account
        app.second_passed()
        await pilot.pause()
        words = app.notice
        assert "Internal error in the dashboard (reference " in words
        assert "12 times). It keeps running" in words
        reference = words.partition("reference ")[2][:6]
        logged = [record for record in caplog.records if reference in record.getMessage()]
        assert [bool(record.exc_info) for record in logged] == [True], "the trace once"
        clock.advance(60)
        app.post_message(app.Ticked(tick_of(account(inboxes=7, now=clock()), beats=2)))
        await pilot.press("down")
        await pilot.pause()
        assert len(app.frame.board.inboxes) == 7
        assert "Internal error" in app.notice, "it stays until it was seen"
    assert not app.return_code


async def test_a_widget_that_cannot_be_painted_stays_blank_and_the_others_are_painted(clock: Clock) -> None:
    app = FailingWidgetApp(clock, error_log=ErrorLog())
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(app.Ticked(tick_of(account())))
        app.clumsy.blind = True
        app.clumsy.refresh()
        await pilot.press("a")  # the alarm of the account
        app.second_passed()
        await pilot.pause()
        picture = app.export_screenshot()
        assert "useacme" in picture
        assert "Internal&#160;error" in picture


async def test_a_damaged_history_is_set_aside_said_and_begun_anew(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "history.db"
    file.write_bytes(b"no database at all\n" * 500)
    async with History(parse_url(f"sqlite:///{file}")) as store:
        history = HistoryAccess(store, workspace="acme")
        assert (await history.recall(now=NOW)).snapshot is None
        app = DashboardApp([acme(history=history)], now=clock)
        async with app.run_test(size=(160, 50)) as pilot:
            app.second_passed()
            await pilot.pause()
            assert "It was moved to history.db.damaged-" in app.board.head.notice.plain
            await pilot.press("a")
            await pilot.pause()
            assert not app.board.head.notice.has_class("-on")
