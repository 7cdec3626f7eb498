"""What is said where there is no answer: a greeting, an old button, a message without an alert."""

from __future__ import annotations

from shared.card import Button, Card, Tone

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
    footer="Guests and people of other organisations can read here, and change nothing.",
)
