"""`outreach import FILE.csv --to SEQUENCE` and `outreach export FILE`.

An import shows how the file is read, sends its rows, and shows the result. The report is the progress too, so that it
continues after any interruption. While it goes on, the report is a database in the state folder: a row stands in it once its
outcome is known. What was under way is sent again: the service skips what it has.

An export writes every lead, or those of a sequence or status, to a CSV or JSON lines file, or to stdout: completely or not
at all. A CSV file needs its titles first and the custom fields are known last, so the leads are gathered on disk before.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sqlite3
import sys
import tempfile
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import IO, Any, NamedTuple

from cli.bulk.lead_file import DELIMITERS, Batch, LeadFile, LeadRow, read_lead_file
from cli.console import card_output
from cli.console.exit_codes import Failed, Interrupted, WrongUsage, print_error
from cli.console.interactive import attended, confirm, must_be_free, progress_bar, stopping
from cli.console.resources import named_sequence, open_workspace, record
from shared.api.errors import InvalidRequest, OutreachError
from shared.api.models import AddResult
from shared.api.pace import Priority
from shared.commands.base import Result
from shared.commands.leads import STANDARD, record_of
from shared.domain.card import Card, Fact, Row, Table, Tone, columns, number
from shared.storage.files import make_private_folder, replacing
from shared.text.csv_cells import csv_lines
from shared.text.formats import clip, show_number
from shared.text.sanitize import visible_json, visible_lines

AddLeads = Callable[[Sequence[dict[str, str]]], Awaitable[AddResult]]

OUTCOMES = ("added", "skipped", "refused", "unknown")
JOURNAL = """
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS results (row INTEGER PRIMARY KEY, email TEXT, outcome TEXT, reason TEXT)
"""
REQUESTS_AT_ONCE = 8
"""Enough for 10 requests a second while each takes up to 0.8 s."""
STDOUT = "-"
FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
EXAMPLES = 10
"""Rows that a dry run shows of those that can't be sent."""


async def import_leads(options: Namespace) -> Result:
    """Import the file, or with `--dry-run` only say what would be sent."""
    file = read_lead_file(options.file, encoding=options.encoding, pairs=options.pairs)
    # On stderr, so that stdout has the result alone, also with `--json`.
    card_output.show(_columns_card(file), stream=sys.stderr)
    if options.dry_run:
        return _dry_run(file)
    if options.report and options.report.exists():
        raise Failed(f"{options.report} already exists. Use another file with --report.")
    async with open_workspace(options) as context:
        sequence = await named_sequence(context, options.to, command=("import", str(options.file), "--to"))
        add = partial(context.client.add_leads, sequence.id, priority=Priority.BULK)
        workspace, folder = context.workspace, context.settings.state_dir / "imports"
        target = (workspace.base_url, workspace.name, sequence.id)
        with open_journal(folder, file, target=target) as journal, stopping() as stop:
            if journal.rows:
                print_error(f"continuing where it was interrupted, after {show_number(journal.rows, 'row')}")
            elif attended():
                leads = show_number(sum(len(batch.sendable) for batch in file.batches()), "lead")
                confirm(f"Add {leads} to {sequence.label} in {workspace.name}?", yes=options.yes)
            resumable = "Run the same command again to continue."
            is_complete = False
            try:
                is_complete = await _send_all(file, journal, add=add, stop=stop)
            except OutreachError as fault:
                fault.own_hint = f"{fault.own_hint} {resumable}".strip()
                raise
            finally:  # an import that fails has added something, too
                added = f"added {journal.counts['added']:,} of {journal.rows:,} rows"
                command = f"import {options.file.name} --to {sequence.label}"
                added += "" if is_complete else " so far"
                await record(context.records, workspace, command, added)
            if not is_complete:
                raise Interrupted(f"{show_number(journal.rows, 'row')} done. {resumable}")
            report = (options.report or _free_path(file.path)).absolute()
            journal.finish(report)
    return _result(journal.counts, sequence=sequence.label, report=str(report))


async def _send_all(file: LeadFile, journal: Journal, *, add: AddLeads, stop: asyncio.Event) -> bool:
    """Send what is left, several requests at once; False when it was stopped. Raises what `add` raises."""
    free, faults = asyncio.Semaphore(REQUESTS_AT_ONCE), list[OutreachError]()
    with progress_bar("rows") as show:

        async def send(batch: Batch, *, sent_before: bool) -> None:
            results = [_outcome(row, "refused", row.problem) for row in batch.rows if row.problem]
            try:
                results += await _add(batch.sendable, add, sent_before=sent_before)
            except OutreachError as fault:  # raised when the outcomes of those under way are known
                faults.append(fault)
            else:
                journal.write(results)
            free.release()
            detail = ", ".join(f"{journal.counts[kind]:,} {kind}" for kind in OUTCOMES[:3])
            show(journal.rows, part=batch.position / file.size, detail=detail)

        is_complete = False
        # Its end awaits what it cancels: no request of ours runs on when the journal is free for another process.
        async with asyncio.TaskGroup() as group:
            for batch in file.batches():
                await free.acquire()
                if stop.is_set() or faults:
                    break
                known = journal.begin(batch.rows[-1].number)
                if known:
                    free.release()
                else:
                    # What an earlier process had under way when it died may be what the service now skips.
                    group.create_task(send(batch, sent_before=known is not None))
            else:  # a stop that comes while the last answers are awaited leaves nothing out
                is_complete = True
    if faults:
        raise faults[0]
    return is_complete


