"""Commands of a dashboard in a test: pauses, resumptions and Undo are the real ones, over an account in memory and the bot's store."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import cast

from pydantic import SecretStr

from shared.api.client import OutreachClient
from shared.api.models import Sequence
from shared.commands.base import Question, Result
from shared.commands.run import CommandContext
from shared.domain.card import Card, Tone
from shared.records.audit import Actor
from shared.settings import Workspace
from shared.storage.database import parse_url
from shared.store import open_store
from shared.store.history import Records
from tests.kit.databases import migrated_file
from tests.kit.scripted import BASE
from tests.shared.harness import DOWN, KEY
from tests.tui.accounts import account
from tui.feed.pending_changes import Asked, Yes, run_command

REAL = frozenset({"pause", "resume", "undo"})


class Account:
    """The sequences of a service, in memory."""

    def __init__(self) -> None:
        self.sequences = {one.id: one for one in account().sequences.value or ()}

    async def list_sequences(self, **_: object) -> tuple[Sequence, ...]:
        return tuple(self.sequences.values())

    async def pause_sequence(self, name: str) -> Sequence:
        return self._set(name, "paused")

    async def resume_sequence(self, name: str) -> Sequence:
        return self._set(name, "active")

    def _set(self, name: str, status: str) -> Sequence:
        self.sequences[name] = replace(self.sequences[name], status=status)
        return self.sequences[name]


@contextlib.asynccontextmanager
async def own_records(now: Callable[[], datetime]) -> AsyncIterator[Records]:
    """An empty store in a file of its own, beside a bot that runs."""
    with tempfile.TemporaryDirectory() as folder:
        url = parse_url(migrated_file(Path(folder, "bot.db")))
        async with open_store(url, clock=lambda: now().timestamp()) as store:
            # A pause with an end is promised only beside a bot that runs.
            await store.instance.beat("1")
            yield store.records


class Commanded:
    """Remembers the lines that were carried out, not those that were only asked about."""

    def __init__(self, now: Callable[[], datetime], records: Records = DOWN) -> None:
        self.lines: list[str] = []
        self.broken = False
        self.context = CommandContext(
            workspace=Workspace(name="default", base_url=BASE, api_key=SecretStr(KEY)),
            client=cast("OutreachClient", Account()),
            actor=Actor(name="ann", face="dashboard"),
            records=records,
            now=now,
            asks_always=True,
        )

    @property
    def paused(self) -> set[str]:
        """The ids of the sequences that are paused at the service."""
        account = cast("Account", self.context.client)
        return {one.id for one in account.sequences.values() if one.status == "paused"}

    async def run(self, asked: Asked) -> Result | Question:
        if isinstance(asked, Yes):
            return await self._carry_out(asked)
        if asked.command.name in REAL:
            done = await run_command(self.context, asked)
            if isinstance(done, Result):
                self.lines.append(asked.line)
            return done
        self.lines.append(asked.line)
        return Result(card=Card(title="Done", tone=Tone.GOOD))

    __call__ = run

    async def _carry_out(self, yes: Yes) -> Result | Question:
        self.lines.append(yes.line)
        if not self.broken:
            return await run_command(self.context, yes)
        title, text = "The outreach service can't be reached", ("Nothing was changed.",)
        return Result(card=Card(title=title, tone=Tone.BAD, text=text), effect="failed")
