"""Filters over words and columns."""

from __future__ import annotations

import pytest

from tests.tui.accounts import account, board_of
from tui.model.lists.columns import INBOXES
from tui.model.lists.filter_sort import Arrangement, arranged


@pytest.mark.parametrize(
    ("find", "number"),
    [
        ("status:resting", 6),
        ("status:resting domain:useacme", 6),
        ("status:resting domain:acmehq", 0),
        ("!status:resting", 18),
        ("domain:acmehq", 6),
        ("limit:53", 1),
        ("person01", 1),
        ("nothing:here", 0),
        ("status:", 0),
    ],
)
def test_a_filter_looks_in_the_column_that_it_names(find: str, number: int) -> None:
    shown = arranged(board_of(account()).inboxes, Arrangement(find=find), columns=INBOXES)
    assert len(shown) == number
