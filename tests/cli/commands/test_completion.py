"""Tab in a real shell completes words, options, files and what the account holds."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from argcomplete.finders import CompletionFinder

from cli.commands import completion
from cli.line import words as every_word
from tests.cli.conftest import Shell

OUTREACH = str(Path(sys.executable).with_name("outreach"))
SCRIPT = """
eval "$3"
COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9
_python_argcomplete "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Finder(CompletionFinder):
    """Leaves descriptor 9 alone, to which a shell's own process writes what it debugs."""

    def _init_debug_stream(self) -> None:
        pass


@pytest.fixture
def complete(offline: Shell, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """What the program answers in this process to the script of bash, after `outreach` and a text."""

    def ask(typed: str, *, folder: Path = offline.home) -> list[str]:
        line = f"outreach {typed}"
        environ = {"COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE": "1"}
        environ |= {"_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'@><=;|&(:", "_ARGCOMPLETE_IFS": "\n"}
        answer = io.StringIO()
        with monkeypatch.context() as patch:
            for name, value in environ.items():
                patch.setenv(name, value)
            patch.chdir(folder)
            patch.setattr(
                "argcomplete.autocomplete", partial(Finder(), output_stream=answer, exit_method=_stay)
            )
            completion.complete()
        return [word.rstrip() for word in answer.getvalue().splitlines() if word.strip()]

    return ask


def _stay(code: int) -> None:
    assert code == 0


def complete_in_bash(typed: str, *, folder: Path) -> list[str]:
    """What bash offers after `outreach` and the text."""
    setup = subprocess.run([OUTREACH, "completion", "bash"], capture_output=True, text=True, check=True)
    ran = subprocess.run(
        ["bash", "-c", SCRIPT, "_", OUTREACH, f"outreach {typed}", setup.stdout],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.rstrip() for line in ran.stdout.splitlines() if line.strip()]


@pytest.mark.e2e
def test_bash_offers_what_the_program_answers(offline: Shell) -> None:
    (offline.home / "leads.csv").touch()
    for typed, offered in {
        "webh": ["webhooks"],
        "import lea": ["leads.csv"],
        "status @": ["default"],
    }.items():
        assert complete_in_bash(typed, folder=offline.home) == offered


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


def test_workspaces_of_the_configuration_are_offered(offline: Shell, complete: Complete) -> None:
    file = offline.home / "outreach.toml"
    file.write_text("[workspaces.acme]\n[workspaces.globex]\n")
    # To bash, a word begins anew after the @.
    assert set(complete("status @")) == {"acme", "default", "globex"}
    elsewhere = offline.home / "empty"
    elsewhere.mkdir()
    assert complete(f"--config {file} status --workspace glo", folder=elsewhere) == ["globex"]


def test_files_are_offered_where_a_file_is_wanted(offline: Shell, complete: Complete) -> None:
    (offline.home / "leads.csv").touch()
    assert complete("import lea") == ["leads.csv"]
    assert complete("sandbox --inboxes 6") == []
