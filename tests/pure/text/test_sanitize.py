"""Text from outside moves no cursor, styles nothing and hides nothing."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.sanitize import visible, visible_lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "red"),
        # CSI in one byte, which some terminals obey.
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07after", "after"),
        # A terminal's link: it shows one address and opens another.
        ("\x1b]8;;https://evil\x1b\\bank\x1b]8;;\x1b\\", "bank"),
        ("\x1bP1$r\x1b\\x", "x"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("a\x08\x08b\x00", "ab"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("in\u200bvis\ufeffible", "invisible"),
        ("tab\tand\r\nbreak\u2028end", "tab and break end"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("Zoë 名 🙂", "Zoë 名 🙂"),
    ],
)
def test_dangerous_characters_are_removed_and_text_stays(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_line_breaks_can_be_kept() -> None:
    assert visible_lines("one\r\ntwo\x1b[1m\x0bthree") == "one\ntwo\nthree"


@given(st.text(alphabet=st.characters(codec=None) | st.sampled_from("\x1b[]\x9b\x07m;0\u202e\ud800")))
def test_no_text_keeps_a_control_a_direction_or_half_a_pair(text: str) -> None:
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
    assert not [
        c for c in shown if unicodedata.bidirectional(c) in {"RLO", "LRO", "RLE", "LRE", "RLI", "LRI", "PDF"}
    ]
    shown.encode()
