"""Tab in a real shell completes words, options, files and what the account holds."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from cli.commands import completion
from cli.parser import command_line
from tests.cli.conftest import Shell

OUTREACH = str(Path(sys.executable).with_name("outreach"))
SCRIPT = """
eval "$3"
COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=9
_python_argcomplete "$1"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@cache
def setup() -> str:
    """What a shell evaluates at its start."""
    return subprocess.run([OUTREACH, "completion", "bash"], capture_output=True, text=True, check=True).stdout


def complete(typed: str, *, folder: Path) -> list[str]:
    """What bash offers after `outreach` and the text."""
    ran = subprocess.run(
        ["bash", "-c", SCRIPT, "_", OUTREACH, f"outreach {typed}", setup()],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line.rstrip() for line in ran.stdout.splitlines() if line.strip()]


def test_the_first_word_is_a_command_a_program_or_an_option(offline: Shell) -> None:
    assert {*command_line.words(), "--config", "--help"} <= set(complete("", folder=offline.home))
    assert complete("webh", folder=offline.home) == ["webhooks"]
    assert {"pause", "sandbox"} <= set(complete("help ", folder=offline.home))


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("webhooks create reply.", {"reply.interested", "reply.ooo"}),
        ("subscribe reply.", {"reply.interested", "reply.ooo"}),
        ("sequences ", {"active", "paused"}),
        ("--config x.toml import --", {"--dry-run", "--to"}),
        ("completion ", {"bash", "zsh", "fish"}),
        ("stats by ", {"sequence", "step", "variant", "inbox"}),
    ],
)
def test_fixed_words_options_and_events_are_offered(offline: Shell, typed: str, offered: set[str]) -> None:
    assert offered <= set(complete(typed, folder=offline.home))


def test_an_option_of_the_program_itself_is_not_offered(offline: Shell) -> None:
    assert complete("dashboard --fo", folder=offline.home) == []


@pytest.mark.parametrize("typed", ["pause Recr", "add a@b.co to Recr", "import leads.csv --to Recr"])
def test_sequences_of_the_account_are_offered(shell: Shell, typed: str) -> None:
    assert complete(typed, folder=shell.home) == ["Recruiters\\ Singapore"]


def test_no_sequence_is_offered_where_the_service_does_not_answer(offline: Shell) -> None:
    assert complete("resume Recr", folder=offline.home) == []


def test_workspaces_of_the_configuration_are_offered(offline: Shell) -> None:
    file = offline.home / "outreach.toml"
    file.write_text("[workspaces.acme]\n[workspaces.globex]\n")
    # To bash, a word begins anew after the @.
    assert set(complete("status @", folder=offline.home)) == {"acme", "default", "globex"}
    elsewhere = offline.home / "empty"
    elsewhere.mkdir()
    assert complete(f"--config {file} status --workspace glo", folder=elsewhere) == ["globex"]


def test_files_are_offered_where_a_file_is_wanted(offline: Shell) -> None:
    (offline.home / "leads.csv").touch()
    assert complete("import lea", folder=offline.home) == ["leads.csv"]
    assert complete("sandbox --database lea", folder=offline.home) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(offline: Shell, shell: str) -> None:
    result = offline.run("completion", shell)
    assert result.code == 0
    assert "_ARGCOMPLETE=1" in result.out.replace("_ARGCOMPLETE 1", "_ARGCOMPLETE=1")


def test_the_fixed_words_of_a_usage_are_found() -> None:
    assert completion.fixed_words("SEQUENCE [for 2h] [reason …]") == ("for", "reason")
    assert completion.fixed_words("FILE [--status STATUS] [--format csv|jsonl]") == ("csv", "jsonl")
