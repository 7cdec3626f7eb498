"""The commands of README and docs that only read are run against the sandbox."""

from __future__ import annotations

import pytest

from cli.line import split
from cli.programs import PROGRAMS
from shared.commands import COMMANDS
from tests.kit import Account, Shell
from tests.kit.docs_blocks import shell_lines

PROGRAMS_THAT_READ = {"completion", "manifest"}


def _reads(words: tuple[str, ...]) -> bool:
    typed = split(words)
    if typed.word in PROGRAMS_THAT_READ or typed.word is None:
        return True
    return (
        typed.word in COMMANDS.keys() - PROGRAMS.keys()
        and not COMMANDS[typed.word].changes
        and "@" not in " ".join(words)
    )


@pytest.mark.parametrize("words", [words for words in shell_lines() if _reads(words)], ids=" ".join)
async def test_a_reading_command_of_the_pages_works(
    account: Account, shell: Shell, words: tuple[str, ...]
) -> None:
    shell.use(account.environ)
    result = await shell.type(*words)
    assert (result.code, bool(result.out)) == (0, True), result.err
