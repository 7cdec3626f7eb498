"""Confirming at the terminal what an assistant proposes: the protocol has stdin and stdout, so /dev/tty asks."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import select
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from cli.console import card_output
from shared import operations
from shared.api.errors import OutreachError
from shared.assistants.dry_run import WouldChangeError, reading_only
from shared.assistants.proposal import proposal
from shared.assistants.session import Proposed, Standing
from shared.commands import Invocation, invocation
from shared.commands.result import Result
from shared.domain.card import Card
from shared.operations.context import CommandContext
from shared.operations.outcome import refused
from shared.records.records import RecordsUnavailable

TERMINAL = "/dev/tty"
CONFIRM_SECONDS = 600.0
LOOK_SECONDS = 0.5


class TerminalProposals:
    """Asks who sits at the terminal that the program was started from; one question after the other."""

    def __init__(self, context_of: Callable[[Invocation], CommandContext]) -> None:
        self._context_of = context_of
        self._standing: dict[str, Standing] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._one_by_one = asyncio.Lock()

    async def propose(self, asked: Invocation) -> Proposed | Result:
        context = self._context_of(asked)
        looking = reading_only(context)
        try:
            result = await operations.run(asked, looking)
        except WouldChangeError:
            question = await proposal(asked, looking)
            if isinstance(question, Result):
                return question
            line, card = question
        else:
            if result.question is None:
                return result
            line, card = invocation(result.question, workspace=asked.workspace), result.card
        try:
            with _terminal():
                pass
        except OSError:
            return _NO_TERMINAL
        name = f"pr_{secrets.token_hex(10)}"
        self._standing[name] = Standing(state="waiting for confirmation")
        task = asyncio.create_task(self._ask(name, line, card, context))
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)
        return Proposed(ids=(name,), card=card)

    async def look(self, proposal: str) -> Standing | None:
        return self._standing.get(proposal)

    async def _ask(self, name: str, line: Invocation, card: Card, context: CommandContext) -> None:
        async with self._one_by_one:
            stop = [False]
            try:
                said = await asyncio.to_thread(_ask_terminal, card, line.line, stop)
            except OSError:
                said = None
            finally:
                stop[0] = True  # the thread can't be cancelled
            if said is None:
                self._standing[name] = Standing(state="expired")
            elif not said:
                self._standing[name] = Standing(state="declined")
            else:
                self._standing[name] = Standing(state="confirmed", result=await _carry_out(line, context))


async def _carry_out(line: Invocation, context: CommandContext) -> str:
    """What came of it, as the terminal says it, too."""
    try:
        card = (await operations.run(line, replace(context, confirmed=True))).card
    except (OutreachError, RecordsUnavailable) as error:
        card = operations.error_card(error)
    with contextlib.suppress(OSError):
        await asyncio.to_thread(_show, card)
    return card.title


def _show(card: Card) -> None:
    with _terminal() as terminal, open(terminal, "w", closefd=False) as stream:
        card_output.show(replace(card, buttons=()), stream=stream)


@contextmanager
def _terminal() -> Iterator[int]:
    """The terminal of this process; raises `OSError` where there is none, or another program has it."""
    terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    try:
        if os.tcgetpgrp(terminal) != os.getpgrp():
            raise OSError("another program reads from the terminal")
        yield terminal
    finally:
        os.close(terminal)


def _ask_terminal(card: Card, line: str, stop: list[bool]) -> bool | None:
    """Whether the person typed yes; None: no answer came in time."""
    with _terminal() as terminal, open(terminal, "w", closefd=False) as stream:
        card_output.show(replace(card, buttons=()), stream=stream)
        # What was typed before the question is no answer to it.
        termios.tcflush(terminal, termios.TCIFLUSH)
        stream.write("Type yes to do this, anything else to leave it: ")
        stream.flush()
        until = time.monotonic() + CONFIRM_SECONDS
        while time.monotonic() < until and not stop[0]:
            if select.select([terminal], [], [], LOOK_SECONDS)[0]:
                return os.read(terminal, 1024).decode(errors="replace").strip().lower() == "yes"
    return None


_NO_TERMINAL = refused(
    "No terminal to confirm this on",
    "Nothing was changed. Start outreach mcp from a terminal, or run the command yourself.",
    why="no terminal",
)
