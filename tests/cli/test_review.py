"""The checklist of docs/operations.md: each command that shows a line of it can be run."""

from __future__ import annotations

import re
import shlex

from tests.cli.conftest import ROOT, Shell
from tests.findings import Findings

PAGE = (ROOT / "docs" / "operations.md").read_text()
REVIEW = PAGE.partition("\n## Review\n")[2].partition("\n## ")[0]
FIRST = ("outreach database upgrade", "outreach database backup outreach-backup.db")
"""What the others need: a database, and a backup of it."""
MAY_FAIL = {"outreach doctor"}
"""It says what is wrong here: there is no Slack."""


def shown_by() -> list[str]:
    rows = [line.split(" | ")[-1] for line in REVIEW.splitlines() if line.startswith("| ")]
    return [command for row in rows for command in re.findall(r"`((?:outreach|make) [^`]+)`", row)]


def test_the_checklist_covers_what_reviews_ask_for() -> None:
    subjects = {line.split(" | ")[0].strip("| ") for line in REVIEW.splitlines() if line.startswith("| ")}
    assert {"secrets", "logs", "data", "access", "supply chain", "upgrade", "restore"} <= subjects
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {command.split()[1] for command in shown_by() if command.startswith("make ")} <= targets


def test_each_command_of_the_checklist_runs(shell: Shell) -> None:
    shell.set("OUTREACH_DATABASE_URL", f"sqlite:///{shell.home}/outreach.db")
    shell.set("SLACK_BOT_TOKEN", "s")
    shell.set("SLACK_SIGNING_SECRET", "s")
    commands = [command for command in shown_by() if command.startswith("outreach ")]
    assert set(FIRST) <= set(commands)
    found = Findings()
    for command in dict.fromkeys([*FIRST, *commands]):
        with found.at(command):
            words = [
                str(shell.home / word) if word.endswith(".db") else word for word in shlex.split(command)[1:]
            ]
            if words[0] == "forget" or words[1:2] == ["restore"]:
                words.append("--yes")
            result = shell.run(*words)
            assert result.code == 0 or command in MAY_FAIL, result.out + result.err
            assert "Traceback" not in result.err
    assert not found, str(found)
