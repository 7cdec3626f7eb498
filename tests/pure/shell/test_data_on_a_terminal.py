"""Data on a terminal moves no cursor and hides nothing; in a pipe or a file it is exact."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest

from cli.console import card_output, exit_codes

# One sets the window's title, one is an escape in a single character, and one turns text around.
OSC, C1, BIDI = "\x1b]0;owned\x07", "\x9b31m\x9d0;owned\x9c", "\u202egnp.exe\u2066"
HOSTILE = f"Ada {OSC}{C1}{BIDI}\x7f\u200b\u2028\U000e0041 Lovelace\nüber 你好"
ROW = {"first_name": HOSTILE, "email": "ada@acme.example"}
FORBIDDEN = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\u200b\u202e\u2066\u2028\U000e0041"} - {
    "\n"
}
Print = Callable[[Sequence[Mapping[str, object]]], None]


class Stdout(io.StringIO):
    """A terminal, or a pipe, that speaks UTF-8."""

    encoding = "utf-8"

    def __init__(self, *, terminal: bool) -> None:
        super().__init__(newline="")
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def output(print_it: Callable[[], object], *, terminal: bool, patch: pytest.MonkeyPatch) -> str:
    with patch.context() as patched:
        out = Stdout(terminal=terminal)
        patched.setattr(sys, "stdout", out)
        print_it()
    return out.getvalue()


PRINTED: Mapping[str, Print] = {"--json": card_output.print_data, "--csv": card_output.print_csv}


@pytest.mark.parametrize("what", PRINTED)
def test_data_on_a_terminal_has_no_control_characters(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = output(partial(PRINTED[what], [ROW]), terminal=True, patch=monkeypatch)
    assert not FORBIDDEN & set(shown)
    assert "Lovelace" in shown
    assert "über 你好" in shown
    if "json" not in what:
        assert "owned" not in shown


@pytest.mark.parametrize("what", PRINTED)
def test_data_in_a_pipe_is_exact(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = output(partial(PRINTED[what], [ROW]), terminal=False, patch=monkeypatch)
    if "json" in what:
        assert json.loads(shown) == [ROW]
        assert BIDI in shown
    else:
        assert HOSTILE in shown


def test_an_error_obeys_nothing_of_what_it_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    exit_codes.print_error(HOSTILE)
    assert not FORBIDDEN & set(capsys.readouterr().err)
