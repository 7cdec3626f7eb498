"""Data on a terminal moves no cursor and hides nothing; in a pipe or a file it is exact."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.bulk import export_command
from cli.console import card_output, exit_codes

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


def exported(form: str, patch: pytest.MonkeyPatch) -> Callable[[], None]:
    """`outreach export -`, whose leads are there."""

    async def export(options: Any, *, as_csv: bool) -> int:
        assert as_csv == (form == "csv")
        with options.file.open("w", encoding="utf-8", newline="") as file:
            if as_csv:
                csv.writer(file).writerow([HOSTILE, ROW["email"]])
            else:
                file.write(json.dumps(ROW, ensure_ascii=False) + "\n")
        return 1

    patch.setattr(export_command, "_export", export)
    return lambda: export_command._export_through(SimpleNamespace(file=Path("-")), form)  # type: ignore[arg-type]


PRINTED: Mapping[str, Callable[[pytest.MonkeyPatch], Callable[[], object]]] = {
    "--json": lambda _: lambda: card_output.print_data([ROW]),
    "--csv": lambda _: lambda: card_output.print_csv([ROW]),
    "export json": lambda patch: exported("json", patch),
    "export csv": lambda patch: exported("csv", patch),
}


@pytest.mark.parametrize("what", PRINTED)
def test_data_on_a_terminal_has_no_control_characters(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = output(PRINTED[what](monkeypatch), terminal=True, patch=monkeypatch)
    assert not FORBIDDEN & set(shown)
    assert "Lovelace" in shown
    assert "über 你好" in shown
    if "json" not in what:
        assert "owned" not in shown


@pytest.mark.parametrize("what", PRINTED)
def test_data_in_a_pipe_is_exact(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = output(PRINTED[what](monkeypatch), terminal=False, patch=monkeypatch)
    if "json" in what:
        found = json.loads(shown)
        assert (found[0] if isinstance(found, list) else found) == ROW
        assert BIDI in shown
    else:
        assert HOSTILE in shown


@pytest.mark.parametrize("what", ["--json", "export json"])
def test_json_on_a_terminal_means_the_same(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(output(PRINTED[what](monkeypatch), terminal=True, patch=monkeypatch))
    assert (found[0] if isinstance(found, list) else found) == ROW


def test_an_error_obeys_nothing_of_what_it_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    exit_codes.print_error(HOSTILE)
    assert not FORBIDDEN & set(capsys.readouterr().err)
