"""The table of keys."""

from __future__ import annotations

from tui.model.input.keys import BOARD, bindings


def test_keys_are_bound_once_and_have_a_word() -> None:
    keys = [key for entry in BOARD for key in entry.keys.split(",")]
    assert len(keys) == len(set(keys))
    assert len({entry.id for entry in BOARD}) == len(BOARD) == len(bindings())
    assert all(entry.summary for entry in BOARD)
