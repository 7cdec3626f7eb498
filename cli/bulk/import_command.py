"""`outreach import FILE.csv --to SEQUENCE`: shows how the file is read, sends its rows, and shows the result."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
import sys
import tempfile
from argparse import Namespace
from array import array
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cli.bulk import journal
from cli.bulk.columns import Assignment, Unclear, assign
from cli.bulk.csv_format import Survey, Unusable, survey
from cli.bulk.journal import Tally
from cli.bulk.row_reader import Batch, Reader, RowResult
from cli.console import card_output, exit_codes
from cli.console.progress import ProgressUpdate, progress_bar
from shared.commands.base import Result
from shared.domain.card import Card, Fact, Row, Table, Tone, columns, number
from shared.text.formats import show_number

STDIN = "-"
DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "bar"}

if TYPE_CHECKING:
    from shared.api.models import AddResult


def run(options: Namespace) -> int:
    """Import the file, or with `--dry-run` only say what would be sent."""
    if str(options.file) == STDIN:
        with tempfile.TemporaryDirectory(prefix="outreach-import-") as folder:
            options.file = Path(folder) / "stdin.csv"
            options.report = options.report or Path("stdin.report.csv")
            with options.file.open("wb") as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            return _run(options)
    return _run(options)


def _run(options: Namespace) -> int:
    try:
        found = survey(options.file, encoding=options.encoding)
        assignments = assign(found.header, found.sample, pairs=options.pairs)
        _show_columns(found, assignments)
        if options.dry_run:
            return _try_out(found, assignments, as_json=options.json)
        return asyncio.run(_import(options, found, assignments))
    except Unclear as fault:
        raise exit_codes.WrongUsage(str(fault)) from None
    except (Unusable, journal.Busy) as fault:
        raise exit_codes.Failed(str(fault)) from None


def _try_out(found: Survey, assignments: Sequence[Assignment], *, as_json: bool) -> int:
    """Read every row as an import would; the service is not asked."""
    reader, sendable, refused = Reader(found, assignments), 0, 0
    shown: list[RowResult] = []
    # By their first byte, in arrays: one set of all would take 64 bytes a row.
    digests = [array("Q") for _ in range(256)]
    with progress_bar() as show:
        for batch in reader.batches():
            sendable += len(batch.leads)
            refused += len(batch.refusals)
            shown += batch.refusals[: 10 - len(shown)]
            for lead in batch.leads:
                digest = hashlib.blake2b(lead.email.casefold().encode(), digest_size=8).digest()
                digests[digest[0]].frombytes(digest)
            show(ProgressUpdate(count=sendable + refused, what="rows", part=batch.position / found.size))
    repeated = sum(len(some) - len(set(some)) for some in digests)
    card = _trial_card(sendable, refused, shown, repeated=repeated)
    return card_output.answer(card, as_json=as_json)


async def _import(options: Namespace, found: Survey, assignments: Sequence[Assignment]) -> int:
    from cli.console.interactive import attended, confirm, stopping
    from cli.console.resources import named_sequence, record
    from shared.commands.run import open_client
    from shared.settings import Need, load

    settings = load(config=options.config, needs=(Need.API,))
    workspace = settings.workspace(options.workspace)
    async with open_client(settings, workspace) as client:
        sequence = await named_sequence(client, options.to, command=("import", str(options.file), "--to"))
        target = f"{workspace.base_url} {workspace.name}"
        name = journal.key(found, assignments, workspace=target, sequence=sequence.id)
        with journal.opened(settings.state_dir / "imports", name) as kept, stopping() as stop:
            report = journal.Report(kept, source=found.path, wanted=options.report)
            if attended() and not kept.progress.sent:
                count = sum(len(batch.leads) for batch in Reader(found, assignments).batches())
                leads = show_number(count, "lead")
                confirm(f"Add {leads} to {sequence.label} in {workspace.name}?", yes=options.yes)
            complete = False
            with contextlib.closing(report):
                try:
                    batches = Reader(found, assignments).batches(after=kept.progress.done)
                    sending = partial(client.add_leads, sequence.id)
                    complete = await _send(batches, kept, report, add=sending, stop=stop, size=found.size)
                finally:  # an import that fails has added something, too
                    tally, so_far = kept.progress.tally, "" if complete else " so far"
                    command = f"import {options.file.name} --to {sequence.label}"
                    result = f"added {tally.added:,} of {tally.rows:,} rows{so_far}"
                    await record(settings, workspace, command, result)
            if not complete:
                raise exit_codes.Interrupted(_resumable(tally))
            kept.close()
    card = _result_card(tally, sequence=sequence.label, report=str(report.path))
    return card_output.answer(card, as_json=options.json)


async def _send(
    batches: Iterable[Batch],
    kept: journal.Journal,
    report: journal.Report,
    *,
    add: Callable[..., Awaitable[AddResult]],
    stop: asyncio.Event,
    size: int,
) -> bool:
    """Send what is left, with its progress; an error says how to go on."""
    from cli.bulk.batch_sender import send
    from shared.api.errors import OutreachError
    from shared.api.pace import Priority

    if kept.progress.done:
        exit_codes.print_error(f"continuing after row {kept.progress.done:,}, where it was interrupted")
    add = partial(add, priority=Priority.BULK)
    try:
        with progress_bar() as show:
            return await send(batches, kept, report, add=add, stop=stop, size=size, show=show)
    except OutreachError as fault:
        fault.own_hint = f"{fault.own_hint} {_resumable(kept.progress.tally)}".strip()
        raise


def _resumable(tally: Tally) -> str:
    return f"{show_number(tally.rows, 'row')} done. Run the same command again to continue."


def _show_columns(survey: Survey, assignments: Sequence[Assignment]) -> None:
    """Show on stderr how the file is read, with an example of each column."""
    rows = []
    for place, one in enumerate(assignments):
        why = f" ({one.why})" if one.why else ""
        examples = (row[place] for row in survey.sample if place < len(row) and row[place].strip())
        cells = (one.title or "(no title)", f"{one.field or '–'}{why}", next(examples, None))
        rows.append(Row(cells=cells))
    delimiter = DELIMITERS.get(survey.delimiter, survey.delimiter)
    card = Card(
        title=str(survey.path),
        text=(f"{survey.size:,} bytes, {survey.encoding}, {delimiter}-separated",),
        table=Table(columns=columns("Column", "Fills", "Example"), rows=tuple(rows)),
    )
    card_output.show(card, stream=sys.stderr)


def _trial_card(sendable: int, refused: int, shown: Sequence[RowResult], *, repeated: int) -> Result:
    twice = f"{show_number(repeated, 'row')} with the address of an earlier row, which the service skips."
    return Result(
        card=Card(
            title=f"{show_number(sendable, 'lead')} can be sent, {show_number(refused, 'row')} can't",
            tone=Tone.WARN if refused else Tone.GOOD,
            text=("Nothing was sent.", *((twice,) if repeated else ())),
            table=_refusals(shown, total=refused),
        ),
        rows=({"sendable": sendable, "refused": refused, "repeated": repeated},),
    )


def _result_card(tally: Tally, *, sequence: str, report: str) -> Result:
    facts = [
        Fact(label="Added", value=f"{tally.added:,}", tone=Tone.GOOD),
        Fact(label="Skipped", value=f"{tally.skipped:,}"),
        Fact(label="Refused", value=f"{tally.refused:,}", tone=Tone.WARN if tally.refused else Tone.INFO),
    ]
    if tally.unknown:
        value = f"{tally.unknown:,}: the service didn't report which rows it skipped"
        facts.append(Fact(label="Added or skipped", value=value, tone=Tone.UNKNOWN))
        title = f"{tally.rows:,} rows read for {sequence}"
    else:
        count = f"{tally.added:,}" if tally.added else "None"
        title = f"{count} of {tally.rows:,} rows added to {sequence}"
    return Result(
        card=Card(
            title=title,
            tone=Tone.WARN if tally.refused else Tone.GOOD,
            facts=(*facts, Fact(label="Report", value=report)),
        ),
        rows=({**asdict(tally), "sequence": sequence, "report": report},),
    )


def _refusals(shown: Sequence[RowResult], *, total: int) -> Table | None:
    if not shown:
        return None
    rows = tuple(Row(cells=(o.row, o.email, o.reason)) for o in shown)
    return Table(columns=columns(number("Row"), "Email", "Reason"), rows=rows, total=total)
