"""`outreach import REPORT.csv --to SEQUENCE --undo`: removes the leads that an import added, by its report."""

from __future__ import annotations

import asyncio
import csv
from argparse import Namespace
from collections.abc import AsyncIterator
from pathlib import Path

from cli.bulk.checkpoint import HEADING
from cli.console import card_output, exit_codes
from cli.console.interactive import confirm, stopping
from cli.console.progress import ProgressUpdate, progress_bar
from cli.console.resources import named_sequence, record
from shared.api.client import OutreachClient
from shared.api.errors import NotFound
from shared.api.http.rate_limit import Priority
from shared.api.models import Lead
from shared.commands.result import Result
from shared.domain.card import Card, Tone
from shared.settings import Settings, Workspace
from shared.text.csv_cells import unguarded
from shared.text.formats import show_number


def run(options: Namespace) -> int:
    """Ask, then remove; a lead that is gone by now counts as removed."""
    added = added_addresses(options.file)
    if not added:
        raise exit_codes.Failed(f"{options.file} lists no added leads")
    return asyncio.run(_undo(options, added))


def added_addresses(report: Path) -> frozenset[str]:
    """The addresses that a report lists as added, in lower case; raises `WrongUsage` if it isn't a report."""
    with report.open(newline="", encoding="utf-8", errors="replace") as file:
        rows = csv.DictReader(file)
        if tuple(rows.fieldnames or ()) != HEADING:
            raise exit_codes.WrongUsage(
                f"{report} isn't an import report. The name of a report ends in .report.csv."
            )
        return frozenset(unguarded(row["email"]).casefold() for row in rows if row["outcome"] == "added")


async def _undo(options: Namespace, added: frozenset[str]) -> int:
    from shared.operations.context import open_client
    from shared.settings import Need, load

    settings = load(config=options.config, needs=(Need.API,))
    workspace = settings.workspace(options.workspace)
    async with open_client(settings, workspace) as client:
        sequence = await named_sequence(
            client, options.to, command=("import", str(options.file), "--undo", "--to")
        )
        confirm(
            f"Remove {show_number(len(added), 'lead')} added to {sequence.label} in {workspace.name}? "
            "This removes them from all sequences and keeps their reply history.",
            yes=options.yes,
        )
        removed = await _remove(client, settings, workspace, sequence.id, added=added, options=options)
    missing = len(added) - removed
    card = Result(
        card=Card(
            title=f"{show_number(removed, 'lead')} removed",
            tone=Tone.WARN if missing else Tone.GOOD,
            text=(f"{missing:,} of them were no longer in {sequence.label}.",) if missing else (),
        ),
        rows=({"removed": removed, "missing": missing},),
    )
    return card_output.answer(card, as_json=options.json)


async def _remove(
    client: OutreachClient,
    settings: Settings,
    workspace: Workspace,
    sequence: str,
    *,
    added: frozenset[str],
    options: Namespace,
) -> int:
    """Remove those leads and return how many; also what an interruption or an error ends is in the audit."""
    removed = 0
    try:
        with progress_bar() as show, stopping() as stop:
            async for lead in _leads_of(client, sequence, added):
                if stop.is_set():
                    words = show_number(removed, "lead")
                    raise exit_codes.Interrupted(
                        f"{words} removed. Run the same command again to remove the others."
                    )
                try:
                    await client.remove_lead(lead.id, priority=Priority.BULK)
                except NotFound:
                    continue
                removed += 1
                show(ProgressUpdate(count=removed, part=removed / len(added)))
    finally:
        await record(settings, workspace, f"import --undo {options.file.name}", f"removed {removed:,} leads")
    return removed


async def _leads_of(client: OutreachClient, sequence: str, wanted: frozenset[str]) -> AsyncIterator[Lead]:
    """Those leads of the sequence; all are known before the first is removed, because removing moves the pages."""
    found, left = [], set(wanted)
    async for lead in client.iter_leads(sequence_id=sequence, priority=Priority.BULK):
        if (address := (lead.email or "").casefold()) in left:
            left.discard(address)
            found.append(lead)
        if not left:
            break
    for lead in found:
        yield lead
