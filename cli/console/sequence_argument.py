"""The sequence that a word after `--to` or `--sequence` names; nothing happens when that is not clear."""

from __future__ import annotations

from cli.console import exit_codes
from shared.api.client import OutreachClient
from shared.api.http.rate_limit import Priority
from shared.api.models import Sequence
from shared.commands.resolve import Resolved, resolve_sequence
from shared.text.tokenize import join


async def sequence_of(client: OutreachClient, said: str, *, command: tuple[str, ...]) -> Sequence:
    """The sequence; raises `endings.Refused` with the candidates, each with the `command` that would name it."""
    found = resolve_sequence(await client.list_sequences(priority=Priority.INTERACTIVE), said.split())
    if isinstance(found, Resolved):
        return found.sequence
    raise exit_codes.Refused(found.card(lambda chosen: join(*command, chosen)))