async def _add(rows: Sequence[LeadRow], add: AddLeads, *, sent_before: bool) -> list[RowResult]:
    """One bad lead fails a whole request: then each half is tried alone, until it stands alone."""
    if not rows:
        return []
    try:
        result = await add([row.lead for row in rows])
    except InvalidRequest as refusal:
        if (refusal.field or "").startswith("sequence"):  # it concerns them all
            raise
        if len(rows) == 1:
            return [_outcome(rows[0], "refused", f"by the service: {refusal.message}")]
        middle = len(rows) // 2
        first = await _add(rows[:middle], add, sent_before=sent_before)
        return first + await _add(rows[middle:], add, sent_before=sent_before)
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for skipped in result.skipped:
        reasons[(skipped.email or "").casefold()].append(skipped.reason or "no reason given")
    # Where the counts contradict the rows, nobody can say which row was added.
    is_counted = "" not in reasons and result.added in {None, len(rows) - len(result.skipped)}
    kind = "added" if is_counted or result.added == len(rows) else "unknown"
    results = []
    for row in reversed(rows):  # of two rows with one address the later is the duplicate
        named = reasons.get(row.lead["email"].casefold())
        if not named:
            results.append(_outcome(row, kind))
            continue
        note = "; possibly added before the interruption" if result.repeated or sent_before else ""
        results.append(_outcome(row, "skipped", named.pop() + note))
    return results


class RowResult(NamedTuple):
    """The outcome of one row."""

    row: int
    email: str
    outcome: str
    reason: str


def _outcome(row: LeadRow, outcome: str, reason: str = "") -> RowResult:
    # Text of a stranger: in one line of the report, and without half a character, which no file takes.
    email, reason = (
        " ".join(text.split()).encode("utf-8", "replace").decode() for text in (row.lead["email"], reason)
    )
    return RowResult(row.number, email, outcome, reason)


class Journal:
    """The outcomes of an import so far, each on disk before anything else happens, in a database of their own."""

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path, self._database = path, database
        known = database.execute("SELECT outcome, count(*) FROM results WHERE outcome > '' GROUP BY outcome")
        self.counts = Counter(dict(known.fetchall()))

    @property
    def rows(self) -> int:
        return self.counts.total()

    def begin(self, last: int) -> str | None:
        """Note that the batch that ends with this row goes out, and give the row's outcome.

        It is empty where an earlier process had the batch under way, and None where it wasn't sent yet.
        """
        known = self._database.execute("SELECT outcome FROM results WHERE row = ?", [last]).fetchone()
        if known:
            return str(known[0])
        with self._database:
            self._database.execute("INSERT INTO results VALUES (?, '', '', '')", [last])
        return None

    def write(self, results: Sequence[RowResult]) -> None:
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?)", results)
        self.counts.update(result.outcome for result in results)

    def finish(self, report: Path) -> None:
        """Write the report, once every row is in the journal."""
        results = self._database.execute("SELECT * FROM results ORDER BY row")
        rows = (RowResult(*result)._asdict() for result in results)
        # It holds the addresses of leads, so it is for its owner alone.
        _write(report, csv_lines(RowResult._fields, rows))
        self._database.close()
        # Another process that began in between has done nothing, and deletes it as well.
        self._path.unlink(missing_ok=True)


def _write(target: Path, lines: Iterable[str]) -> None:
    """Write the whole file or nothing, with a sign for half a character, which no UTF-8 file takes."""
    with (
        replacing(target) as fresh,
        fresh.open("w", encoding="utf-8", errors="replace", newline="") as file,
    ):
        file.writelines(lines)


@contextlib.contextmanager
def open_journal(folder: Path, file: LeadFile, *, target: Sequence[str]) -> Iterator[Journal]:
    """The journal of these very bytes, columns and target, for this process alone; raises `Failed`."""
    # Read in another way, with `--map` or `--encoding`, the same bytes are other leads.
    parts = [file.fingerprint, file.encoding, file.fields, target]
    path = folder / f"{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]}.db"
    make_private_folder(folder)
    path.touch(mode=0o600)  # it holds addresses of leads; SQLite's own files get the same mode
    with contextlib.closing(sqlite3.connect(path, timeout=0)) as database:
        try:
            # The kernel releases the lock when a process dies, so a crash leaves none behind.
            database.executescript(JOURNAL)
        except sqlite3.OperationalError as fault:
            if fault.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # its kinds are in the upper bytes
                raise
            raise Failed("The same file is being imported into the same sequence right now.") from None
        yield Journal(path, database)


