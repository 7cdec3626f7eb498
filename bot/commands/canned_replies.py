"""What is said where there is no answer: a greeting, an old button, a message without an alert."""

from __future__ import annotations

from shared.domain.card import Button, Card, Tone

UNKNOWN = Card(
    title="This button is from an older version",
    tone=Tone.WARN,
    text=("It does nothing any more. `/outreach help` lists what there is.",),
    buttons=(Button(label="help", command="help"),),
)
NO_ALERT = Card(
    title="This message shows no single alert",
    tone=Tone.WARN,
    text=("The shortcut works on the cards of interested replies and of other leads.",),
    buttons=(Button(label="What waits", command="open"), Button(label="Sequences", command="sequences")),
)
WHICH_ALERT = Card(
    title="Which reply?",
    tone=Tone.WARN,
    text=("This works in the thread of one reply's card. `open` lists the unclaimed replies.",),
    buttons=(Button(label="Open replies", command="open"),),
    refused=True,
)
NOBODY = Card(
    title="Slack did not say who sent this",
    tone=Tone.WARN,
    text=("A workflow can't run commands. Mention me from your own account.",),
    refused=True,
)
OUTSIDE = Card(
    title="Outreach",
    text=(
        "You belong to another organization. Nothing is shown here; ask an admin of this Slack workspace.",
    ),
)
UNKNOWN_PERSON = Card(
    title="Outreach", text=("Slack did not say who you are. Open this tab again in a minute.",)
)
ON_ITS_WAY = Card(title="Working …", text=("The answer follows here.",))
GREETING = Card(
    title="Hello, here is outreach",
    text=(
        "I can tell this channel of interested replies and paused domains, with buttons to claim and to pause.",
        "It is told of nothing yet, unless it is the alert channel. `/outreach subscribe` changes that.",
        "In a thread, mention me and say the command.",
    ),
    buttons=(
        Button(label="Subscribe this channel", command="form subscribe", tone=Tone.GOOD),
        Button(label="Status", command="status"),
        Button(label="Help", command="help"),
    ),
    footer="Guests can view, but not change anything. People from other organizations see nothing unless an admin allows it.",
)
