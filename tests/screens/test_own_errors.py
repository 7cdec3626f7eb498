"""The dashboard's own mistakes cost a message, not the screen; and what is damaged or wild outside costs neither."""

from __future__ import annotations

from pathlib import Path

import pytest
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
    """Trips over every line that it paints while it is `blind`."""

    blind = False

    def render_line(self, y: int) -> Strip:
        if self.blind:
            raise ZeroDivisionError
        return super().render_line(y)


async def test_a_widget_that_cannot_be_painted_stays_blank_and_the_others_are_painted(clock: Clock) -> None:
    app = DashboardApp([acme()], now=clock, error_log=ErrorLog())
    clumsy = app.board.numbers = FailingWidget(id="numbers")
    async with app.run_test(size=(160, 50)) as pilot:
        app.post_message(app.Ticked(tick_of(account())))
        clumsy.blind = True
        clumsy.refresh()
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
