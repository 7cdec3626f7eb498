"""An export has every lead once, contains no formulas, and appears complete or not at all."""

from __future__ import annotations

import csv
import json

import pytest

from shared.api.models import Lead
from shared.commands.leads import record_of
from tests.cli.conftest import Shell


def test_a_status_is_written_as_csv_with_the_custom_fields(shell: Shell) -> None:
    path = shell.home / "out.csv"
    result = shell.run("export", str(path), "--status", "interested")
    assert (result.code, result.out) == (0, ""), result.err
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert f"Wrote {len(rows)} leads" in result.err
    assert rows
    assert {row["status"] for row in rows} == {"interested"}
    assert list(rows[0])[:6] == ["id", "email", "status", "first_name", "last_name", "company"]
    assert oct(path.stat().st_mode & 0o777) == "0o600"


def test_formulas_are_guarded_and_come_back_by_an_import(shell: Shell) -> None:
    assert shell.run("add", "=evil@export.example.com", "to", "Webinar follow-up", "note==1+1").code in {0, 1}
    assert shell.run("add", "sum@export.example.com", "to", "Fintech", "note==HYPERLINK(1)").code == 0
    path = shell.home / "out.csv"
    result = shell.run("export", str(path), "--sequence", "Fintech", "--status", "active")
    assert result.code == 0, result.err
    with path.open(newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if row["email"] == "sum@export.example.com"]
    assert row["note"] == "'=HYPERLINK(1)"
    trial = shell.run("import", str(path), "--to", "x", "--dry-run")
    assert "0 rows can't" in trial.out


def test_a_file_that_is_there_stays_unless_forced(shell: Shell) -> None:
    path = shell.home / "out.csv"
    path.write_text("precious")
    refused = shell.run("export", str(path), "--status", "interested")
    assert (refused.code, path.read_text()) == (1, "precious")
    assert "--force" in refused.err
    assert shell.run("export", str(path), "--status", "interested", "--force").code == 0
    assert path.read_text().startswith("id,email")


def test_an_export_to_stdout_is_the_file_and_nothing_else(shell: Shell) -> None:
    result = shell.run("export", "-", "--status", "interested", "--format", "jsonl")
    assert result.code == 0
    assert {json.loads(line)["status"] for line in result.out.splitlines()} == {"interested"}
    assert shell.run("export", "-").code == 2, "nothing says which form"


def test_a_file_that_is_there_stays_when_the_export_fails(shell: Shell) -> None:
    path = shell.home / "out.csv"
    path.write_text("precious")
    shell.set("OUTREACH_API_KEY", "live_wrong")
    assert shell.run("export", str(path), "--force").code == 1
    assert path.read_text() == "precious"
    assert [p.name for p in shell.home.iterdir() if p.is_file()] == ["out.csv"]


@pytest.mark.parametrize(("name", "code"), [("out.xlsx", 2), ("nowhere/out.csv", 1)])
def test_a_file_that_cannot_be_is_refused(offline: Shell, name: str, code: int) -> None:
    result = offline.run("export", str(offline.home / name))
    assert (result.code, result.out) == (code, "")


def test_a_record_keeps_what_else_the_service_sent_once_and_flat() -> None:
    raw = {
        "id": "ld_1",
        "emailAddress": "a@b.co",
        "custom_fields": {"title": "CTO", "email": "other@b.co"},
        "tags": ["x", "y"],
        "company": "Acme",
    }
    assert record_of(Lead(id="ld_1", email="a@b.co", company="Acme", raw=raw)) == {
        "id": "ld_1",
        "email": "a@b.co",
        "status": None,
        "first_name": None,
        "last_name": None,
        "company": "Acme",
        "title": "CTO",
        "custom_fields.email": "other@b.co",
        "tags": '["x", "y"]',
    }
