"""`outreach import` after a failure: only rows whose request was on its way may be its own doing."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.bulk import import_command
from tests.cli.conftest import Shell

TARGET = "Recruiters Singapore"


def test_only_rows_on_their_way_are_called_possibly_added(
    shell: Shell, sandbox: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine must not begin the second request before the first has its answer.
    monkeypatch.setattr(import_command, "BETWEEN_REQUESTS_SECONDS", 60.0)
    file = shell.home / "leads.csv"
    file.write_text("email\n" + "".join(f"new{number}@resumed.example.com\n" for number in range(1100)))
    words = ("import", str(file), "--to", TARGET, "--json")
    faults = f"{sandbox['control_url']}/faults"
    fault = {"endpoint": "POST /leads", "status": 403, "times": None}
    httpx.post(faults, json=fault).raise_for_status()
    try:
        assert shell.run(*words).code == 1
    finally:
        httpx.delete(faults).raise_for_status()
    for number in (5, 1050):
        assert shell.run("add", f"new{number}@resumed.example.com", "to", TARGET).code == 0
    done = shell.run(*words).data[0]
    assert (done["added"], done["skipped"]) == (1098, 2)
    with Path(done["report"]).open(newline="") as report:
        skipped = {row["email"]: row["reason"] for row in csv.DictReader(report) if row["reason"]}
    assert "possibly added" in skipped["new5@resumed.example.com"]
    assert "possibly added" not in skipped["new1050@resumed.example.com"]
