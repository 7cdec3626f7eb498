"""Fixed answers: the greeting, a sample of a card, an outdated button, a thread without an alert."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from bot.alerts.cards import reply_card
from bot.alerts.links import Links
from bot.blockkit.actions import ShowSample
from shared.api.event_kinds import INTERESTED, PAUSED
from shared.api.events import Event, EventLead
from shared.commands.help import Help
from shared.commands.replies import Replies
from shared.commands.subscribe import Subscribe
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Tone

UNKNOWN = Card(
    title="This button is from an older version",
    tone=Tone.WARN,
    text=("It no longer works. `/outreach help` lists the current commands.",),
    buttons=(Button(label="Help", action=Help()),),
)
WHICH_ALERT = Card(
    title="Which reply?",
    tone=Tone.WARN,
    text=("Add the lead's name, as in `claim Ada`, or use this in the thread of a reply's card.",),
    buttons=(Button(label="Show unclaimed", action=Replies()),),
)
NOBODY = Card(
    title="Slack didn't say who sent this",
    tone=Tone.WARN,
    text=("Workflows can't run commands. Mention me from your own account.",),
)
OUTSIDE = Card(
    title="Outreach",
    text=(
        "People from other organizations can't use this tab. Ask an admin of this Slack workspace for access.",
    ),
)
UNKNOWN_PERSON = Card(
    title="Outreach", text=("Slack didn't say who you are. Open this tab again in a minute.",)
)
ON_ITS_WAY = Card(title="Working …", text=("The answer will appear here.",))
GREETING = Card(
    title="Outreach is ready",
    text=(
        "I can post interested replies and paused domains to this channel, with buttons to claim replies and pause sequences.",
        "`/outreach subscriptions` shows what is posted here, `/outreach subscribe` adds to it.",
        "In a thread, mention me, followed by the command.",
    ),
    buttons=(
        Button(label="Subscribe this channel", action=Subscribe(events=(INTERESTED, PAUSED)), tone=Tone.GOOD),
        Button(label="Show a sample card", action=ShowSample()),
        Button(label="Help", action=Help()),
    ),
    footer="Guests can view, but not change anything. People from other organizations see nothing unless an admin allows it.",
)
SAMPLE = Event(
    kind="reply.interested",
    lead=EventLead(
        email="felix@coral-partners.example",
        first_name="Felix",
        last_name="Weber",
        company="Coral Partners",
    ),
    sequence="Fintech ops leaders",
    reply="We have been losing hours to this every week. Could you call me tomorrow after 10?",
)
SAMPLE_PRESSED = Card(
    title="This is only a sample",
    text=("Nothing was changed. Real cards are posted when a lead is interested.",),
)


def sample(now: datetime, links: Links) -> Card:
    """The card of an interested reply as it is drawn for real ones, with buttons that change nothing."""
    link = links.to_mail("al_sample", since=now.timestamp())
    card = reply_card(Alert(id="al_sample", event=SAMPLE, received_at=now.timestamp(), mail_link=link))
    pressed = ShowSample(pressed=True)
    buttons = tuple(
        Button(label=one.label, action=pressed, tone=one.tone, menu=one.menu) for one in card.buttons
    )
    facts = tuple(replace(fact, url="") for fact in card.facts)
    details = tuple(replace(fact, url="") for fact in card.details)
    footer = "A sample that only you see. Its buttons change nothing."
    return replace(card, buttons=buttons, facts=facts, details=details, footer=footer)
