"""`outreach import FILE.csv --to SEQUENCE`: shows how the file is read, sends its rows, and shows the result."""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from argparse import Namespace
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cli.bulk.journal import OUTCOMES, Journal, RowResult, free_path, open_journal
from cli.bulk.lead_file import DELIMITERS, LEADS_PER_REQUEST, Batch, LeadFile, LeadRow, read_lead_file
from cli.console import card_output
from cli.console.exit_codes import Failed, Interrupted, print_error
from cli.console.interactive import attended, confirm, progress_bar, stopping
from shared.api.errors import InvalidRequest, OutreachError
from shared.commands.base import Result
from shared.domain.card import Card, Fact, Row, Table, Tone, columns, number
from shared.text.formats import clip, show_number

if TYPE_CHECKING:
    from shared.api.models import AddResult

AddLeads = Callable[[Sequence[dict[str, str]]], Awaitable["AddResult"]]

STDIN = "-"
REQUESTS_AT_ONCE = 8
"""Enough for 10 requests a second while each takes up to 0.8 s."""
EXAMPLES = 10
"""Rows that a dry run shows of those that can't be sent."""


def run(options: Namespace) -> int:
    """Import the file, or with `--dry-run` only say what would be sent."""
    if str(options.file) != STDIN:
        return _run(options)
    with tempfile.TemporaryDirectory(prefix="outreach-import-") as folder:
        # An import reads its file several times, and continues only with the very same bytes.
        options.file = Path(folder) / "stdin.csv"
        # Else it would be written beside the copy, and removed with it.
        options.report = options.report or Path("stdin.report.csv")
        with options.file.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        return _run(options)


def _run(options: Namespace) -> int:
    file = read_lead_file(options.file, encoding=options.encoding, pairs=options.pairs)
    # On stderr, so that stdout has the result alone, also with `--json`.
    card_output.show(_columns_card(file), stream=sys.stderr)
    result = _dry_run(file) if options.dry_run else asyncio.run(_import(options, file))
    return card_output.answer(result, options)


async def _import(options: Namespace, file: LeadFile) -> Result:
    # Late: a dry run needs neither settings nor the client.
    from cli.console.resources import named_sequence, record
    from shared.api.pace import Priority
    from shared.commands.run import open_client
    from shared.settings import Need, load

    settings = load(config=options.config, needs=(Need.API,))
    workspace = settings.workspace(options.workspace)
    if options.report and options.report.exists():
        raise Failed(f"{options.report} already exists. Use another file with --report.")
    async with open_client(settings, workspace) as client:
        sequence = await named_sequence(client, options.to, command=("import", str(options.file), "--to"))
        add = partial(client.add_leads, sequence.id, priority=Priority.BULK)
        target = (workspace.base_url, workspace.name, sequence.id)
        with open_journal(settings.state_dir / "imports", file, target=target) as journal, stopping() as stop:
            # Who continues has said yes before.
            if attended() and not journal.begun:
                count = show_number(sum(len(batch.sendable) for batch in file.batches()), "lead")
                confirm(f"Add {count} to {sequence.label} in {workspace.name}?", yes=options.yes)
            if journal.begun:
                print_error(f"continuing after row {journal.done:,}, where it was interrupted")
            is_complete = False
            try:
                is_complete = await _send_all(file, journal, add=add, stop=stop)
            except OutreachError as fault:
                fault.own_hint = f"{fault.own_hint} {_resumable(journal)}".strip()
                raise
            finally:  # an import that fails has added something, too
                so_far = "" if is_complete else " so far"
                result = f"added {journal.counts['added']:,} of {journal.rows:,} rows{so_far}"
                command = f"import {options.file.name} --to {sequence.label}"
                await record(settings, workspace, command, result)
            if not is_complete:
                raise Interrupted(_resumable(journal))
            report = (options.report or free_path(file.path)).absolute()
            journal.finish(report)
    return _result(journal, sequence=sequence.label, report=str(report))


async def _send_all(file: LeadFile, journal: Journal, *, add: AddLeads, stop: asyncio.Event) -> bool:
    """Send what is left, several requests at once, and settle each in order; False when it was stopped.

    Raises what `add` raises.
    """
    # What an earlier process had under way when it died: what the service now skips of it may be our own doing.
    under_way = journal.done + REQUESTS_AT_ONCE * LEADS_PER_REQUEST if journal.begun else 0
    journal.begin()
    sending: deque[tuple[Batch, asyncio.Task[list[RowResult]]]] = deque()
    with progress_bar("rows") as show:

        async def settle_oldest() -> None:
            batch, task = sending[0]
            # The oldest first, so that the journal never passes a request whose outcome isn't known.
            journal.settle(await task)
            sending.popleft()
            detail = ", ".join(f"{journal.counts[kind]:,} {kind}" for kind in OUTCOMES[:3])
            show(journal.rows, part=batch.position / file.size, detail=detail)

        is_stopped = False
        try:
            for batch in file.batches(after=journal.done):
                if is_stopped := stop.is_set():
                    break
                sending.append((batch, asyncio.create_task(_outcomes(batch, add, under_way))))
                if len(sending) == REQUESTS_AT_ONCE:
                    await settle_oldest()
            while sending:
                await settle_oldest()
        finally:
            for _, task in sending:
                task.cancel()
            # Awaited, so that no request of ours runs on when the journal's lock is free for another process.
            await asyncio.gather(*(task for _, task in sending), return_exceptions=True)
        return not is_stopped


