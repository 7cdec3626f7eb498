"""The subjects of the pictures of Slack: the bot's own cards, of a made-up account."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Any

from bot import blockkit, cards
from bot.blockkit import Message
from bot.cards import CardSettings
from bot.interactions import home
from bot.interactions.home import HomeState, Place
from shared.api.events import Event, EventLead
from shared.api.models import Inbox
from shared.domain.alert import Alert
from shared.domain.card import Card, Fact
from shared.domain.event_kinds import INTERESTED
from shared.domain.health import roll_up
from shared.records import Actor, AuditEntry, Before
from shared.store.store import UnclaimedReplies
from tests.kit.commands import NOW

SENT = "Q3 Founders"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A moment of Slack: messages of the alert channel, or Home."""

    messages: Sequence[Message] = ()
    home: Mapping[str, Any] = field(default_factory=dict)


def reply(first: str, last: str, company: str, words: str, *, ago: float, **changed: Any) -> Alert:
    """An interested reply that came so many minutes ago."""
    email = f"{first.lower()}@{company.split(maxsplit=1)[0].lower()}.example"
    event = Event(
        kind=INTERESTED,
        lead=EventLead(email=email, first_name=first, last_name=last, company=company),
        sequence=SENT,
        step=2,
        inbox="ana@getacme.example",
        reply=words,
    )
    alert = Alert(
        id="al_picture",
        event=event,
        received_at=(NOW - timedelta(minutes=ago)).timestamp(),
        mail_link="https://bot.example.com/reply/token",
    )
    return replace(alert, **changed)


SVEN = reply("Sven", "Lindqvist", "Helio Energy", "Interesting. What would this cost for a team of forty?", ago=21,
             claimed_by="U2", claimed_name="ben",
             claimed_at=(NOW - timedelta(minutes=20, seconds=18)).timestamp())  # fmt: skip
MAYA = reply("Maya", "Sharma", "Harbor Freight Lines",
             "Our board asked me about this only yesterday. Could we talk on Thursday after 10?", ago=0.2)  # fmt: skip
TOM = reply("Tom", "Okoro", "Basalt Dental", "Is there a trial?", ago=9)
CLAIMED = replace(MAYA, claimed_by="U1", claimed_name="ann", claimed_at=NOW.timestamp())


def _drawn(alert: Alert) -> Message:
    return blockkit.render(cards.card(alert))


def _pause(*, undone_by: str = "") -> Message:
    """The line of a confirmed pause in a channel, or of one that was undone."""
    end = (NOW + timedelta(hours=2)).timestamp()
    entry = AuditEntry(
        at=NOW,
        actor=Actor(name="ann", face="slack"),
        workspace="acme",
        command="pause",
        result="",
        effect="paused",
        undoable={"sq_1": Before(label=SENT, status="active", new_end=end)},
        undone_by=undone_by,
    )
    return cards.change_message(
        entry, Card(title="", facts=(Fact(label="Reason", value="bounces are high"),))
    )


def _home() -> Mapping[str, Any]:
    boxes = [
        Inbox(email=f"{name}@getacme.example", health_score=score, daily_limit=40, status=status)
        for name, score, status in (
            ("ana", 91.0, "active"),
            ("ben", 88.0, "active"),
            ("cleo", 71.0, "active"),
        )
    ]
    places = [
        Place(
            name=name,
            unclaimed=UnclaimedReplies(count=int(name in {"acme", "globex"})),
            paused={"tryinitech.example": NOW - timedelta(hours=3)} if name == "initech" else {},
            domains=roll_up(boxes),
        )
        for name in ("acme", "globex", "initech", "umbrella")
    ]
    return home.view(
        HomeState(
            now=NOW,
            places=places,
            waiting=(replace(MAYA, workspace="acme"), replace(TOM, workspace="globex")),
            claims=[replace(SVEN, workspace="acme")],
            cards=CardSettings(several=True),
        )
    )


def _in_turn() -> tuple[Shown, ...]:
    """A reply, its claim, a pause, and its Undo."""
    pause = _pause()
    undone = _pause(undone_by="@ann")
    new, claimed = _drawn(MAYA), _drawn(CLAIMED)
    return tuple(Shown(messages=one) for one in ((new,), (claimed,), (claimed, pause), (claimed, undone)))


SHOWN: Mapping[str, Callable[[], tuple[Shown, ...]]] = {
    "slack-page.png": lambda: (Shown(messages=(_drawn(SVEN), _drawn(MAYA), _pause())),),
    "slack-home.png": lambda: (Shown(home=_home()),),
    "slack-reply.svg": _in_turn,
}
"""The moments of each file; several are a recording."""


def fingerprint(shown: tuple[Shown, ...]) -> str:
    """Return the fingerprint of what a picture shows, to compare it with that of the picture in docs/."""
    text = json.dumps([asdict(one) for one in shown], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
