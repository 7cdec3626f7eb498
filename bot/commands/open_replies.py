"""`open` in Slack: each waiting reply with a button to take it and a link to its card, the oldest first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.commands.dispatch import Answer
from bot.slack.permissions import Person
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.records import OpenReply
from shared.operations.context import CommandContext
from shared.operations.outcome import need_records
from shared.operations.replies import LATE_SECONDS
from shared.text.formats import show_number, show_span

MAX_REPLIES = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReplies:
    """`links` answers the addresses of alerts' messages."""

    links: Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]

    async def __call__(self, context: CommandContext, _: Person) -> Answer:
        """The card for `open`, and an item per reply."""
        waiting = sorted(
            await need_records(context).open_replies(context.workspace.name),
            key=lambda reply: reply.received_at,
        )
        links = await self.links([reply.alert_id for reply in waiting[:MAX_REPLIES]])
        items = tuple(_item(reply, context, links.get(reply.alert_id, "")) for reply in waiting[:MAX_REPLIES])
        if not items:
            return Answer(card=Card(title="Nobody waits for an answer", tone=Tone.GOOD))
        more = len(waiting) - len(items)
        return Answer(
            card=Card(
                title=f"{show_number(len(waiting), 'interested reply')} to be claimed",
                tone=items[0].tone,
                text=(f"The {len(items)} that wait longest, of {len(waiting)}.",) if more else (),
            ),
            items=items,
        )


def _item(reply: OpenReply, context: CommandContext, link: str) -> Card:
    age = context.now() - reply.received_at
    who = " at ".join(filter(None, (reply.lead or reply.email, reply.company)))
    buttons = [Button(label="Claim", command=f"claim {reply.alert_id}", tone=Tone.GOOD)]
    if link:
        buttons.append(Button(label="Open the card", command="", url=link))
    facts = (Fact(label="Waiting", value=f"waiting {show_span(age)}"), Fact(label="In", value=reply.sequence))
    return Card(
        title=who,
        tone=Tone.BAD if age.total_seconds() > LATE_SECONDS else Tone.WARN,
        facts=tuple(fact for fact in facts if fact.value),
        buttons=tuple(buttons),
    )
