"""What commands share: the sequence that is meant, and the bot's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shared.commands.arguments import OnSequence
from shared.commands.resolve import Ambiguous, Choice, NoMatch, Resolved, resolve_sequence
from shared.commands.result import Result, refusal
from shared.records.audit import Actor
from shared.records.records import Records, RecordsUnavailable

if TYPE_CHECKING:
    from shared.commands.running.context import CommandContext
    from shared.commands.running.session import SessionChanges

NO_RECORDS = "The bot's database isn't reachable from here."


async def find_sequence(
    words: Sequence[str], *, context: CommandContext, greedy: bool = False
) -> Resolved | Ambiguous | NoMatch:
    """The sequence that the words name, of those that the service has now."""
    from shared.api.pace import Priority

    known = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    return resolve_sequence(known, words, greedy=greedy)


def which_sequence(found: Ambiguous | NoMatch, arguments: OnSequence) -> Result:
    """The question which sequence is meant."""
    return refusal(found.card(with_sequence(arguments)), why="no single sequence", argument="target")


def with_sequence(arguments: OnSequence) -> Choice:
    return lambda sequence_id: replace(arguments, target=(sequence_id,))


def need_records(context: CommandContext) -> Records:
    """The bot's records; raises `RecordsUnavailable` where there are none."""
    if context.records is None:
        raise RecordsUnavailable(NO_RECORDS)
    return context.records


def changes_of(context: CommandContext) -> Records | SessionChanges:
    """Where the changes are that can be undone; raises `RecordsUnavailable` where they are nowhere."""
    return context.session if context.records is None and context.session else need_records(context)


def who_did(actor: Actor) -> str:
    """`@ann`, as cards and threads call people of Slack; others by their names."""
    is_of_slack = actor.face == "slack" or (actor.face == "dashboard" and actor.id)
    return f"@{actor.name}" if is_of_slack else actor.name
