"""Which sequence is meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api.models import Sequence
from shared.commands import parse
from shared.commands.pause import Pause, Resume
from shared.commands.sequences import resolve_sequence

FOUNDERS = Sequence(id="sq_1", name="Q3 Founders", status="active")
CTOS = Sequence(id="sq_2", name="Q3 CTO", status="paused")
CTOS_EU = Sequence(id="sq_3", name="Q3 CTO Europe")
NAMELESS = Sequence(id="sq_44")
ALL = (FOUNDERS, CTOS, CTOS_EU, NAMELESS)


def test_the_shape_of_quotes_does_not_count() -> None:
    # Phones and editors turn straight quotes into curly ones while people type.
    wait = Sequence(id="sq_5", name="Don’t wait")
    for line in ("resume don't wait", "resume “Don’t wait”", "resume 'don't wa'"):
        arguments = parse(line).arguments
        assert isinstance(arguments, Resume)
        assert resolve_sequence((*ALL, wait), arguments.target).only == wait


def test_invisible_characters_are_ignored() -> None:
    # Nobody can type what isn't seen: with such a name the sequence would be out of reach.
    hidden = Sequence(id="sq_9", name="Win\u200bback\u202e", status="active", steps=3)
    assert resolve_sequence([*ALL, hidden], ["winback"]).only == hidden


def test_a_whole_name_wins_over_a_longer_one_that_begins_so() -> None:
    assert resolve_sequence(ALL, ["Q3", "CTO"]).only == CTOS


LISTED = (
    *(
        Sequence(id=f"sq_62{n}", name=name)
        for n, name in enumerate(("Fintech ops leaders", "Recruiters Singapore"))
    ),
    *(Sequence(id=f"sq_7{n}", name=f"SaaS founders, {place}") for n, place in enumerate(("US", "EU"))),
)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("fintech", "sq_620"),
        ("FINTECH OPS LEADERS", "sq_620"),
        ("recr", "sq_621"),
        ("singapore", "sq_621"),
        ("sq_71", "sq_71"),
        *((words, "") for words in ("nothing-like-this", "rec", "it", "sq_6", "sq_", "leaders ops", "saas")),
    ],
)
def test_a_sequence_is_found_by_id_name_word_or_beginning(words: str, found: str) -> None:
    match = resolve_sequence(LISTED, words.split())
    assert (match.only.id if match.only else "") == found


def test_of_several_that_fit_none_is_meant_and_the_nearest_of_a_misspelled_name_is_named() -> None:
    def offered(*words: str) -> list[str]:
        return [
            button.line
            for button in resolve_sequence(LISTED, words).card(lambda one: Pause(target=(one,))).buttons
        ]

    assert offered("saas") == ["pause sq_70", "pause sq_71"]
    assert offered("fintec", "opps") == ["pause sq_620"]


names = st.text(min_size=1, max_size=15)


@given(st.lists(names, max_size=6), names)
def test_whatever_is_said_the_answer_fits_and_its_buttons_parse(known: list[str], text: str) -> None:
    sequences = tuple(Sequence(id=f"sq_{n}", name=name) for n, name in enumerate(known))
    result = resolve_sequence(sequences, [text], greedy=True)
    if result.only:
        assert result.only in sequences
    else:
        assert all(parse(button.line) for button in result.card(lambda known: Pause(target=(known,))).buttons)
