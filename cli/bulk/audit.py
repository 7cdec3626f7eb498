"""What a bulk command changed, in the audit of the bot's database."""

from __future__ import annotations

import getpass
from datetime import UTC, datetime

from cli.console import exit_codes
from cli.console.resources import open_records
from shared.domain.records import Actor, AuditEntry, RecordsUnavailable
from shared.settings import Settings, Workspace


async def record(settings: Settings, workspace: Workspace, command: str, result: str) -> None:
    """Write the entry; a database that can't be reached is named on stderr and undoes nothing."""
    entry = AuditEntry(
        at=datetime.now(UTC),
        actor=Actor(name=getpass.getuser(), face="shell"),
        workspace=workspace.name,
        command=command,
        result=result,
    )
    async with open_records(settings) as records:
        try:
            await records.record(entry)
        except RecordsUnavailable as fault:
            exit_codes.print_error(f"not in the audit: {fault}")
