"""Tab in a real shell completes words, options, files and what the account holds."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from argcomplete.finders import CompletionFinder

from cli.commands import completion
from cli.line import words as every_word
from tests.kit import Shell


class Finder(CompletionFinder):
    """Leaves descriptor 9 alone, to which a shell's own process writes what it debugs."""

    def _init_debug_stream(self) -> None:
        pass


@pytest.fixture
def complete(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What the program answers in this process to the script of bash, after `outreach` and a text."""

    def ask(typed: str, *, folder: Path | None = None) -> list[str]:
        line = f"outreach {typed}"
        environ = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1"}
        environ |= {"_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'@><=;|&(:", "_ARGCOMPLETE_IFS": "\n"}
        answer = io.StringIO()
        with monkeypatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, value)
            patch.chdir(folder or shell.home)
            patch.setattr(
                "argcomplete.autocomplete", partial(Finder(), output_stream=answer, exit_method=_stay)
            )
            completion.complete()
        return [word.rstrip() for word in answer.getvalue().splitlines() if word.strip()]

    return ask


def _stay(code: int) -> None:
    assert code == 0


Complete = Callable[..., list[str]]


def test_the_first_word_is_a_command_a_program_or_an_option(complete: Complete) -> None:
    assert {*every_word(), "--config", "--help"} <= set(complete(""))
    assert complete("webh") == ["webhooks"]
    assert {"pause", "sandbox"} <= set(complete("help "))


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("webhooks create reply.", {"reply.interested", "reply.ooo"}),
        ("--config x.toml import --", {"--dry-run", "--to"}),
        ("completion ", {"bash", "zsh", "fish"}),
    ],
)
def test_choices_options_and_events_are_offered(complete: Complete, typed: str, offered: set[str]) -> None:
    assert offered <= set(complete(typed))


def test_files_are_offered_where_a_file_is_wanted(shell: Shell, complete: Complete) -> None:
    (shell.home / "leads.csv").touch()
    assert complete("import lea") == ["leads.csv"]
    assert complete("sandbox --inboxes 6") == []
