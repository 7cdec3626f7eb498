"""`replies` in Slack, and the replies on Home: each with its buttons and a link to its card."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime

from bot.alerts.cards import crm_button
from bot.blockkit.actions import OnAlert
from bot.commands.answer import Answer
from bot.slack.directory import UserDirectory
from shared.commands import Invocation
from shared.commands.replies import LATE_SECONDS, PAGE, Replies, own_replies, own_title, read_unclaimed
from shared.commands.run import CommandContext
from shared.domain.card import Button, Card, Fact, Tone
from shared.frozen import frozen
from shared.records.replies import OpenReply
from shared.store import Store
from shared.text.formats import show_number, show_span
from shared.text.links import lead_link

_CLAIM = (("claim", "Claim", Tone.GOOD),)
_OWN = (("done", "Mark done", Tone.GOOD), ("release", "Release", Tone.INFO))


@frozen
class ReplyItems:
    """Draws replies as items of a list."""

    now: datetime
    links: Mapping[str, str]
    """The addresses of the cards, by alert."""
    lead_page: str = ""
    """The template of a lead's page in the CRM."""
    may_change: bool = True

    def item(
        self, reply: OpenReply, *, mine: bool = False, workspace: str = "", then: Invocation | None = None
    ) -> Card:
        """A reply that is unclaimed, or the reader's; `then` is shown after a click on its button."""
        age, alert = self.now - reply.received_at, reply.alert_id
        late = Tone.BAD if age.total_seconds() > LATE_SECONDS else Tone.WARN
        buttons = [
            Button(label=label, action=OnAlert(verb=verb, alert=alert, then=then), tone=tone)
            for verb, label, tone in (_OWN if mine else _CLAIM)
            if self.may_change
        ]
        if link := self.links.get(alert):
            buttons.append(Button(label="Open card", url=link))
        if page := lead_link(self.lead_page, reply.email):
            buttons.append(crm_button(page))
        span = f"received {show_span(age)} ago" if mine else f"waiting {show_span(age)}"
        facts = (("In", workspace), ("Age", span), ("Sequence", reply.sequence))
        return Card(
            title=" at ".join(filter(None, (reply.lead or reply.email, reply.company))),
            tone=Tone.INFO if mine else late,
            facts=tuple(Fact(label=label, value=value) for label, value in facts if value),
            quote=reply.reply,
            buttons=tuple(buttons),
        )


async def card_links(store: Store, directory: UserDirectory, alerts: Sequence[str]) -> Mapping[str, str]:
    """The addresses of the messages of alerts."""
    places = await store.alerts.messages(alerts)
    links = await asyncio.gather(*(directory.permalink(*place) for place in places.values()))
    return dict(zip(places, links, strict=True))


@frozen
class OpenReplies:
    """`links` returns the addresses of alerts' messages."""

    links: Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]

    async def __call__(self, asked: Replies, context: CommandContext) -> Answer:
        if asked.mine:
            claims = await own_replies(context)
            drawn = await self._items(claims[:PAGE], context)
            items = tuple(drawn.item(claim, mine=True) for claim in claims[:PAGE])
            more = (f"The first {PAGE} are shown.",) if len(claims) > PAGE else ()
            return Answer(card=Card(title=own_title(len(claims)), text=more), items=items)
        page = asked.page or 1
        waiting = await read_unclaimed(context, page=page)
        while waiting.count and not waiting.replies:  # claimed since the button of this page was shown
            page = min(page - 1, -(-waiting.count // PAGE))
            waiting = await read_unclaimed(context, page=page)
        if not waiting.replies:
            return Answer(card=Card(title="No unclaimed replies", tone=Tone.GOOD))
        several = context.settings is not None and len(context.settings.workspaces) > 1
        own, pages = context.workspace.name if several else "", -(-waiting.count // PAGE)
        first = (page - 1) * PAGE
        text = f"{first + 1:,} to {first + len(waiting.replies):,} of {waiting.count:,}, oldest first."
        offered = (("Previous", page - 1), ("Next", page + 1))
        then = Invocation(arguments=Replies(page=page), workspace=own or None)
        drawn = await self._items(waiting.replies, context)
        items = tuple(drawn.item(reply, then=then) for reply in waiting.replies)
        card = Card(
            title=f"{show_number(waiting.count, 'unclaimed reply')}",
            tone=items[0].tone,
            text=(text,) if pages > 1 else (),
            buttons=tuple(
                Button(label=label, action=Replies(page=other), workspace=own)
                for label, other in offered
                if 0 < other <= pages
            ),
        )
        return Answer(card=card, items=items, settles=(asked.page or 1) > 1)

    async def _items(self, replies: Sequence[OpenReply], context: CommandContext) -> ReplyItems:
        links = await self.links([reply.alert_id for reply in replies])
        page = context.settings.links.lead if context.settings else ""
        return ReplyItems(now=context.now(), links=links, lead_page=page)
