"""`replies` in Slack, and the replies on Home: each with its buttons and a link to its card."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from bot.alerts.cards import crm_button
from bot.blockkit.actions import OnAlert
from bot.commands.context import Answer
from bot.slack.directory import UserDirectory
from shared.commands import Invocation
from shared.commands.replies import PAGE, Replies, find_replies, late_tone
from shared.commands.run import CommandContext
from shared.domain.card import Button, Card, Fact, Tone
from shared.frozen import frozen
from shared.records.replies import OpenReply
from shared.store import Store
from shared.text.formats import show_span
from shared.text.links import lead_link

Links = Callable[[Sequence[str]], Awaitable[Mapping[str, str]]]
"""Returns the addresses of alerts' cards."""
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
            tone=Tone.INFO if mine else late_tone(reply, self.now),
            facts=tuple(Fact(label=label, value=value) for label, value in facts if value),
            quote=reply.reply,
            buttons=tuple(buttons),
        )


async def card_links(store: Store, directory: UserDirectory, alerts: Sequence[str]) -> Mapping[str, str]:
    """The addresses of the messages of alerts."""
    places = await store.alerts.messages(alerts)
    links = await asyncio.gather(*(directory.permalink(*place) for place in places.values()))
    return dict(zip(places, links, strict=True))


async def list_replies(asked: Replies, context: CommandContext, links: Links) -> Answer:
    """A page of the unclaimed replies, or the person's own; after a click on one, the page is shown anew."""
    if not (asked.mine or asked.page):
        asked = replace(asked, page=1)
    card, replies, count = await find_replies(asked, context)
    several, pages = len(context.settings.workspaces) > 1 if context.settings else False, -(-count // PAGE)
    own, then = context.workspace.name if several else "", None
    if asked.mine and count > PAGE:
        card = replace(card, text=(f"The first {PAGE} are shown.",))
    elif not asked.mine:
        page = min(asked.page or 1, pages)
        then = Invocation(arguments=Replies(page=page), workspace=own or None)
        offered = {"Previous": page - 1, "Next": page + 1}
        turns = (
            Button(label=label, action=Replies(page=other), workspace=own)
            for label, other in offered.items()
            if 0 < other <= pages
        )
        card = replace(card, buttons=tuple(turns))
    drawn = ReplyItems(
        now=context.now(),
        links=await links([reply.alert_id for reply in replies[:PAGE]]),
        lead_page=context.settings.links.lead if context.settings else "",
    )
    items = tuple(drawn.item(reply, mine=asked.mine, then=then) for reply in replies[:PAGE])
    # A page that a person turned to takes the place of the one before.
    return Answer(card=card, items=items, settles=(asked.page or 1) > 1)