def _free_path(source: Path) -> Path:
    """A place beside the source: `leads.report.csv`, or with a number where that is taken."""
    endings = chain([""], (f"-{n}" for n in count(2)))
    paths = (source.with_name(f"{source.stem}.report{ending}.csv") for ending in endings)
    return next(path for path in paths if not path.exists())


def _columns_card(file: LeadFile) -> Card:
    """The columns of the file, with the field that each fills and an example."""
    rows = []
    for place, (title, field) in enumerate(zip(file.titles, file.fields, strict=True)):
        example = next((row[place] for row in file.sample if "".join(row[place : place + 1]).strip()), None)
        # A cell may hold a whole letter: what shows which column it is are its first words.
        rows.append(Row((clip(title) or "(no title)", clip(field or "–"), example and clip(example))))
    delimiter = DELIMITERS[file.delimiter]
    return Card(
        title=str(file.path),
        text=(f"{file.size:,} bytes, {file.encoding}, {delimiter}-separated",),
        table=Table(columns("Column", "Fills", "Example"), tuple(rows)),
    )


def _dry_run(file: LeadFile) -> Result:
    """Read every row as an import would; the service is not asked."""
    sendable = refused = 0
    examples: list[Row] = []
    for batch in file.batches():
        refusals = [row for row in batch.rows if row.problem]
        refused += len(refusals)
        sendable += len(batch.sendable)
        examples += [Row((row.number, clip(row.lead["email"]), row.problem)) for row in refusals]
        del examples[EXAMPLES:]
    return _summary(
        f"{show_number(sendable, 'lead')} can be sent, {show_number(refused, 'row')} can't",
        {"sendable": sendable, "refused": refused},
        usable=sendable,
        text=("Nothing was sent.",),
        table=Table(columns(number("Row"), "Email", "Reason"), examples, total=refused),
    )


def _result(counts: Counter[str], *, sequence: str, report: str) -> Result:
    facts = [Fact(kind.capitalize(), f"{counts[kind]:,}") for kind in OUTCOMES[:3]]
    if counts["unknown"]:
        value = f"{counts['unknown']:,}: the service didn't report which rows it skipped"
        facts.append(Fact("Added or skipped", value, tone=Tone.UNKNOWN))
    return _summary(
        f"{counts['added']:,} of {counts.total():,} rows added to {sequence}",
        {**{kind: counts[kind] for kind in OUTCOMES}, "sequence": sequence, "report": report},
        usable=counts.total() - counts["refused"],
        facts=(*facts, Fact("Report", report)),
    )


def _summary(title: str, data: dict[str, Any], *, usable: int, **more: Any) -> Result:
    """The result of a file; a failure where no row of it is usable."""
    tone = Tone.WARN if data["refused"] else Tone.GOOD
    card = Card(title, tone=tone if usable else Tone.BAD, failure=not usable, **more)
    return Result(card=card, rows=(data,))


async def export_leads(options: Namespace) -> None:
    """Write the file and say on stderr how many leads it holds."""
    target: Path = options.file
    form = options.format or FORMATS.get(target.suffix.lower())
    if form is None:
        raise WrongUsage(f"name the format for {target}: --format csv or --format jsonl")
    folder = None if str(target) == STDOUT else target.parent
    if folder:
        if not folder.is_dir():
            raise Failed(f"no such folder: {folder}")
        # Before the service is asked: a long export must not fail at its last step.
        must_be_free(target, overwrite=options.force, option="--force")
    # Without a name and for its owner alone; beside the file, where there is space for a second one.
    # A lead's text may hold half a character, a lone surrogate, which no UTF-8 file takes: it is replaced.
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace", dir=folder) as gathered:
        count, titles = await _gather(options, gathered)
        gathered.seek(0)
        lines = csv_lines(titles, map(json.loads, gathered)) if form == "csv" else gathered
        if not folder:
            for line in lines:
                card_output.write_data(line, visible_lines if form == "csv" else visible_json)
            return
        _write(target, lines)
    print(f"Wrote {count:,} leads to {target}.", file=sys.stderr)


async def _gather(options: Namespace, gathered: IO[str]) -> tuple[int, list[str]]:
    """Write a line of JSON for each lead; gives their count and the names of all their fields."""
    titles, count = dict.fromkeys(STANDARD), 0
    async with open_workspace(options) as context:
        sequence_id = None
        if options.sequence:
            command = ("export", str(options.file), "--sequence")
            sequence_id = (await named_sequence(context, options.sequence, command=command)).id
        pages = context.client.iter_pages(
            sequence_id=sequence_id, status=options.status, priority=Priority.BULK
        )
        with stopping() as stop, progress_bar() as show:
            async for page in pages:
                for lead in page.items:
                    record = record_of(lead)
                    titles |= dict.fromkeys(record)
                    gathered.write(json.dumps(record, ensure_ascii=False) + "\n")
                count += len(page.items)
                show(count)
                # What was gathered has no name on the disk, so nothing is left to clean up.
                if stop.is_set():
                    raise Interrupted("stopped, so no file was written")
    return count, list(titles)
