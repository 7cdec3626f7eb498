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
from bot.attention import ALERT, VERBS, Attention
from bot.desks import Desks
from bot.roles import Person
from shared import commands, operations
from shared.card import Card
from shared.commands import Invocation, UsageError
from shared.records import Actor, AuditEntry
from shared.rhythm import zone_of

log = structlog.get_logger("acts")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What to say, and whether the whole channel is to see it."""

    card: Card | None
    public: bool = False


class Acts:
    """`perform` a line for a person."""

    def __init__(self, desks: Desks, *, changed: Callable[[], None]) -> None:
        self._desks = desks
        self._attention = Attention(
            desks.ledger, changed=changed, zone=zone_of(desks.settings.routes.zone) or UTC
        )

    async def perform(self, line: str, person: Person, *, channel: str) -> Answer:
        """Parse, check the role, run; what a person did for all to see is signed with their name."""
        try:
            verb, _, rest = line.partition(" ")
            if verb in VERBS and rest.startswith(ALERT):
                return Answer(card=await self._attention.perform(verb, rest, person, _actor(person, channel)))
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


def _actor(person: Person, channel: str) -> Actor:
    return Actor(name=person.name, id=person.id, face="slack", channel=channel)


def _signed(card: Card, person: Person) -> Card:
    return replace(card, footer=" · ".join(filter(None, (card.footer, f"by @{person.name}"))))


def failure(error: Exception) -> Card:
    """What went wrong, what to do, and a reference that is in the log too."""
    reference = f"ref-{secrets.token_hex(4)}"
    log.warning("act failed", reference=reference, error=type(error).__name__, exc_info=error)
    return operations.error_card(error, reference)
