"""The dashboard's own mistakes: told apart, counted, and logged once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.kit.snapshots import NOW
from tui.app.own_errors import ErrorLog, OwnError


def note(log: ErrorLog, mistake: str, *, times: int = 1) -> OwnError:
    noted = None
    for second in range(times):
        try:
            exec(mistake)  # each at a place of its own
        except Exception as error:  # noqa: BLE001 # whatever it is
            noted = log.note(error, now=NOW + timedelta(seconds=second))
    assert noted
    return noted


def test_a_mistake_is_counted_and_its_trace_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    log = ErrorLog()
    once = note(log, "1 / 0")
    assert len(caplog.records) == 1
    assert once.words(NOW) == (
        f"Internal error in the dashboard (reference {once.reference}, 14:32). "
        "It keeps running. Details are in the log."
    )
    often = note(log, "1 / 0", times=1199)
    assert (often.reference, often.times, often.at) == (once.reference, 1200, NOW + timedelta(seconds=1198))
    assert f"(reference {once.reference}, 14:52, 1,200 times)" in often.words(NOW)
    told = [record.getMessage() for record in caplog.records]
    assert told == [f"internal error in the dashboard, reference {once.reference}"]
    assert caplog.records[0].exc_info
    # By their kind and their place.
    others = [note(log, "\n" * line + mistake).times for line in (1, 2) for mistake in ("1 / 0", "nosuch")]
    assert others == [1] * 4
