"""`outreach export FILE`: every lead, or those of a sequence or status, to a CSV or JSON lines file, or to stdout.

The file is written completely or not at all. A CSV file needs its titles first and the custom fields are known last, so
the leads are gathered on disk before.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO

from cli.console.card_output import write_data
from cli.console.exit_codes import Failed, Interrupted, WrongUsage
from cli.console.interactive import must_be_free, progress_bar, stopping
from cli.console.resources import named_sequence
from shared.api.pace import Priority
from shared.commands.leads import STANDARD, record_of
from shared.commands.run import open_client
from shared.settings import Need, load
from shared.storage.private_file import replacing
from shared.text.csv_cells import csv_cell
from shared.text.sanitize import visible_json, visible_lines

STDOUT = "-"
FORMATS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}


async def run(options: Namespace) -> None:
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
        lines = _table(gathered, titles) if form == "csv" else gathered
        if not folder:
            for line in lines:
                write_data(line, visible_lines if form == "csv" else visible_json)
            return
        with (
            replacing(target) as fresh,
            fresh.open("w", encoding="utf-8", errors="replace", newline="") as file,
        ):
            file.writelines(lines)
    print(f"Wrote {count:,} leads to {target}.", file=sys.stderr)


async def _gather(options: Namespace, gathered: IO[str]) -> tuple[int, list[str]]:
    """Write a line of JSON for each lead; gives their count and the names of all their fields."""
    settings = load(config=options.config, needs=(Need.API,))
    titles, count = dict.fromkeys(STANDARD), 0
    async with open_client(settings, settings.workspace(options.workspace)) as client:
        sequence_id = None
        if options.sequence:
            command = ("export", str(options.file), "--sequence")
            sequence_id = (await named_sequence(client, options.sequence, command=command)).id
        pages = client.iter_pages(sequence_id=sequence_id, status=options.status, priority=Priority.BULK)
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


def _table(gathered: IO[str], titles: list[str]) -> Iterator[str]:
    row = csv.writer(SimpleNamespace(write=lambda line: line)).writerow  # which gives back what was written
    yield row(list(map(csv_cell, titles)))
    for line in gathered:
        record = json.loads(line)
        # A spreadsheet would run what a lead has written as a formula.
        yield row([csv_cell(record.get(title)) for title in titles])
