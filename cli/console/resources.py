"""Resources of commands: the service, the bot's records, and the sequence of an option."""

from __future__ import annotations

import contextlib
import getpass
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cli.console import exit_codes
from shared.commands.base import CommandContext
from shared.commands.sequences import resolve_sequence
from shared.domain.card import Typed
from shared.records import Actor, AuditEntry, RecordsUnavailable
from shared.text.tokenize import join

if TYPE_CHECKING:
    from argparse import Namespace

    from shared.api.models import Sequence
    from shared.domain.reply_queue import ReplyQueue
    from shared.settings import Settings, Workspace
    from shared.store import Store


async def named_sequence(context: CommandContext, name: str, *, command: tuple[str, ...]) -> Sequence:
    """The sequence; raises `Refused` with the candidates, each with the `command` that would name it."""
    found = resolve_sequence(await context.sequences(), name.split())
    if found.only:
        return found.only
    raise exit_codes.Refused(found.card(lambda chosen: Typed(join(*command, chosen))))


def log_to_stderr() -> None:
    """Keep what the bot's parts log out of stdout, where a command's data is: structlog prints there by itself."""
    import structlog

    # Not kept by the loggers that use it: a program that runs several commands may give each a stderr of its own.
    structlog.configure(
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )


def open_replies(settings: Settings, workspace: str) -> AbstractAsyncContextManager[ReplyQueue]:
    """The queue of replies in the settings' database. Raises `RecordsUnavailable`, with the reason."""
    from bot.commands.reply_queue import open_reply_queue  # late: the dashboard paints before it is loaded

    log_to_stderr()
    return open_reply_queue(settings, workspace)


@contextlib.asynccontextmanager
async def open_context(settings: Settings, workspace: Workspace) -> AsyncIterator[CommandContext]:
    """Open the context of a command that is run from a shell."""
    from shared.commands.run import open_client  # late: the dashboard paints before the client is loaded
    from shared.domain.local_zone import local_zone
    from shared.store import open_records

    async with open_client(settings, workspace) as client, open_records(settings.database) as records:
        yield CommandContext(
            workspace=workspace,
            client=client,
            actor=_actor(),
            records=records,
            now=lambda: datetime.now(UTC),
            settings=settings,
            zone=local_zone(),
        )


def service_settings(options: Namespace) -> Settings:
    """The settings of a command that asks the service, about a workspace that there is."""
    from shared.settings import Need, load

    settings = load(config=options.config, needs=(Need.API,))
    settings.workspace(options.workspace)
    return settings


@contextlib.asynccontextmanager
async def open_workspace(options: Namespace) -> AsyncIterator[CommandContext]:
    """Open the context of the workspace that the command line names."""
    settings = service_settings(options)
    async with open_context(settings, settings.workspace(options.workspace)) as context:
        yield context


def _actor() -> Actor:
    return Actor(name=getpass.getuser(), face="shell")


async def record(records: Store, workspace: Workspace, command: str, result: str) -> None:
    """Write a change to the audit; a database that can't be reached is named on stderr and undoes nothing."""
    name = workspace.name
    entry = AuditEntry(at=datetime.now(UTC), actor=_actor(), workspace=name, command=command, result=result)
    try:
        await records.record(entry)
    except RecordsUnavailable as fault:
        exit_codes.print_error(f"not in the audit log: {fault}")
