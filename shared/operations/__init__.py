"""The acts behind the commands: call the client, apply the rules, answer a Card; every face runs them through `run`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from shared.api.errors import OutreachError
from shared.card import Card
from shared.commands import Invocation, help_card
from shared.desk import Desk
from shared.operations import inboxes, overview, sequences, stats
from shared.operations.faults import error_card
from shared.operations.outcome import Outcome, asks, failure, write, written
from shared.records import RecordsUnavailable

__all__ = ["asks", "error_card", "run"]


async def _help(invocation: Invocation, desk: Desk) -> Card:
    return help_card(invocation.values["command"], allowed=lambda command: desk.role.includes(command.role))


READING: Mapping[str, Callable[[Invocation, Desk], Awaitable[Card]]] = {
    "help": _help,
    "status": overview.status,
    "sequences": sequences.list_sequences,
    "inboxes": inboxes.list_inboxes,
    "stats": stats.stats,
}
CHANGING: Mapping[str, Callable[[Invocation, Desk], Awaitable[Outcome]]] = {
    "pause": sequences.pause,
    "resume": sequences.resume,
}


async def run(invocation: Invocation, desk: Desk) -> Card:
    """Carry a command out; what changes something, or fails at it, is in the audit.

    Raises `OutreachError` and `RecordsUnavailable`, which `error_card` turns into cards.
    """
    name = invocation.command.name
    if name in READING:
        return await READING[name](invocation, desk)
    try:
        outcome = await CHANGING[name](invocation, desk)
    except (OutreachError, RecordsUnavailable) as error:
        await write(failure(error), invocation=invocation, desk=desk)
        raise
    return await written(outcome, invocation=invocation, desk=desk)
