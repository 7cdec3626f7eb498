"""However a run ends, it ends with the right code and without a traceback."""

from __future__ import annotations

import pytest

from cli.console import exit_codes
from shared.api.errors import Uncertain, Unreachable
from shared.domain.card import Card
from shared.records import RecordsUnavailable


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
