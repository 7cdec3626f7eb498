"""Which sequence is meant."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import Sequence
from shared.commands import parse
from shared.commands.pause import Pause
from shared.commands.resolve import Ambiguous, NoMatch, Resolved, resolve_sequence
from shared.commands.resume import Resume

FOUNDERS = Sequence(id="sq_1", name="Q3 Founders", status="active")
CTOS = Sequence(id="sq_2", name="Q3 CTO", status="paused")
CTOS_EU = Sequence(id="sq_3", name="Q3 CTO Europe")
NAMELESS = Sequence(id="sq_44")
ALL = (FOUNDERS, CTOS, CTOS_EU, NAMELESS)


def test_a_whole_id_a_whole_name_a_word_or_a_lone_beginning_picks() -> None:
    for text in ("sq_1", "SQ_1", "q3 founders", "Q3  FOUN", "founders", "q3 fo"):
        assert resolve_sequence(ALL, text.split()) == Resolved(sequence=FOUNDERS)
    assert resolve_sequence(ALL, ["sq_44"]) == Resolved(sequence=NAMELESS)


@pytest.mark.parametrize("text", ["sq", "sq_", "sq_4", "q3 f", "fou", "ounders", "it", "all", "s"])
def test_a_part_of_an_id_and_a_short_beginning_match_no_sequence(text: str) -> None:
    others = (Sequence(id="sq_5", name="IT services"), Sequence(id="sq_6", name="Allied all stars"))
    assert isinstance(resolve_sequence((*ALL, *others), text.split()), NoMatch)


def test_whole_words_of_several_names_are_ambiguous() -> None:
    coast = (Sequence(id="sq_5", name="West Coast"), Sequence(id="sq_6", name="Western Europe"))
    found = resolve_sequence(coast, ["west"])
    assert isinstance(found, Ambiguous)
    assert found.candidates == coast


def test_the_shape_of_quotes_does_not_count() -> None:
    wait = Sequence(id="sq_5", name="Don’t wait")
    for line in ("resume don't wait", "resume “Don’t wait”", "resume 'don't wa'"):
        arguments = parse(line).arguments
        assert isinstance(arguments, Resume)
        assert resolve_sequence((*ALL, wait), arguments.target) == Resolved(sequence=wait)


def test_invisible_characters_are_ignored() -> None:
    hidden = Sequence(id="sq_9", name="Win\u200bback\u202e", status="active", steps=3)
    assert resolve_sequence([*ALL, hidden], ["winback"]) == Resolved(sequence=hidden)


def test_a_whole_name_wins_over_a_longer_one_that_begins_so() -> None:
    assert resolve_sequence(ALL, ["Q3", "CTO"]) == Resolved(sequence=CTOS)


def test_several_are_listed_each_with_a_button() -> None:
    result = resolve_sequence(ALL, ["q3"])
    assert isinstance(result, Ambiguous)
    card = result.card(lambda known: Pause(target=(known,), duration=timedelta(hours=2)))
    assert [button.line for button in card.buttons] == [f"pause sq_{n} for 2h" for n in (1, 2, 3)]
    assert "Nothing was changed" in card.text[0]


def test_two_of_one_name_are_ambiguous() -> None:
    twins = (Sequence(id="a", name="Twin"), Sequence(id="b", name="twin"))
    assert isinstance(resolve_sequence(twins, ["Twin"]), Ambiguous)


def test_none_names_the_nearest() -> None:
    result = resolve_sequence(ALL, ["Q3", "Fuonders"])
    assert isinstance(result, NoMatch)
    assert result.nearest[0] == FOUNDERS
    assert result.card(lambda known: Pause(target=(known,))).buttons[0].line == "pause sq_1"


def test_an_empty_account_says_so() -> None:
    result = resolve_sequence((), ["x"])
    assert isinstance(result, NoMatch)
    assert "no sequences" in result.card(lambda known: Pause(target=(known,))).text[0]


def resolve_greedily(text: str) -> object:
    return resolve_sequence(ALL, text.split(), greedy=True)


def test_the_longest_whole_name_counts_and_the_rest_is_a_reason() -> None:
    assert resolve_greedily("Q3 CTO Europe bounces a lot") == Resolved(
        sequence=CTOS_EU, rest=("bounces", "a", "lot")
    )
    assert resolve_greedily("Q3 CTO is bad") == Resolved(sequence=CTOS, rest=("is", "bad"))
    assert resolve_greedily("sq_2 is bad") == Resolved(sequence=CTOS, rest=("is", "bad"))
    assert isinstance(resolve_sequence(ALL, ["Q3", "CTO", "is", "bad"]), NoMatch)


def test_a_misspelt_name_never_pauses_the_lone_one_that_begins_alike() -> None:
    lone = (CTOS, FOUNDERS.__class__(id="sq_9", name="Spring"))
    result = resolve_sequence(lone, ["Q3", "fuonders"], greedy=True)
    assert isinstance(result, NoMatch)
    assert result.nearest == (CTOS,)


names = st.text(min_size=1, max_size=15)


@given(st.lists(names, max_size=6), names)
def test_whatever_is_said_the_answer_fits_and_its_buttons_parse(known: list[str], text: str) -> None:
    sequences = tuple(Sequence(id=f"sq_{n}", name=name) for n, name in enumerate(known))
    result = resolve_sequence(sequences, [text], greedy=True)
    if isinstance(result, Resolved):
        assert result.sequence in sequences
    else:
        assert all(parse(button.line) for button in result.card(lambda known: Pause(target=(known,))).buttons)
