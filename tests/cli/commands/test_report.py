"""`outreach report` against a running sandbox: the data, and the summary."""

from __future__ import annotations

import json

from tests.cli.conftest import Shell


def test_the_data_are_written(shell: Shell) -> None:
    ran = shell.run("report", "last-week", "--json")
    assert ran.code == 0
    (data,) = json.loads(ran.out)
    assert data["totals"]["sends"] > 0
    assert len(data["days"]) == 7
    assert sum(day["sends"] for day in data["days"]) == data["totals"]["sends"]
    assert data["totals"]["reply_rate_low"] < data["totals"]["reply_rate"] < data["totals"]["reply_rate_high"]


def test_without_options_the_summary_is_shown(shell: Shell) -> None:
    ran = shell.run("report", "last-month")
    assert ran.code == 0
    assert "Report, " in ran.out
    assert "Time to claim" in ran.out
