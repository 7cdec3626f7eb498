"""`outreach import FILE.csv --to SEQUENCE`: look, say what will be done, do it, say what became of it."""

from __future__ import annotations

import asyncio
import contextlib
from argparse import Namespace
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from cli.bulk import checkpoint, preview
from cli.bulk.columns import Assignment, Unclear, assign
from cli.bulk.csv_format import Survey, Unusable, survey
from cli.bulk.row_counts import Tally
from cli.bulk.row_reader import Outcome, Reader
from cli.console import exit_codes
from cli.console.progress import ProgressUpdate, progress_bar

if TYPE_CHECKING:
    from cli.bulk.batch_sender import Run


def run(options: Namespace) -> int:
    """Import the file, or with `--dry-run` only say what would be sent."""
    try:
        found = survey(options.file, encoding=options.encoding)
        assignments = assign(found.header, found.sample, pairs=options.pairs)
        preview.show_columns(found, assignments)
        if options.dry_run:
            return _try_out(found, assignments, as_json=options.json)
        return asyncio.run(_import(options, found, assignments))
    except Unclear as fault:
        raise exit_codes.WrongUsage(str(fault)) from None
    except (Unusable, checkpoint.Busy) as fault:
        raise exit_codes.Failed(str(fault)) from None


def _try_out(found: Survey, assignments: Sequence[Assignment], *, as_json: bool) -> int:
    """Read every row as an import would; the service is not asked."""
    reader, sendable, refused = Reader(found, assignments), 0, 0
    shown: list[Outcome] = []
    with progress_bar() as show:
        for batch in reader.batches():
            sendable += len(batch.leads)
            refused += len(batch.refusals)
            shown += batch.refusals[: 10 - len(shown)]
            show(ProgressUpdate(count=sendable + refused, what="rows", part=batch.position / found.size))
    preview.show_trial(sendable, refused, shown, as_json=as_json)
    return exit_codes.DONE


async def _import(options: Namespace, found: Survey, assignments: Sequence[Assignment]) -> int:
    from cli.bulk.batch_sender import Run, open_report
    from cli.console.interactive import stopping
    from cli.console.resources import named_sequence
    from shared.api.http.rate_limit import Priority
    from shared.operations.context import open_client
    from shared.settings import Need, load

    settings = load(config=options.config, needs=(Need.API,))
    workspace = settings.workspace(options.workspace)
    async with open_client(settings, workspace) as client:
        sequence = await named_sequence(client, options.to, command=("import", str(options.file), "--to"))
        target = f"{workspace.base_url} {workspace.name}"
        name = checkpoint.key(found, assignments, workspace=target, sequence=sequence.id)
        with checkpoint.opened(settings.state_dir / "imports", name) as journal, stopping() as stop:
            report = open_report(journal, survey=found, wanted=options.report)
            with contextlib.closing(report), progress_bar() as show:
                run = Run(journal, report, Reader(found, assignments), size=found.size, show=show)
                add = partial(client.add_leads, sequence.id, priority=Priority.BULK)
                complete = await _told_how_to_go_on(run, run.send(add, stop=stop))
            if not complete:
                raise exit_codes.Interrupted(_resumable(run.tally))
            journal.close()
    preview.show_result(run.tally, sequence=sequence.label, report=str(report.path), as_json=options.json)
    return exit_codes.DONE


async def _told_how_to_go_on(run: Run, sending: Awaitable[bool]) -> bool:
    from shared.api.errors import OutreachError

    try:
        return await sending
    except OutreachError as fault:
        fault.hint = f"{fault.hint} {_resumable(run.tally)}".strip()
        raise


def _resumable(tally: Tally) -> str:
    return f"{tally.rows:,} rows are settled; the same command goes on from there."
