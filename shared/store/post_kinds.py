"""The kinds of messages that the bot posts, one entry each. Pure, without imports of the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from shared.frozen import frozen


@frozen
class KindOfPost:
    """The rules for messages of a kind: their place, their content, their end, and how long they are kept."""

    name: str
    draws: Literal["note", "card", "updated", "answer", "history"] = "note"
    """The content that is drawn: the note of the post, the card of its alert, a note about that, or an entry of the audit."""
    in_thread: bool = True
    """It goes under the card of its alert, where it has one."""
    broadcast: bool = False
    """It is shown in the channel too, from a thread, where the settings want that."""
    repainted: bool = False
    """It is updated when its alert changes."""
    settled_by: Literal["", "claim", "turn", "finish", "acknowledgement"] = ""
    """The act of people on its alert after which it asks for nothing."""
    of_alert: Literal["", "alert_id", "again_of"] = ""
    """The name of the alert in its metadata: as its card, or as one that another message is the card of."""
    awaited: bool = False
    """A person waits for it: it goes before all others, and is not counted among what waits."""
    kept: Literal["texts", "alert", "briefly"] = "texts"
    """The time for which it is kept: as texts, as its alert, or (briefly) as texts, also where it was never sent."""


ALERT, CURRENT, REPLACED, TURNED = "alert", "current", "replaced", "turned"
UNFINISHED, UNACKNOWLEDGED = "unfinished", "unacknowledged"
NOTE, ANSWER, TRACE, HISTORY = "note", "answer", "trace", "history"
TURN = "turn"
DNS = "dns"

_TABLE = (
    # The card of an alert.
    KindOfPost(name=ALERT, draws="card", in_thread=False, repainted=True, of_alert="alert_id", kept="alert"),
    # In the thread of a card that Slack lets nobody edit, what the card should show.
    KindOfPost(name=CURRENT, draws="card", repainted=True, of_alert="again_of"),
    # One that Slack lets nobody edit, and instead of which another is kept up to date.
    KindOfPost(name=REPLACED, draws="card"),
    # That a card shows more than it did.
    KindOfPost(name=TURNED, draws="updated", broadcast=True),
    # That a reply is unclaimed.
    KindOfPost(name="reminder", repainted=True, settled_by="claim"),
    # That a reply is still unclaimed.
    KindOfPost(name="escalation", broadcast=True, repainted=True, settled_by="claim"),
    # That a snooze has ended.
    KindOfPost(name="back", broadcast=True, repainted=True, settled_by="claim"),
    # Whose turn a reply is.
    KindOfPost(name=TURN, repainted=True, settled_by="turn"),
    # That a claimed reply is not done.
    KindOfPost(name=UNFINISHED, repainted=True, settled_by="finish"),
    # That nobody has acknowledged a paused domain.
    KindOfPost(name=UNACKNOWLEDGED, broadcast=True, repainted=True, settled_by="acknowledgement"),
    # That a domain sends again, or is well.
    KindOfPost(name="recovered", broadcast=True),
    # That the DNS of a domain broke further, changed or recovered.
    KindOfPost(name=DNS, broadcast=True),
    # What a person did with an alert.
    KindOfPost(name=TRACE),
    # What the bot did or noticed.
    KindOfPost(name=NOTE),
    # In the thread of a change, what became of it.
    KindOfPost(name=HISTORY, draws="history"),
    # The digest of a channel.
    KindOfPost(name="digest"),
    # The answer to a person, as rendered.
    KindOfPost(name=ANSWER, draws="answer", awaited=True, kept="briefly"),
)
POSTS: Mapping[str, KindOfPost] = {kind.name: kind for kind in _TABLE}


def names(**wanted: object) -> tuple[str, ...]:
    """The kinds whose entry has these values."""
    return tuple(
        kind.name for kind in _TABLE if all(getattr(kind, field) == value for field, value in wanted.items())
    )


def kind_of(name: str) -> KindOfPost:
    """The entry of a kind; a kind that a newer version planned is drawn as its note."""
    return POSTS.get(name) or KindOfPost(name=name)
