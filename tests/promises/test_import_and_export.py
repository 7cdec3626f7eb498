"""Leads in bulk: an import adds each once and reports every row, and an export is written whole or not at all."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from tests.kit import Account, Shell
from tests.kit.waiting import until

TARGET = "Recruiters Singapore"


def written(shell: Shell, count: int, *, bad: int = 0) -> Path:
    file = shell.home / "leads.csv"
    rows = [f"new{number}@import.example.com,Ann {number},CTO\n" for number in range(count)]
    file.write_text("Email,Vorname,Job Title\n" + "".join(rows) + "not an address,X,Y\n" * bad)
    return file


def reported(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


async def imported(account: Account) -> list[str]:
    """The addresses of the test that are in the target sequence now."""
    sequence = await account.sequence(TARGET)
    emails, path = [], f"/leads?limit=100&sequence_id={sequence['id']}"
    while True:
        page = await account.request("GET", path)
        emails += [lead["email"] for lead in page["data"] if lead["email"].endswith("@import.example.com")]
        if not page["next_cursor"]:
            break
        path = f"/leads?limit=100&sequence_id={sequence['id']}&cursor={page['next_cursor']}"
    return emails


async def test_an_import_adds_or_reports_every_row(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    done = await shell.type("import", str(written(shell, 20, bad=2)), "--to", TARGET, "--json")
    report = shell.home / "leads.report.csv"
    counts = {"added": 20, "skipped": 0, "refused": 2, "unknown": 0}
    assert (done.code, done.data) == (0, [{**counts, "sequence": TARGET, "report": str(report)}])
    assert Counter(row["outcome"] for row in reported(report)) == {"added": 20, "refused": 2}
    assert report.stat().st_mode & 0o777 == 0o600
    assert sorted(await imported(account)) == sorted(f"new{n}@import.example.com" for n in range(20))
    lead = (await shell.type("lead", "new7@import.example.com", "--json")).data[0]
    assert (lead["first_name"], lead["Job Title"]) == ("Ann 7", "CTO")
    again = await shell.type("import", str(written(shell, 20)), "--to", TARGET, "--json")
    assert (again.data[0]["added"], again.data[0]["skipped"]) == (0, 20)
    assert all(row["reason"] for row in reported(Path(again.data[0]["report"])))


async def test_an_import_of_which_no_row_could_be_added_fails(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    words = ("import", str(written(shell, 0, bad=2)), "--to", TARGET, "--json")
    for more in (("--dry-run",), ()):
        done = await shell.type(*words, *more)
        assert (done.code, done.data[0]["refused"]) == (1, 2)


async def test_a_lead_that_the_service_refuses_takes_no_others_with_it(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    refusal = {
        "error": {"code": "invalid_request", "message": "leads[1].email isn't an address", "field": "leads"}
    }
    account.answer("POST /leads", refusal, status=422, times=1)
    done = await shell.type("import", str(written(shell, 4)), "--to", TARGET, "--json")
    assert (done.code, done.data[0]["added"]) == (0, 4)
    assert len(account.asked("POST", "/leads")) == 3


@pytest.mark.usefixtures("real_time")
async def test_an_import_that_was_killed_continues_without_loss_or_repeats(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    words = ("import", str(written(shell, 1500, bad=1)), "--to", TARGET)
    # The service takes both requests and answers too late: the killed import knows of neither.
    await account.fail(endpoint="POST /leads", times=2, delay=1.0, executed=True)
    async with shell.start(*words) as process:
        await until(lambda: len(account.asked("POST", "/leads")) == 2, "both requests are under way")
        process.kill()
        await process.wait()
    assert {file.stat().st_mode & 0o777 for file in shell.home.rglob("imports/*")} == {0o600}
    await account.recover()
    done = await shell.type(*words, "--json")
    assert (done.code, done.data[0]["refused"]) == (0, 1)
    rows = reported(Path(done.data[0]["report"]))
    assert [int(row["row"]) for row in rows] == list(range(2, 1503))
    skipped = [row["reason"] for row in rows if row["outcome"] == "skipped"]
    assert all("before the interruption" in reason for reason in skipped)
    emails = await imported(account)
    assert len(emails) == len(set(emails)) == 1500
    assert list(shell.home.rglob("imports/*")) == []


async def test_an_import_that_fails_says_how_to_continue(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    file = written(shell, 1500)
    title, rows = file.read_text().split("\n", 1)
    file.write_text(f'{title}\n"two\nlines",X,Y\n{rows}')
    words = ("import", str(file), "--to", TARGET)
    account.answer("POST /leads", {}, status=201, times=1)
    account.answer("POST /leads", {"error": {"message": "revoked"}}, status=401)
    failed = await shell.type(*words)
    assert (failed.code, failed.out) == (1, "")
    assert "Run the same command again to continue" in " ".join(failed.err.split())
    await account.recover()
    done = (await shell.type(*words, "--json")).data[0]
    assert (done["added"], done["refused"]) == (1500, 1)


async def test_an_import_that_continues_doubts_only_what_was_under_way(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    # More rows than go out at once: the last ones are never sent before the first request fails.
    file = written(shell, 8_020)
    for number in (5, 8_010):
        assert (await shell.type("add", f"new{number}@import.example.com", "to", TARGET)).code == 0
    words = ("import", str(file), "--to", TARGET)
    account.answer("POST /leads", {"error": {"message": "revoked"}}, status=401)
    assert (await shell.type(*words)).code == 1
    await account.recover()
    done = (await shell.type(*words, "--json")).data[0]
    assert (done["added"], done["skipped"]) == (8_018, 2)
    rows = reported(Path(done["report"]))
    assert [int(row["row"]) for row in rows] == list(range(2, 8_022))
    under_way, new = (row["reason"] for row in rows if row["outcome"] == "skipped")
    assert "before the interruption" in under_way
    assert "before the interruption" not in new


@pytest.mark.parametrize(("delimiter", "encoding"), [(";", "cp1252"), ("\t", "utf-16"), (",", "utf-8-sig")])
async def test_a_dry_run_shows_how_a_file_is_read_and_sends_nothing(
    account: Account, shell: Shell, delimiter: str, encoding: str
) -> None:
    shell.use(account.environ)
    rows = [
        ["Vorname", "E-Mail", "Firma", "Notes"],
        ["Zoë", "zoe@acme.example", "Café", "x" * 500],
        ["Max", "max", "", ""],
    ]
    file = shell.home / "leads.csv"
    file.write_bytes("".join(delimiter.join(row) + "\r\n" for row in rows).encode(encoding))
    shell.set("COLUMNS", "100")
    done = await shell.type("import", str(file), "--to", "x", "--dry-run", "--map", "Notes=-")
    assert done.code == 0
    assert "1 lead can be sent, 1 row can't" in done.out
    shown = [line.split() for line in done.err.splitlines()]
    assert ["Vorname", "first_name", "Zoë"] in shown
    assert ["Firma", "company", "Café"] in shown
    assert ["Notes", "–", "x" * 59 + "…"] in shown, "a long cell is shown by its beginning"
    assert account.asked() == []


async def test_a_damaged_byte_keeps_one_row_back_and_every_other_name_right(shell: Shell) -> None:
    file = shell.home / "leads.csv"
    good = "".join(f"{number}@b.co,Zoë\n" for number in range(5))
    file.write_bytes(f"email,name\n{good}".encode() + b"x@y.co,Ma\xffx\n")
    done = await shell.type("import", str(file), "--to", "x", "--dry-run")
    assert "5 leads can be sent, 1 row can't" in done.out
    assert "Zoë" in done.err


UNUSABLE: dict[str, tuple[bytes, tuple[str, ...], int, str]] = {
    "empty": (b"", (), 1, "no rows"),
    "a spreadsheet": (b"PK\x03\x04", (), 1, "Save the sheet as CSV"),
    "an open quote": (b'email,note\na@b.co,"open\n' + b"x@y.co,z\n" * 20_000, (), 1, "closing quote"),
    "no addresses": (b"name,note\nAnn,x\n", (), 2, "--map COLUMN=email"),
    "no such column": (b"email\na@b.co\n", ("--map", "nope=email"), 2, "unknown column “nope”"),
    "no such encoding": (b"email\na@b.co\n", ("--encoding", "nonsense"), 1, "unknown encoding nonsense"),
}


@pytest.mark.parametrize("what", UNUSABLE)
async def test_a_file_that_cannot_be_imported_is_refused_with_its_reason(shell: Shell, what: str) -> None:
    content, words, code, text = UNUSABLE[what]
    file = shell.home / "leads.csv"
    file.write_bytes(content)
    done = await shell.type("import", str(file), "--to", "x", "--dry-run", *words)
    assert (done.code, done.out) == (code, "")
    assert text in done.err


async def test_an_export_has_every_lead_once_and_comes_back_by_an_import(
    account: Account, shell: Shell
) -> None:
    shell.use(account.environ)
    assert (await shell.type("add", "sum@export.example.com", "to", TARGET, "note==HYPERLINK(1)")).code == 0
    file = shell.home / "out.csv"
    done = await shell.type("export", str(file), "--sequence", TARGET)
    assert (done.code, done.out) == (0, "")
    assert file.stat().st_mode & 0o777 == 0o600
    leads = reported(file)
    assert len({lead["id"] for lead in leads}) == len(leads) > 1
    assert {lead["note"] for lead in leads if lead["email"].startswith("sum@")} == {"'=HYPERLINK(1)"}
    assert "0 rows can't" in (await shell.type("import", str(file), "--to", "x", "--dry-run")).out
    lines = await shell.type("export", "-", "--sequence", TARGET, "--format", "jsonl")
    assert [json.loads(line)["id"] for line in lines.out.splitlines()] == [lead["id"] for lead in leads]


async def test_an_export_is_written_whole_or_not_at_all(account: Account, shell: Shell) -> None:
    shell.use(account.environ)
    file = shell.home / "out.csv"
    file.write_text("precious")
    refused = await shell.type("export", str(file))
    assert refused.code == 1
    assert "--force" in refused.err
    account.answer("GET /leads", {"error": {"message": "revoked"}}, status=401)
    assert (await shell.type("export", str(file), "--force")).code == 1
    assert file.read_text() == "precious"
    assert [path.name for path in shell.home.iterdir() if "out.csv" in path.name] == ["out.csv"]
    await account.recover()
    assert (await shell.type("export", str(file), "--force", "--status", "interested")).code == 0
    assert {lead["status"] for lead in reported(file)} == {"interested"}
