"""`outreach export FILE`: every lead, or those of a sequence or status, to a CSV or JSON lines file, or to stdout.

The file is written completely or not at all: leads are collected next to it and moved in place at the end. A CSV file
needs its titles first and the custom fields are known last, so it is written from the gathered lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from cli.console import exit_codes
from cli.console.interactive import stopping
from cli.console.progress import ProgressUpdate, progress_bar
from cli.console.resources import is_device, named_sequence
from shared.api.client import OutreachClient
from shared.api.pace import Priority
from shared.api.words import LeadStatus
from shared.commands.leads import STANDARD, record_of
from shared.text.csv_cells import csv_cell
from shared.text.sanitize import visible_json, visible_lines

STDOUT = "-"
SUFFIXES = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def run(options: Namespace) -> int:
    """Write the file and say on stderr how many leads it holds."""
    form = options.format or SUFFIXES.get(options.file.suffix.lower())
    if form is None and str(options.file) == STDOUT:
        raise exit_codes.WrongUsage("name the format for stdout: --format csv or --format jsonl")
    if form is None:
        raise exit_codes.WrongUsage(f"{options.file} has no known ending: add --format csv or --format jsonl")
    if str(options.file) == STDOUT or is_device(options.file):
        _export_through(options, form)
        return exit_codes.DONE
    if not options.file.absolute().parent.is_dir():
        raise exit_codes.Failed(f"no such folder: {options.file.absolute().parent}")
    if options.file.exists() and not options.force:
        raise exit_codes.Failed(f"{options.file} already exists. Add --force to overwrite it.")
    count = asyncio.run(_export(options, as_csv=form == "csv"))
    print(f"Wrote {count:,} leads to {options.file}.", file=sys.stderr)
    return exit_codes.DONE


def _export_through(options: Namespace, form: str) -> None:
    """Write to stdout, a device or a pipe, but only once all leads are there."""
    from cli.console.card_output import data_output

    target = options.file
    with tempfile.TemporaryDirectory(prefix="outreach-export-") as folder:
        options.file = Path(folder) / f"leads.{form}"
        asyncio.run(_export(options, as_csv=form == "csv"))
        with options.file.open(encoding="utf-8") as written, contextlib.ExitStack() as stack:
            if str(target) == STDOUT:
                output = data_output(visible_lines if form == "csv" else visible_json)
                for text in written:
                    output.write(text)
            else:
                shutil.copyfileobj(written, stack.enter_context(target.open("w", encoding="utf-8")))


async def _export(options: Namespace, *, as_csv: bool) -> int:
    from shared.commands.run import open_client
    from shared.settings import Need, load

    settings = load(config=options.config, needs=(Need.API,))
    workspace = settings.workspace(options.workspace)
    async with open_client(settings, workspace) as client:
        sequence_id = None
        if options.sequence:
            command = ("export", str(options.file), "--sequence")
            sequence_id = (await named_sequence(client, options.sequence, command=command)).id
        with _aside(options.file, "leads") as gathered, stopping() as stop:
            titles, count = await _gather(
                client, gathered, sequence_id=sequence_id, status=options.status, stop=stop
            )
            if as_csv:
                with _aside(options.file, "csv") as table:
                    _tabulate(gathered, table, titles)
                    _put(table, options.file)
            else:
                _put(gathered, options.file)
    return count


async def _gather(
    client: OutreachClient,
    gathered: IO[str],
    *,
    sequence_id: str | None,
    status: LeadStatus | None,
    stop: asyncio.Event,
) -> tuple[Sequence[str], int]:
    """Every lead as a line of JSON; returns the names of all fields, and the count."""
    titles, count = dict.fromkeys(STANDARD), 0
    pages = client.iter_pages(sequence_id=sequence_id, status=status, priority=Priority.BULK)
    with progress_bar() as show:
        async for page in pages:
            for lead in page.items:
                record = record_of(lead)
                titles |= dict.fromkeys(record)
                gathered.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += len(page.items)
            show(ProgressUpdate(count=count))
            if stop.is_set():
                raise exit_codes.Interrupted("stopped, so no file was written")
    return tuple(titles), count


def _tabulate(gathered: IO[str], table: IO[str], titles: Sequence[str]) -> None:
    rows = csv.writer(table)
    rows.writerow(map(csv_cell, titles))
    gathered.seek(0)
    for line in gathered:
        record = json.loads(line)
        rows.writerow(csv_cell(record.get(title)) for title in titles)


@contextlib.contextmanager
def _aside(file: Path, what: str) -> Iterator[IO[str]]:
    """A private file beside `file`, gone with the block unless it was put in its place."""
    path = file.with_name(f".{file.name}.{os.getpid()}.{what}")
    try:
        with path.open("x+", encoding="utf-8", errors="replace", newline="") as opened:
            path.chmod(0o600)
            yield opened
    finally:
        path.unlink(missing_ok=True)


def _put(written: IO[str], file: Path) -> None:
    written.flush()
    os.fsync(written.fileno())
    Path(written.name).replace(file)