async def _outcomes(batch: Batch, add: AddLeads, under_way: int) -> list[RowResult]:
    refused = [RowResult(row.number, row.email, "refused", row.problem) for row in batch.rows if row.problem]
    rows = batch.sendable
    added = await _add(rows, add, is_repeat=rows[0].number <= under_way) if rows else []
    return sorted([*refused, *added])


async def _add(rows: Sequence[LeadRow], add: AddLeads, *, is_repeat: bool) -> list[RowResult]:
    """One bad lead fails a whole request: then each half is tried alone, until it stands alone."""
    try:
        result = await add([row.lead for row in rows])
    except InvalidRequest as refusal:
        if (refusal.field or "").startswith("sequence"):  # it concerns them all
            raise
        if len(rows) == 1:
            reason = f"by the service: {refusal.message}"
            return [RowResult(rows[0].number, rows[0].email, "refused", reason)]
        middle = len(rows) // 2
        first = await _add(rows[:middle], add, is_repeat=is_repeat)
        return first + await _add(rows[middle:], add, is_repeat=is_repeat)
    return _results(rows, result, is_repeat=is_repeat)


def _results(rows: Sequence[LeadRow], result: AddResult, *, is_repeat: bool) -> list[RowResult]:
    """The outcome of each lead of one request. What a repeated one skips may be our own doing."""
    note = "; sent before the interruption and possibly added" if is_repeat or result.repeated else ""
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for skipped in result.skipped:
        reasons[(skipped.email or "").casefold()].append((skipped.reason or "no reason given") + note)
    # Where the counts contradict the rows, nobody can say which row was added.
    is_counted = "" not in reasons and result.added in {None, len(rows) - len(result.skipped)}
    is_certain = is_counted or result.added == len(rows)
    results = []
    for row in reversed(rows):  # of two rows with one address the later is the duplicate
        if named := reasons.get(row.email.casefold()):
            results.append(RowResult(row.number, row.email, "skipped", named.pop()))
        else:
            results.append(RowResult(row.number, row.email, "added" if is_certain else "unknown"))
    return results


def _resumable(journal: Journal) -> str:
    return f"{show_number(journal.rows, 'row')} done. Run the same command again to continue."


def _columns_card(file: LeadFile) -> Card:
    """The columns of the file, with the field that each fills and an example."""
    rows = []
    for place, (title, field) in enumerate(zip(file.titles, file.fields, strict=True)):
        example = next((row[place] for row in file.sample if "".join(row[place : place + 1]).strip()), None)
        # A cell may hold a whole letter: what shows which column it is are its first words.
        cells = (clip(title) or "(no title)", clip(field or "–"), example and clip(example))
        rows.append(Row(cells))
    delimiter = DELIMITERS.get(file.delimiter, file.delimiter)
    return Card(
        title=str(file.path),
        text=(f"{file.size:,} bytes, {file.encoding}, {delimiter}-separated",),
        table=Table(columns("Column", "Fills", "Example"), tuple(rows)),
    )


def _dry_run(file: LeadFile) -> Result:
    """Read every row as an import would; the service is not asked."""
    sendable, refused = 0, 0
    examples: list[Row] = []
    for batch in file.batches():
        refusals = [row for row in batch.rows if row.problem]
        refused += len(refusals)
        sendable += len(batch.rows) - len(refusals)
        examples += [Row((row.number, clip(row.email), row.problem)) for row in refusals]
        del examples[EXAMPLES:]
    titles = columns(number("Row"), "Email", "Reason")
    card = Card(
        title=f"{show_number(sendable, 'lead')} can be sent, {show_number(refused, 'row')} can't",
        tone=Tone.WARN if refused else Tone.GOOD,
        text=("Nothing was sent.",),
        table=Table(titles, tuple(examples), total=refused) if examples else None,
    )
    return Result(card=card, rows=({"sendable": sendable, "refused": refused},))


def _result(journal: Journal, *, sequence: str, report: str) -> Result:
    counts: dict[str, int] = {kind: journal.counts[kind] for kind in OUTCOMES}
    failed = counts["refused"] == journal.rows > 0
    title = f"{counts['added']:,} of {journal.rows:,} rows added to {sequence}"
    facts = [Fact(kind.capitalize(), f"{counts[kind]:,}") for kind in OUTCOMES[:3]]
    if counts["unknown"]:
        value = f"{counts['unknown']:,}: the service didn't report which rows it skipped"
        facts.append(Fact("Added or skipped", value, tone=Tone.UNKNOWN))
        title = f"{journal.rows:,} rows read for {sequence}"
    card = Card(
        title=title,
        tone=Tone.BAD if failed else Tone.WARN if counts["refused"] else Tone.GOOD,
        facts=(*facts, Fact("Report", report)),
        failure=failed,
    )
    return Result(card=card, rows=({**counts, "sequence": sequence, "report": report},))
