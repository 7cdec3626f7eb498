"""However a run ends, it ends with the right code and without a traceback."""

from __future__ import annotations

import os
import pty
import select
from typing import Any

import pytest

from cli.console import exit_codes
from shared.api.errors import Uncertain, Unreachable
from shared.domain.card import Card
from shared.records.records import RecordsUnavailable
from tests.cli.conftest import Shell

PATIENCE = 20


@pytest.mark.parametrize(
    ("fault", "code", "text"),
    [
        (exit_codes.Failed("no"), 1, "outreach: no"),
        (exit_codes.WrongUsage("wrong"), 2, "outreach: wrong"),
        (exit_codes.Interrupted("stopped"), 130, "outreach: stopped"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
        (Unreachable(endpoint="GET /leads"), 1, "can't be reached"),
        (Uncertain(), 1, "We couldn't confirm"),
        (RecordsUnavailable("the disk is gone"), 1, "the disk is gone"),
        (OSError(28, "No space left on device"), 1, "No space left"),
        (
            ExceptionGroup("both", [exit_codes.Refused(Card(title="No such thing")), OSError()]),
            1,
            "No such thing",
        ),
        (ZeroDivisionError("secret sauce"), 1, "ZeroDivisionError"),
    ],
)
def test_every_ending_has_its_code_and_its_sentence(
    fault: BaseException,
    code: int,
    text: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        exit_codes, "_reader_left", lambda: exit_codes.DONE
    )  # it would close this process's stdout

    def act() -> int:
        raise fault

    assert exit_codes.guard(act) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert text in output.err
    assert "Traceback" not in output.err
    assert "secret sauce" not in output.err


@pytest.mark.e2e
def test_a_closed_pipe_is_not_a_failure(shell: Shell) -> None:
    process = shell.spawn("leads", "--json")
    assert process.stdout
    assert process.stderr
    # Like `| head`, which leaves before the last line.
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(PATIENCE) == 0


@pytest.mark.e2e
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 1)])
def test_removing_asks_on_a_terminal(shell: Shell, answer: str, code: int) -> None:
    address = f"ask-{answer or 'enter'}@shell.example.com"
    assert shell.run("add", address, "to", "Fintech").code == 0
    front, back = pty.openpty()
    try:
        try:
            process = shell.spawn("remove", address, stdin=back, stderr=back)
        finally:
            os.close(back)
        seen = _until(front, "[y/N]")
        os.write(front, f"{answer}\n".encode())
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        os.close(front)
    assert address in seen
    assert process.returncode == code
    assert ("Removed " in out) == (answer == "y")
    if answer != "y":
        assert shell.run("lead", address).code == 0


def test_a_dashboard_without_a_terminal_says_what_to_do_instead(shell: Shell) -> None:
    """Left to itself it would draw into a file forever."""
    result = shell.run("dashboard")
    assert (result.code, result.out) == (2, "")
    assert "--once" in result.err
    assert "\x1b" not in result.err
    # A script that waits for the snapshot would wait for ever.
    assert shell.run("dashboard", "--web", "--once").code == 2


def _until(terminal: int, text: str) -> str:
    seen = ""
    while text not in seen:
        assert select.select([terminal], [], [], PATIENCE)[0], seen
        seen += os.read(terminal, 4096).decode()
    return seen


def test_a_port_in_use_is_reported(sandbox: dict[str, Any], offline: Shell) -> None:
    port = sandbox["base_url"].split(":")[2].split("/")[0]
    result = offline.run("sandbox", "--port", port)
    assert (result.code, result.out) == (1, "")
    assert "port is in use" in result.err
