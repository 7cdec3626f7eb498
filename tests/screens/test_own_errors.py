"""The dashboard's own mistakes cost a message, not the screen."""

from __future__ import annotations

import pytest
from textual.strip import Strip

from tests.kit.snapshots import Clock, account, acme, tick_of
from tui.app.dashboard import DashboardApp
from tui.app.own_errors import ErrorLog
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
