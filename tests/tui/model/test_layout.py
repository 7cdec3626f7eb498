"""Which panels a size has room for."""

from __future__ import annotations

import pytest

from tui.model import layout


@pytest.mark.parametrize("width", range(60, 301, 20))
@pytest.mark.parametrize("height", [20, 24, 30, 41, 42, 80])
def test_the_active_panel_is_always_among_those_shown(width: int, height: int) -> None:
    for name in layout.PANELS:
        assert name in layout.shown(width, height, active=name)
