"""The bot's ledger, opened for a command of the shell, or the reason why it cannot be."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any, cast

from cli.console.exit_codes import said
from shared.domain.records import Records, RecordsUnavailable
from shared.settings import Settings


class _Unopened:
    """Records whose every act raises `RecordsUnavailable` with the reason; commands without need never notice."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> Any:
        async def refuse(*_arguments: object, **_named: object) -> None:
            raise RecordsUnavailable(self._reason)

        return refuse


@contextlib.asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Records]:
    """The ledger of the settings' database; where it does not open, one that says why when it is needed."""
    from sqlalchemy.exc import SQLAlchemyError

    from bot.store import open_ledger
    from shared.storage.database import DatabaseUnusable

    async with contextlib.AsyncExitStack() as stack:
        try:
            records: Records = await stack.enter_async_context(open_ledger(settings.database))
        except (SQLAlchemyError, DatabaseUnusable, RecordsUnavailable, OSError) as fault:
            records = cast("Records", _Unopened(_reason(fault)))
        yield records


def _reason(fault: Exception) -> str:
    if isinstance(fault, OSError):
        return f"The bot's database cannot be opened: {said(fault)}"
    told = str(getattr(fault, "orig", None) or fault).partition("\n")[0]
    return f"The bot's database cannot be opened: {told}"
