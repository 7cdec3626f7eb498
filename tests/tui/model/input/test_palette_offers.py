"""What the palette offers for a few letters."""

from __future__ import annotations

import pytest

from tui.model.input.keys import ALARMS, BOARD, REPLIES, common
from tui.model.input.palette_offers import MOST, Offer, offers

SEQUENCES = ("Q3 founders", "Webinar")


def first(typed: str) -> Offer:
    return offers(typed, sequences=SEQUENCES, keys=BOARD)[0]


def test_commands_and_then_their_sequences_are_offered() -> None:
    assert [one.line for one in offers("pau", sequences=SEQUENCES)][:1] == [
        "pause SEQUENCE [for 2h] [reason …]"
    ]
    assert [one.line for one in offers("pause web", sequences=SEQUENCES)] == ["pause Webinar"]
    assert offers("pause ", sequences=SEQUENCES)[0].line == 'pause "Q3 founders"'


@pytest.mark.parametrize(
    ("typed", "action"),
    [
        ("alarms", "app.alarms"),
        ("alrm", "app.alarms"),
        ("export", "app.export"),
        ("exp", "app.export"),
        ("wall", "app.wall"),
        ("ackn", "app.acknowledge"),
        ("THEME", "app.theme"),
    ],
)
def test_an_action_of_the_screen_is_found_by_some_of_its_letters(typed: str, action: str) -> None:
    assert first(typed).action == action


@pytest.mark.parametrize(
    ("typed", "actions"),
    [
        ("workspace", {"app.workspace(1)", "app.workspace(-1)", "app.all_workspaces"}),
        ("compare", {"app.difference"}),
    ],
)
def test_a_word_finds_every_action_that_has_it(typed: str, actions: set[str]) -> None:
    assert actions <= {one.action for one in offers(typed, keys=BOARD)}


def test_every_action_of_a_screen_is_offered_with_its_key() -> None:
    for keys in (BOARD, ALARMS, (*REPLIES, *common(REPLIES))):
        for key in keys:
            found = [
                one
                for one in offers(key.word, keys=keys)
                if one.action == key.action and one.key == key.shown
            ]
            assert bool(found) == bool(key.action), key


def test_a_name_of_before_finds_its_command() -> None:
    assert first("guard").line.startswith("guardrails")


def test_nothing_is_offered_for_what_matches_nothing() -> None:
    assert offers("zzqqxx", sequences=SEQUENCES, keys=BOARD) == []


def test_a_long_line_of_repeated_letters_is_answered() -> None:
    for typed in ("e" * 200, "a e " * 50, "wwwwwwwwwwwwwwwwwwwwwwww", "ee ee ee ee ee ee ee"):
        assert len(offers(typed, sequences=SEQUENCES, keys=BOARD)) <= MOST
