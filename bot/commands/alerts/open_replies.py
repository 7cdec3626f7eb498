"""`replies` in Slack: each unclaimed reply with a Claim button and a link to its card, oldest first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.blockkit.actions import OnAlert
from bot.commands.answer import Answer
from bot.slack.permissions import Person
from shared.commands import Invocation
from shared.commands.replies import LATE_SECONDS, PAGE, Replies, own_replies, own_title, read_unclaimed
from shared.commands.run import CommandContext
from shared.domain.card import Button, Card, Fact, Tone
from shared.records.replies import OpenReply
from shared.text.formats import show_number, show_span


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReplies:
    """`links` returns the permalinks of alerts' messages."""

    links: Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]

    async def __call__(self, asked: Replies, context: CommandContext, _: Person) -> Answer:
        if asked.mine:
            return await self._mine(context)
        page = asked.page or 1
        waiting = await read_unclaimed(context, page=page)
        while waiting.count and not waiting.replies:  # claimed since the button of this page was shown
            page = min(page - 1, -(-waiting.count // PAGE))
            waiting = await read_unclaimed(context, page=page)
        shown = waiting.replies
        if not shown:
            return Answer(card=Card(title="No unclaimed replies", tone=Tone.GOOD))
        pages = -(-waiting.count // PAGE)
        first = (page - 1) * PAGE
        links = await self.links([reply.alert_id for reply in shown])
        items = tuple(_item(reply, context, links.get(reply.alert_id, ""), page=page) for reply in shown)
        text = (f"{first + 1:,} to {first + len(shown):,} of {waiting.count:,}, oldest first.",)
        return Answer(
            card=Card(
                title=f"{show_number(waiting.count, 'unclaimed reply')}",
                tone=items[0].tone,
                text=text if pages > 1 else (),
                buttons=_turning(page, pages, context),
            ),
            items=items,
            settles=(asked.page or 1) > 1,
        )

    async def _mine(self, context: CommandContext) -> Answer:
        claims = await own_replies(context)
        shown = claims[:PAGE]
        links = await self.links([one.alert_id for one in shown])
        items = tuple(_own_item(one, context, links.get(one.alert_id, "")) for one in shown)
        more = (f"The first {PAGE} are shown.",) if len(claims) > PAGE else ()
        return Answer(card=Card(title=own_title(len(claims)), text=more), items=items)


def _who(reply: OpenReply) -> str:
    return " at ".join(filter(None, (reply.lead or reply.email, reply.company)))


def _workspace(context: CommandContext) -> str:
    """That of a button, where there are several."""
    several = context.settings is not None and len(context.settings.workspaces) > 1
    return context.workspace.name if several else ""


def _turning(page: int, pages: int, context: CommandContext) -> tuple[Button, ...]:
    offered = (("Previous", page - 1), ("Next", page + 1))
    return tuple(
        Button(label=label, action=Replies(page=other), workspace=_workspace(context))
        for label, other in offered
        if 0 < other <= pages
    )


def _item(reply: OpenReply, context: CommandContext, link: str, *, page: int) -> Card:
    age = context.now() - reply.received_at
    then = Invocation(arguments=Replies(page=page), workspace=_workspace(context) or None)
    claim = OnAlert(verb="claim", alert=reply.alert_id, then=then)
    buttons = [Button(label="Claim", action=claim, tone=Tone.GOOD)]
    if link:
        buttons.append(Button(label="Open card", url=link))
    return Card(
        title=_who(reply),
        tone=Tone.BAD if age.total_seconds() > LATE_SECONDS else Tone.WARN,
        facts=_facts(reply, f"waiting {show_span(age)}"),
        quote=reply.reply,
        buttons=tuple(buttons),
    )


def _own_item(reply: OpenReply, context: CommandContext, link: str) -> Card:
    age = show_span(context.now() - reply.received_at)
    acts = (("done", "Mark done", Tone.GOOD), ("release", "Release", Tone.INFO))
    return Card(
        title=_who(reply),
        facts=_facts(reply, f"received {age} ago"),
        quote=reply.reply,
        buttons=(
            *(
                Button(label=label, action=OnAlert(verb=verb, alert=reply.alert_id), tone=tone)
                for verb, label, tone in acts
            ),
            *((Button(label="Open card", url=link),) if link else ()),
        ),
    )


def _facts(reply: OpenReply, age: str) -> tuple[Fact, ...]:
    return tuple(
        Fact(label=label, value=value) for label, value in (("Age", age), ("In", reply.sequence)) if value
    )
