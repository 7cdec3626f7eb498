"""What the palette offers for a few letters."""

from __future__ import annotations

import pytest

from shared.api.models import Sequence
from tui.app.dashboard import ACTIONS
from tui.model.lines import SequenceLine
from tui.model.offers import Offer, offers

SEQUENCES = tuple(
    SequenceLine(Sequence(id=f"sq_{n}", name=name, status="active", steps=1), is_namesake=name == "Twin")
    for n, name in enumerate(("Q3 founders", "Webinar", "Twin", "Twin"))
)


def first(typed: str) -> Offer:
    return offers(typed, sequences=SEQUENCES, actions=ACTIONS)[0]


def test_commands_and_then_their_sequences_are_offered() -> None:
    assert offers("pau", sequences=SEQUENCES)[0].line.startswith("pause SEQUENCE")
    every = ['pause "Q3 founders"', "pause Webinar", "pause sq_2", "pause sq_3"]
    assert [one.line for one in offers("pause ", sequences=SEQUENCES)] == every
    assert [one.line for one in offers("pause web", sequences=SEQUENCES)] == ["pause Webinar"]


@pytest.mark.parametrize(
    ("typed", "action"),
    [("export", "app.export"), ("exp", "app.export"), ("THEME", "app.next_theme"), ("rfrsh", "app.refresh")],
)
def test_an_action_of_the_screen_is_found_by_some_of_its_letters(typed: str, action: str) -> None:
    assert first(typed).action == action


def test_a_list_of_offers_and_the_search_for_spread_letters_are_bounded() -> None:
    many = [Offer(line=f"act {number:02}") for number in range(60)]
    assert [len(offers(typed, actions=many)) for typed in ("", "act")] == [36, 36]
    found = [Sequence(id=f"sq_{n}", name=f"Spring {n}", status="active", steps=1) for n in range(20)]
    sequences = [SequenceLine(one) for one in found]
    assert len(offers("pause spring", sequences=sequences)) == 12
    letters = "0a123456789bcdefghijklmnopqrstuvwxyz"
    spread = letters.replace("a", "")
    named = [Offer(line=letters, action="x")]
    assert [bool(offers(spread[:most], actions=named)) for most in (24, 25)] == [True, False]
