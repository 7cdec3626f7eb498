"""`open` in Slack: each unclaimed reply with a Claim button and a link to its card, oldest first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.commands.answer import THEN, Answer
from bot.slack.permissions import Person
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.records import OpenReply
from shared.operations.context import CommandContext
from shared.operations.replies import LATE_SECONDS, PAGE, waiting_replies
from shared.text.formats import show_number, show_span


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReplies:
    """`links` returns the permalinks of alerts' messages."""

    links: Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]

    async def __call__(self, context: CommandContext, _: Person) -> Answer:
        waiting = await waiting_replies(context)
        if not waiting:
            return Answer(card=Card(title="No unclaimed replies", tone=Tone.GOOD))
        pages = -(-len(waiting) // PAGE)
        page = min(context.page, pages)
        first = (page - 1) * PAGE
        shown = waiting[first : first + PAGE]
        links = await self.links([reply.alert_id for reply in shown])
        items = tuple(_item(reply, context, links.get(reply.alert_id, ""), page=page) for reply in shown)
        text = (f"{first + 1} to {first + len(shown)} of {len(waiting):,}, oldest first.",)
        return Answer(
            card=Card(
                title=f"{show_number(len(waiting), 'unclaimed reply')}",
                tone=items[0].tone,
                text=text if pages > 1 else (),
                buttons=_turning(page, pages, context),
            ),
            items=items,
            settles=context.page > 1,
        )


def open_line(page: int, context: CommandContext) -> str:
    """The command that shows this page of the same workspace."""
    several = context.settings is not None and len(context.settings.workspaces) > 1
    return f"open {page}" + (f" @{context.workspace.name}" if several else "")


def _turning(page: int, pages: int, context: CommandContext) -> tuple[Button, ...]:
    before = (Button(label="Previous", command=open_line(page - 1, context)),) if page > 1 else ()
    after = (Button(label="Next", command=open_line(page + 1, context)),) if page < pages else ()
    return (*before, *after)


def _item(reply: OpenReply, context: CommandContext, link: str, *, page: int) -> Card:
    age = context.now() - reply.received_at
    who = " at ".join(filter(None, (reply.lead or reply.email, reply.company)))
    claim = f"claim {reply.alert_id}{THEN}{open_line(page, context)}"
    buttons = [Button(label="Claim", command=claim, tone=Tone.GOOD)]
    if link:
        buttons.append(Button(label="Open card", command="", url=link))
    facts = (Fact(label="Waiting", value=f"waiting {show_span(age)}"), Fact(label="In", value=reply.sequence))
    return Card(
        title=who,
        tone=Tone.BAD if age.total_seconds() > LATE_SECONDS else Tone.WARN,
        facts=tuple(fact for fact in facts if fact.value),
        buttons=tuple(buttons),
    )
