"""Fixed answers: the greeting, an outdated button, a thread without an alert."""

from __future__ import annotations

from bot.blockkit.actions import OpenForm
from shared.commands.help import Help
from shared.commands.replies import Replies
from shared.commands.status import Status
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
    text=("Use this in the thread of a reply's card. `replies` lists the unclaimed replies.",),
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
        Button(label="Subscribe this channel", action=OpenForm(verb="subscribe"), tone=Tone.GOOD),
        Button(label="Status", action=Status()),
        Button(label="Help", action=Help()),
    ),
    footer="Guests can view, but not change anything. People from other organizations see nothing unless an admin allows it.",
)
