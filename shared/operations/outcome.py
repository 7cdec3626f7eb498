"""The outcome of a command: the card to show and, where it changed something or was refused, the line for the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shared.api.errors import OutreachError
from shared.api.http.rate_limit import Priority
from shared.commands import Invocation
from shared.commands.arguments import Confirmable, OnSequence
from shared.commands.resolve import Ambiguous, Choice, NoMatch, Resolved, resolve_sequence
from shared.domain.card import Card, Tone
from shared.domain.records import AuditEntry, Effect, Records, RecordsUnavailable
from shared.operations.context import CommandContext

NO_RECORDS = "The bot's database isn't available here."


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """`result` is what the audit will say; empty where nothing was done or refused: a question, a look, no change."""

    card: Card
    result: str = ""
    effect: Effect = ""
    sequences: tuple[str, ...] = ()


def refused(title: str, *text: str, why: str) -> Outcome:
    return refusal(Card(title=title, tone=Tone.WARN, text=text, refused=True), why=why)


def refusal(card: Card, *, why: str) -> Outcome:
    return Outcome(card=card, result=f"refused: {why}", effect="refused")


async def find_sequence(
    words: Sequence[str], *, context: CommandContext, greedy: bool = False
) -> Resolved | Ambiguous | NoMatch:
    """The sequence that the words name, of those that the service has now."""
    known = await context.client.list_sequences(priority=Priority.INTERACTIVE)
    return resolve_sequence(known, words, greedy=greedy)


def which_sequence(found: Ambiguous | NoMatch, arguments: OnSequence) -> Outcome:
    """The question which sequence is meant."""
    return refusal(found.card(with_sequence(arguments)), why="no single sequence")


def with_sequence(arguments: OnSequence) -> Choice:
    return lambda sequence_id: replace(arguments, target=(sequence_id,))


def need_records(context: CommandContext) -> Records:
    """The bot's records; raises `RecordsUnavailable` where there are none."""
    if context.records is None:
        raise RecordsUnavailable(NO_RECORDS)
    return context.records


def confirming_command(card: Card) -> str | None:
    """The command line that would confirm what a card asks, or None: it asks nothing."""
    return next(
        (b.line for b in card.buttons if isinstance(b.action, Confirmable) and b.action.confirmed), None
    )


async def record_outcome(outcome: Outcome, *, invocation: Invocation, context: CommandContext) -> Card:
    """The card of an outcome, once it is in the audit; a failure to write is shown, and undoes nothing."""
    if not outcome.result:
        return replace(outcome.card, unchanged=True)
    card = replace(outcome.card, refused=outcome.effect == "refused")
    failure = await write_audit(outcome, invocation=invocation, context=context)
    if not failure:
        return card
    footer = " ".join(filter(None, (card.footer, f"Not in the audit: {failure}")))
    return replace(card, footer=footer)


async def write_audit(outcome: Outcome, *, invocation: Invocation, context: CommandContext) -> str:
    """Write one line into the audit; the reason where that fails, else nothing."""
    entry = AuditEntry(
        at=context.now(),
        actor=context.actor,
        workspace=context.workspace.name,
        command=invocation.line or invocation.command.name,
        result=outcome.result,
        effect=outcome.effect,
        sequences=outcome.sequences,
    )
    try:
        await need_records(context).record(entry)
    except RecordsUnavailable as error:
        return str(error) or NO_RECORDS
    return ""


def failure(error: OutreachError | RecordsUnavailable) -> Outcome:
    """For the audit; the person who ran the command sees the error itself."""
    return Outcome(card=Card(title=str(error)), result=f"failed: {error}", effect="failed")
