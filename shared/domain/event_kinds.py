"""The kinds of events, one entry each: those that the service delivers, and those that the bot notices itself. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

INTERESTED, PAUSED, DNS = "reply.interested", "domain.paused", "domain.dns"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfEvent:
    """The meaning of one kind of event, its words, and the way it is posted."""

    name: str
    meaning: str
    """The documentation says it: "a lead replied"."""
    noun: str
    """A count uses this word: "3 bounces"."""
    label: str
    """A form uses this name."""
    words: tuple[str, ...] = ()
    """Commands take these words beside the name, and write the first of them."""
    title: str = ""
    """The title of a brief card; empty: the label."""
    card: Literal["brief", "reply", "paused domain", "dns"] = "brief"
    tone: Literal["info", "warn", "unknown"] = "info"
    """The tone of a brief card."""
    removable: bool = False
    """A brief card offers to remove the lead."""
    own: bool = False
    """The bot notices it itself: the service delivers none, and its counts have none."""
    at_once: bool = False
    """It is posted to the alert channel without a subscription."""
    urgency: int = 0
    """The most urgent goes first; 3: an incident, before all others and never in a message with others."""
    claimable: bool = False
    """It waits for a person to claim it, and is reminded of until then."""
    acknowledged: bool = False
    """It is reminded of until a person acknowledges it, and posted again when it is reported again."""
    detail: int = 0
    """The weight of what it says about a reply, which may be reported as several kinds; 0: it is not a reply."""
    only_with_words: bool = False
    """It is a reply only if it has the words of one: a lead may opt out by a link too."""
    trouble: bool = False
    """It hurts the domain that sent: the cards of domains count it."""


_TABLE = (
    KindOfEvent(
        name="lead.replied",
        meaning="a lead replied",
        noun="reply",
        label="Reply",
        words=("replies", "reply"),
        card="reply",
        detail=1,
    ),
    KindOfEvent(
        name=INTERESTED,
        meaning="a lead replied with interest",
        noun="interested reply",
        label="Interested reply",
        words=("interested", "interested-replies", "interested-reply"),
        card="reply",
        at_once=True,
        urgency=2,
        claimable=True,
        detail=3,
    ),
    KindOfEvent(
        name="reply.ooo",
        meaning="an out-of-office reply, with the return date if it names one",
        noun="out-of-office reply",
        label="Out of office",
        words=("out-of-office", "out-of-office-replies", "out-of-office-reply", "ooo"),
        detail=2,
    ),
    KindOfEvent(
        name="lead.bounced",
        meaning="a message bounced",
        noun="bounce",
        label="Bounce",
        words=("bounces", "bounce"),
        title="Bounced",
        tone="warn",
        removable=True,
        trouble=True,
    ),
    KindOfEvent(
        name="lead.unsubscribed",
        meaning="a lead opted out",
        noun="opt-out",
        label="Opt-out",
        words=("opt-outs", "opt-out", "unsubscribes"),
        title="Opted out",
        tone="warn",
        removable=True,
        detail=4,
        only_with_words=True,
        trouble=True,
    ),
    KindOfEvent(
        name="sequence.completed",
        meaning="a lead finished all steps of a sequence",
        noun="completed sequence",
        label="Sequence completed",
        words=("completed-sequences", "completed-sequence", "completions"),
    ),
    KindOfEvent(
        name=PAUSED,
        meaning="the service paused a domain",
        noun="paused domain",
        label="Domain paused",
        words=("paused-domains", "paused-domain"),
        card="paused domain",
        at_once=True,
        urgency=3,
        acknowledged=True,
    ),
    KindOfEvent(
        name=DNS,
        meaning="the DNS of a sending domain broke, changed or recovered",
        noun="DNS change",
        label="DNS of a domain",
        words=("dns",),
        card="dns",
        tone="warn",
        own=True,
        urgency=2,
    ),
)
EVENTS: Mapping[str, KindOfEvent] = {kind.name: kind for kind in _TABLE}


def _with(quality: str) -> tuple[str, ...]:
    return tuple(kind.name for kind in _TABLE if getattr(kind, quality))


POSTED_AT_ONCE = _with("at_once")
CLAIMABLE = _with("claimable")
ACKNOWLEDGED = _with("acknowledged")
TROUBLES = _with("trouble")
ONLY_WITH_WORDS = _with("only_with_words")
REPLIES: Mapping[str, int] = {kind.name: kind.detail for kind in _TABLE if kind.detail}
"""The kinds that one reply may be reported as, and how much each says of it."""
NAME_OF: Mapping[str, str] = {
    word: kind.name for kind in _TABLE for word in (kind.name, kind.name.partition(".")[2], *kind.words)
}
"""The kind that a word of a command stands for."""


def word_of(name: str) -> str:
    """Return the word that commands use: the plain one if there is one, else the name."""
    words = kind_of(name).words
    return words[0] if words else name


def kind_of(name: str) -> KindOfEvent:
    """The entry of a kind; one that the service has added since is posted to who asks for it, under its own name."""
    kind = EVENTS.get(name)
    return kind or KindOfEvent(
        name=name, meaning="", noun="other event", label="Other event", title=name, tone="unknown"
    )
