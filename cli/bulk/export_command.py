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
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from cli.console import exit_codes
from cli.console.card_output import write_data
from cli.console.interactive import stopping
from cli.console.progress import ProgressUpdate, progress_bar
from cli.console.resources import named_sequence
from shared.api.pace import Priority
from shared.commands.leads import STANDARD, record_of
from shared.commands.run import open_client
from shared.settings import Need, load
from shared.storage.private_file import create_private_file
from shared.text.csv_cells import csv_cell
from shared.text.sanitize import visible_json, visible_lines

STDOUT = "-"
FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def run(options: Namespace) -> int:
    """Write the file and say on stderr how many leads it holds."""
    target: Path = options.file
    form = options.format or FORMATS.get(target.suffix.lower())
    if form is None:
        raise exit_codes.WrongUsage(f"name the format for {target}: --format csv or --format jsonl")
    if str(target) == STDOUT:
        with tempfile.TemporaryDirectory(prefix="outreach-export-") as folder:
            whole = Path(folder) / "leads"
            asyncio.run(_export(options, whole, form))
            clean = visible_lines if form == "csv" else visible_json
            with whole.open(encoding="utf-8", newline="") as written:
                for line in written:
                    write_data(line, clean)
        return exit_codes.DONE
    if not target.absolute().parent.is_dir():
        raise exit_codes.Failed(f"no such folder: {target.absolute().parent}")
    if target.exists() and not options.force:
        raise exit_codes.Failed(f"{target} already exists. Add --force to overwrite it.")
    if target.exists() and not target.is_file():
        raise exit_codes.Failed(f"{target} isn't a file. Use - for stdout.")
    count = asyncio.run(_export(options, target, form))
    print(f"Wrote {count:,} leads to {target}.", file=sys.stderr)
    return exit_codes.DONE


async def _export(options: Namespace, target: Path, form: str) -> int:
    """Write the leads to `target` and return how many they are."""
    settings = load(config=options.config, needs=(Need.API,))
    titles, count = dict.fromkeys(STANDARD), 0
    async with open_client(settings, settings.workspace(options.workspace)) as client:
        sequence_id = None
        if options.sequence:
            command = ("export", str(options.file), "--sequence")
            sequence_id = (await named_sequence(client, options.sequence, command=command)).id
        pages = client.iter_pages(sequence_id=sequence_id, status=options.status, priority=Priority.BULK)
        with (
            _beside(target, "leads") as gathered,
            _beside(target, "csv") as table,
            stopping() as stop,
            progress_bar() as show,
        ):
            async for page in pages:
                for lead in page.items:
                    record = record_of(lead)
                    titles |= dict.fromkeys(record)
                    gathered.write(json.dumps(record, ensure_ascii=False) + "\n")
                count += len(page.items)
                show(ProgressUpdate(count=count))
                if stop.is_set():
                    raise exit_codes.Interrupted("stopped, so no file was written")
            if form == "csv":
                _tabulate(gathered, table, list(titles))
            _put(table if form == "csv" else gathered, target)
    return count


def _tabulate(gathered: IO[str], table: IO[str], titles: list[str]) -> None:
    rows = csv.writer(table)
    rows.writerow(map(csv_cell, titles))
    gathered.seek(0)
    for line in gathered:
        record = json.loads(line)
        rows.writerow(csv_cell(record.get(title)) for title in titles)


def _put(written: IO[str], target: Path) -> None:
    written.flush()
    os.fsync(written.fileno())
    Path(written.name).replace(target)


@contextlib.contextmanager
def _beside(file: Path, what: str) -> Iterator[IO[str]]:
    """A private file beside `file`, gone with the block unless it was put in its place."""
    path = file.with_name(f".{file.name}.{os.getpid()}.{what}")
    try:
        os.close(create_private_file(path))
        with path.open("r+", encoding="utf-8", errors="replace", newline="") as opened:
            yield opened
    finally:
        path.unlink(missing_ok=True)
