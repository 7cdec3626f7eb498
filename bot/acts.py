"""From a line that somebody typed or clicked to the Card that answers it; every failure is a Card too.

Knows nothing of how Slack is spoken to: the listeners hand in who, where and what, and post what comes back.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import structlog

from bot import roles
from bot.desks import Desks
from bot.ledger.claims import Held
from bot.roles import Person
from shared import commands, operations
from shared.card import Card, Tone
from shared.commands import Invocation, Role, UsageError
from shared.records import Actor, AuditEntry

log = structlog.get_logger("acts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What to say, and whether the whole channel is to see it."""

    card: Card | None
    public: bool = False


class Acts:
    """`perform` a line for a person."""

    def __init__(self, desks: Desks, *, changed: Callable[[], None]) -> None:
        self._desks, self._changed = desks, changed

    async def perform(self, line: str, person: Person, *, channel: str) -> Answer:
        """Parse, check the role, run; what a person did for all to see is signed with their name."""
        try:
            verb, _, rest = line.partition(" ")
            if verb in _CLAIMS and rest.startswith("al_"):
                return await self._claim(verb, rest, person, channel=channel)
            return await self._command(commands.parse(line), person, channel=channel)
        except UsageError as error:
            return Answer(card=error.card)
        except Exception as error:  # noqa: BLE001 # whatever it is, the person gets an answer and a reference
            return Answer(card=failure(error))

    async def _command(self, invocation: Invocation, person: Person, *, channel: str) -> Answer:
        command = invocation.command
        workspace = self._desks.workspace(invocation.workspace, channel=channel)
        actor = _actor(person, channel)
        if not roles.may(person, command):
            await self._refused(invocation.line, workspace.name, actor)
            return Answer(card=roles.refusal(person, f"“{command.name}”", needed=command.role))
        card = await operations.run(invocation, self._desks.at(workspace, actor, role=roles.role_of(person)))
        done = command.changes and not card.refused and operations.asks(card) is None
        return Answer(card=_signed(card, person) if done else card, public=done)

    async def _refused(self, line: str, workspace: str, actor: Actor) -> None:
        entry = AuditEntry(
            at=datetime.now(UTC), actor=actor, workspace=workspace, command=line, result="refused: role"
        )
        await self._desks.ledger.record(entry)

    async def _claim(self, verb: str, alert: str, person: Person, *, channel: str) -> Answer:
        if roles.role_of(person) is Role.READER:
            return Answer(card=roles.refusal(person, f"“{verb}”"))
        ledger = self._desks.ledger
        actor = _actor(person, channel)
        held = await (ledger.claim_alert(alert, actor) if verb == "claim" else ledger.release_alert(alert))
        if held is None:
            return Answer(card=_GONE)
        if not held.changed:
            return Answer(card=_late(held, person))
        self._changed()
        await ledger.record(
            AuditEntry(
                at=datetime.now(UTC),
                actor=actor,
                workspace=held.workspace,
                command=f"{verb} {alert}",
                result="done",
            )
        )
        return Answer(card=None)


_CLAIMS = {"claim", "release"}
_GONE = Card(
    title="This alert is not known any more",
    tone=Tone.WARN,
    text=("It is older than what is kept. `open` lists the replies that wait.",),
)


def _late(held: Held, person: Person) -> Card:
    if not held.by or held.at is None:
        return Card(title="Nobody has it", text=("It was released already; Claim takes it.",))
    who = "You have" if held.by == person.id else f"@{held.name} has"
    since = datetime.fromtimestamp(held.at, UTC)
    return Card(title=f"{who} it since {since:%H:%M} UTC", text=("The card above shows it.",))


def _actor(person: Person, channel: str) -> Actor:
    return Actor(name=person.name, id=person.id, face="slack", channel=channel)


def _signed(card: Card, person: Person) -> Card:
    return replace(card, footer=" · ".join(filter(None, (card.footer, f"by @{person.name}"))))


def failure(error: Exception) -> Card:
    """What went wrong, what to do, and a reference that is in the log too."""
    reference = f"ref-{secrets.token_hex(4)}"
    log.warning("act failed", reference=reference, error=type(error).__name__, exc_info=error)
    return operations.error_card(error, reference)
