"""What operations share: refusals, the sequence that is meant, the bot's records, the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shared.api.errors import OutreachError
from shared.api.pace import Priority
from shared.commands import Invocation
from shared.commands.arguments import OnSequence
from shared.commands.resolve import Ambiguous, Choice, NoMatch, Resolved, resolve_sequence
from shared.commands.result import Problem, Result
from shared.domain.card import Card, Tone
from shared.operations.context import CommandContext
from shared.records.audit import AuditEntry
from shared.records.records import Records, RecordsUnavailable

NO_RECORDS = "The bot's database isn't reachable from here."


def refused(title: str, *text: str, why: str, argument: str = "") -> Result:
    return refusal(Card(title=title, tone=Tone.WARN, text=text), why=why, argument=argument)


def refusal(card: Card, *, why: str, argument: str = "") -> Result:
    problem = Problem(text=why, argument=argument)
    return Result(card=card, audit=f"refused: {why}", effect="refused", problem=problem)


async def find_sequence(
    words: Sequence[str], *, context: CommandContext, greedy: bool = False
) -> Resolved | Ambiguous | NoMatch:
    """The sequence that the words name, of those that the service has now."""
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


async def write_audit(result: Result, *, invocation: Invocation, context: CommandContext) -> str:
    """Write one line into the audit; the reason where that fails, else nothing."""
    entry = AuditEntry(
        at=context.now(),
        actor=context.actor,
        workspace=context.workspace.name,
        command=invocation.line or invocation.command.name,
        result=result.audit,
        effect=result.effect,
        sequences=result.sequences,
        reason=result.reason,
        undoable=result.undoable,
    )
    try:
        await need_records(context).record(entry)
    except RecordsUnavailable as error:
        return str(error) or NO_RECORDS
    return ""


def failure(error: OutreachError | RecordsUnavailable) -> Result:
    """For the audit; the person who ran the command sees the error itself."""
    return Result(card=Card(title=str(error)), audit=f"failed: {error}", effect="failed")
