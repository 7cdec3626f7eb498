"""The manual page, from the same tables as the help."""

from __future__ import annotations

import re

from cli.commands.man import manual
from cli.parser.command_line import offered
from cli.parser.shell_commands import PROGRAMS
from shared.commands import COMMANDS
from tests.cli.conftest import Shell


def test_every_command_has_a_section_with_its_usage(offline: Shell) -> None:
    sections = {
        line.split()[2] for line in offline.run("man").out.splitlines() if line.startswith(".SS outreach ")
    }
    expected = {name for name, command in COMMANDS.items() if offered(command)} | set(PROGRAMS)
    assert {section.replace(r"\-", "-") for section in sections} == expected


def test_no_text_is_taken_for_a_request_or_an_escape() -> None:
    page = manual()
    assert page.isascii()
    requests = {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".B", ".TP", ".PP", ".RS", ".RE", ".nf", ".fi"}
    assert set(re.findall(r"\\(.)", page)) <= set("f-e&[")
