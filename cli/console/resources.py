"""What a command opens, looks up or writes: the bot's records, the sequence of an option, a private file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cli.console import exit_codes
from shared.api.http.rate_limit import Priority
from shared.commands.resolve import Resolved, resolve_sequence
from shared.domain.records import Records, RecordsUnavailable
from shared.text.tokenize import join

if TYPE_CHECKING:
    from shared.api.client import OutreachClient
    from shared.api.models import Sequence
    from shared.settings import Settings


async def named_sequence(client: OutreachClient, name: str, *, command: tuple[str, ...]) -> Sequence:
    """The sequence; raises `Refused` with the candidates, each with the `command` that would name it."""
    found = resolve_sequence(await client.list_sequences(priority=Priority.INTERACTIVE), name.split())
    if isinstance(found, Resolved):
        return found.sequence
    raise exit_codes.Refused(found.card(lambda chosen: join(*command, chosen)))


class _Unopened:
    """Records whose every act raises `RecordsUnavailable` with the reason; commands without need never notice."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    @property
    def guardrails(self) -> _Unopened:
        return self

    def __getattr__(self, name: str) -> Any:
        async def refuse(*_arguments: object, **_named: object) -> None:
            raise RecordsUnavailable(self._reason)

        return refuse


@contextlib.asynccontextmanager
async def open_records(settings: Settings) -> AsyncIterator[Records]:
    """The records in the settings' database; where it does not open, one that says why when it is needed."""
    from sqlalchemy.exc import SQLAlchemyError

    from bot.store import open_store
    from shared.storage.database import DatabaseUnusable

    async with contextlib.AsyncExitStack() as stack:
        try:
            store = await stack.enter_async_context(open_store(settings.database))
            records: Records = store.records
        except (SQLAlchemyError, DatabaseUnusable, RecordsUnavailable, OSError) as fault:
            records = cast("Records", _Unopened(_reason(fault)))
        yield records


def _reason(fault: Exception) -> str:
    if isinstance(fault, OSError):
        return f"The bot's database can't be opened: {exit_codes.os_error_text(fault)}"
    text = str(getattr(fault, "orig", None) or fault).partition("\n")[0]
    return text if text.startswith("The bot's database") else f"The bot's database can't be opened: {text}"


def write_private(path: Path, text: str) -> None:
    """Write the file whole or not at all, on disk before this returns, readable for its owner alone."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(
            os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
        ) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
