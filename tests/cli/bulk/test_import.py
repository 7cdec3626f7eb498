"""An import adds every lead once and reports every row, whatever interrupts it."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import re
import signal
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.bulk.batch_sender import Add, Settle, send_all
from cli.bulk.journal import opened
from cli.bulk.row_reader import Batch, Candidate, RowResult
from shared.api.errors import InvalidRequest
from shared.api.models import AddResult
from tests.cli.conftest import Shell
from tests.waiting import wait_until

TARGET = "Recruiters Singapore"
Control = Callable[..., Any]


@pytest.fixture
def control(sandbox: dict[str, Any]) -> Iterator[Control]:
    """Turns the sandbox's dials, and back."""

    def ask(method: str, path: str, body: object = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{sandbox['control_url']}{path}", content, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    yield ask
    ask("DELETE", "/faults")


def file_of(folder: Path, count: int, *, mark: str, bad: int = 0) -> Path:
    path = folder / "leads.csv"
    rows = [f"{mark}{i}@import.example.com,Ann {i},CTO\n" for i in range(count)]
    rows += ["not an address,X,Y\n"] * bad
    path.write_text("Email,Vorname,Job Title\n" + "".join(rows))
    return path


def reported(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def added(shell: Shell, mark: str) -> list[str]:
    """The addresses of one test that are in the target sequence now, newest first."""
    path = shell.home / "now.jsonl"
    assert shell.run("export", str(path), "--sequence", TARGET, "--force").code == 0
    emails = [json.loads(line)["email"] for line in path.read_text().splitlines()]
    return [email for email in emails if email.startswith(mark)]


def test_a_dry_run_shows_the_columns_and_asks_no_service(offline: Shell) -> None:
    result = offline.run("import", str(file_of(offline.home, 3, mark="dry", bad=1)), "--to", "x", "--dry-run")
    assert result.code == 0
    assert "3 leads can be sent, 1 row can't" in result.out
    assert "Nothing was sent" in result.out
    assert re.search(r"Vorname +first_name +Ann 0", result.err)
    assert [path.name for path in offline.home.iterdir()] == ["leads.csv"]


def test_every_row_is_added_or_reported(shell: Shell) -> None:
    path = file_of(shell.home, 20, mark="all", bad=2)
    result = shell.run("import", str(path), "--to", TARGET, "--json")
    assert result.code == 0
    report = shell.home / "leads.report.csv"
    assert result.data == [
        {"added": 20, "skipped": 0, "refused": 2, "unknown": 0, "sequence": TARGET, "report": str(report)}
    ]
    assert Counter(row["outcome"] for row in reported(report)) == {"added": 20, "refused": 2}
    assert oct(report.stat().st_mode & 0o777) == "0o600"
    assert "CTO" in shell.run("lead", "all7@import.example.com").out


def test_an_import_reads_stdin(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    text = file_of(shell.home, 3, mark="pipe").read_bytes()
    monkeypatch.chdir(shell.home)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    result = shell.run("import", "-", "--to", TARGET, "--json")
    assert result.data[0]["added"] == 3
    assert len(reported(shell.home / "stdin.report.csv")) == 3


def test_a_dry_run_counts_addresses_that_come_twice(offline: Shell) -> None:
    path = file_of(offline.home, 3, mark="same")
    path.write_text(path.read_text() + "SAME1@import.example.com,Ann,CTO\n")
    result = offline.run("import", str(path), "--to", "x", "--dry-run", "--json")
    assert result.data == [{"sendable": 4, "refused": 0, "repeated": 1}]


def test_a_spreadsheet_is_named_as_one(offline: Shell) -> None:
    path = offline.home / "leads.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    result = offline.run("import", str(path), "--to", "x", "--dry-run")
    assert result.code == 1
    assert "Save the sheet as CSV" in result.err


def test_existing_leads_are_skipped_with_their_reason(shell: Shell) -> None:
    path = file_of(shell.home, 5, mark="twice")
    assert shell.run("import", str(path), "--to", TARGET).code == 0
    result = shell.run("import", str(path), "--to", TARGET, "--json")
    assert (result.data[0]["added"], result.data[0]["skipped"]) == (0, 5)
    rows = reported(Path(result.data[0]["report"]))
    assert {row["outcome"] for row in rows} == {"skipped"}
    assert len(rows) == 5
    assert all(row["reason"] for row in rows)


@pytest.mark.e2e
def test_a_killed_import_continues_without_loss_or_duplicates(shell: Shell, control: Control) -> None:
    path = file_of(shell.home, 1500, mark="kill", bad=1)
    control("POST", "/faults", {"endpoint": "POST /leads", "times": 2, "delay": 0.4})
    words = ("import", str(path), "--to", TARGET)
    process = shell.start(*words)
    wait_until(lambda: _journal(shell).get("sent", 0) > 1000, seconds=60)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    control("DELETE", "/faults")
    result = shell.run(*words, "--json")
    assert result.code == 0
    assert result.data[0]["refused"] == 1
    rows = reported(Path(result.data[0]["report"]))
    assert [int(row["row"]) for row in rows] == list(range(2, 1503))
    again = [row["reason"] for row in rows if row["outcome"] == "skipped"]
    assert all("before the interruption" in reason for reason in again)
    in_service = added(shell, "kill")
    assert len(in_service) == len(set(in_service)) == 1500
    assert not list((shell.home / "state" / "imports").iterdir())


@pytest.mark.e2e
def test_an_interrupt_completes_open_batches_and_says_how_to_continue(shell: Shell, control: Control) -> None:
    path = file_of(shell.home, 10_000, mark="int")
    control("POST", "/faults", {"endpoint": "POST /leads", "times": None, "delay": 0.3})
    words = ("import", str(path), "--to", "Agencies Australia & NZ")
    process = shell.start(*words)
    wait_until(lambda: _journal(shell).get("sent", 0) > 1000, seconds=60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "Run the same command again to continue" in err
    journal = _journal(shell)
    assert journal["done"] == journal["sent"] < 10_000
    assert shell.run("audit", "--json").data[0]["result"].endswith(" rows so far")
    control("DELETE", "/faults")
    result = shell.run(*words, "--json")
    assert f"continuing after row {journal['done']:,}" in result.err
    assert (result.data[0]["added"], result.data[0]["skipped"]) == (10_000, 0)


def _journal(shell: Shell) -> dict[str, Any]:
    found = list((shell.home / "state" / "imports").glob("*.json"))
    body: dict[str, Any] = json.loads(found[0].read_text()) if found else {}
    return body


def test_a_lost_connection_adds_no_lead_twice(shell: Shell, control: Control) -> None:
    control("POST", "/faults", {"endpoint": "POST /leads", "cut": True, "executed": True})
    result = shell.run("import", str(file_of(shell.home, 10, mark="cut")), "--to", TARGET, "--json")
    assert result.code == 0
    assert result.data[0]["added"] + result.data[0]["skipped"] == 10
    newest = [lead["email"] for lead in shell.run("leads", TARGET, "--json").data]
    assert len([email for email in newest if email.startswith("cut")]) == 10


async def test_a_lead_that_the_service_refuses_does_not_take_the_others_along() -> None:
    settled: list[RowResult] = []

    async def add(leads: Sequence[dict[str, str]]) -> AddResult:
        if any(lead["email"].startswith("bad") for lead in leads):
            raise InvalidRequest("is not an address", field="leads")
        return AddResult(added=len(leads))

    leads = candidates("a@b.co", "bad@b.co", "c@b.co", "d@b.co", "bad2@b.co")
    assert await sent([leads], add, lambda _, outcomes: settled.extend(outcomes))
    assert [o.kind for o in settled] == ["added", "refused", "added", "added", "refused"]


async def sent(batches: Sequence[Sequence[Candidate]], add: Add, settle: Settle) -> bool:
    made = [Batch(leads=tuple(b), refusals=(), last_row=b[-1].row, position=0) for b in batches]
    return await send_all(made, add=add, announce=lambda _: None, settle=settle, stop=asyncio.Event())


def test_an_unknown_sequence_and_a_taken_report_are_refused_before_anything_is_sent(shell: Shell) -> None:
    path = file_of(shell.home, 2, mark="no")
    unknown = shell.run("import", str(path), "--to", "Recruters Singapore")
    assert (unknown.code, unknown.out) == (1, "")
    assert TARGET in unknown.err
    taken = shell.run("import", str(path), "--to", TARGET, "--report", str(path))
    assert (taken.code, "already exists" in taken.err) == (1, True)
    assert path.read_text().startswith("Email")


@pytest.mark.parametrize(
    ("typed", "code", "text"),
    [
        (["nowhere.csv", "--to", "x"], 1, "No such file"),
        (["{}", "--to", "x", "--map", "nope=email"], 2, "unknown column “nope”"),
        (["{}"], 2, "--to"),
    ],
)
def test_invalid_options_are_reported(offline: Shell, typed: list[str], code: int, text: str) -> None:
    path = file_of(offline.home, 1, mark="x")
    result = offline.run("import", *(word.format(path) for word in typed))
    assert (result.code, result.out) == (code, "")
    assert text in result.err


def candidates(*emails: str) -> list[Candidate]:
    return [Candidate(row=row, lead={"email": email}) for row, email in enumerate(emails, start=2)]


def test_a_finished_import_leaves_no_file_of_a_run_that_was_killed_while_writing(tmp_path: Path) -> None:
    (tmp_path / ".leads.json.4711").touch()
    with opened(tmp_path, "leads") as journal:
        journal.write(done=3)
        journal.close()
    assert list(tmp_path.iterdir()) == []
