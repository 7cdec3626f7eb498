"""What each kind of event becomes in Slack: where it goes, how urgent it is, and its Card (contract, section 5).

Pure: an alert's Card follows from its event, its claim and how often it came, so that any process can draw it
at any time and a repaint is the same act as the first painting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.api.events import Event
from shared.card import Button, Card, Fact, Tone
from shared.records import Subscription
from shared.words import join

INTERESTED = "reply.interested"
PAUSED = "domain.paused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who has an alert, and since when."""

    name: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An event with what has become of it."""

    id: str
    event: Event
    received_at: datetime
    seen: int = 1
    found: bool = False
    """Read from the API: its delivery never came."""
    claim: Claim | None = None
    workspace: str = ""
    """Named only where there are several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One entry per kind of event."""

    title: str
    """What a count of them is called."""
    card: Callable[[Alert], Card]
    at_once: bool = False
    """Posted to the alert channel without anybody having subscribed."""
    urgency: int = 0


def routes(
    event: Event, *, alert_channel: str | None, subscriptions: Iterable[Subscription]
) -> tuple[str, ...]:
    """The channels that are to be told, each once."""
    own = [alert_channel] if alert_channel and kind_of(event.kind).at_once else []
    wanted = [one.channel for one in subscriptions if _wants(one, event)]
    return tuple(dict.fromkeys([*own, *wanted]))


def _wants(one: Subscription, event: Event) -> bool:
    return (
        one.event in {event.kind, "*"}
        and _fits(one.sequence, event.sequence)
        and (_fits(one.inbox, event.inbox) or _fits(one.inbox, domain_of(event)))
    )


def _fits(wanted: str, given: str | None) -> bool:
    return not wanted or wanted.casefold() == (given or "").casefold()


def domain_of(event: Event) -> str | None:
    """The sending domain an event is about, as far as it tells."""
    return event.domain or (event.inbox or "").rpartition("@")[2] or None


def card(alert: Alert) -> Card:
    """What to say about an alert, as it stands."""
    return kind_of(alert.event.kind).card(alert)


def title(kind: str) -> str:
    """What alerts of a kind are called where they are counted."""
    return kind_of(kind).title


def kind_of(kind: str) -> Kind:
    """The table's entry; an unknown kind has one too."""
    return KINDS.get(kind, _OTHER)


def _interested(alert: Alert) -> Card:
    event = alert.event
    return Card(
        title=f"Interested: {_who(event)}",
        tone=Tone.GOOD,
        text=_standing(alert),
        facts=_facts(
            ("From", _address(event)),
            ("Sequence", _place(event)),
            ("Inbox", event.inbox),
            ("Received", _time(alert.received_at)),
        ),
        quote=event.reply or "",
        buttons=(_claiming(alert), *_sequence_buttons(alert), *_lead_buttons(alert)),
        footer=_footer(alert),
    )


def _standing(alert: Alert) -> tuple[str, ...]:
    if alert.claim is None:
        return ()
    return (f"Claimed by @{alert.claim.name} after {lasted(alert.claim.at, since=alert.received_at)}",)


def _claiming(alert: Alert) -> Button:
    if alert.claim is None:
        return Button(label="Claim", command=f"claim {alert.id}", tone=Tone.GOOD)
    return Button(label="Release", command=f"release {alert.id}")


def _sequence_buttons(alert: Alert) -> tuple[Button, ...]:
    name = alert.event.sequence
    return (Button(label="Pause sequence", command=_line(alert, "pause", name)),) if name else ()


def _lead_buttons(alert: Alert) -> tuple[Button, ...]:
    email = alert.event.lead.email
    if not email:
        return ()
    return (
        Button(label="Show lead", command=_line(alert, "lead", email), menu=True),
        Button(label="Remove lead …", command=_line(alert, "remove", email), menu=True),
    )


def _paused(alert: Alert) -> Card:
    event = alert.event
    domain = domain_of(event)
    looking = (Button(label="Show inboxes", command=_line(alert, "inboxes", domain)),) if domain else ()
    return Card(
        title=f"Domain paused: {domain or 'not named'}",
        tone=Tone.BAD,
        text=("The service stopped sending from this domain to protect its reputation.",),
        facts=_facts(
            ("Reason", event.reason or "not told"),
            ("Inbox", event.inbox),
            ("Sequence", event.sequence),
            ("Received", _time(alert.received_at)),
        ),
        buttons=(*looking, Button(label="Status", command=_line(alert, "status"))),
        footer=_footer(alert),
    )


def again(alert: Alert, *, at: datetime) -> Card:
    """What goes into the thread, and to the channel, when a paused domain is reported anew."""
    return Card(
        title=f"Paused again: {domain_of(alert.event) or 'a domain'}",
        tone=Tone.BAD,
        text=(f"Reported again on {_time(at)}; the card above is of {_time(alert.received_at)}.",),
    )


def _brief(word: str, tone: Tone) -> Callable[[Alert], Card]:
    def draw(alert: Alert) -> Card:
        event = alert.event
        return Card(
            title=f"{word}: {_who(event)}",
            tone=tone,
            facts=_facts(
                ("From", _address(event)),
                ("Sequence", _place(event)),
                ("Inbox", event.inbox),
                ("Back on", event.return_date),
                ("Bounce", event.bounce_type),
                ("Reason", event.reason),
                ("Received", _time(alert.received_at)),
            ),
            quote=event.reply or "",
            footer=_footer(alert),
        )

    return draw


def _other(alert: Alert) -> Card:
    return _brief(alert.event.kind, Tone.UNKNOWN)(alert)


def _who(event: Event) -> str:
    return (
        ", ".join(filter(None, (event.lead.name or event.domain or event.inbox, event.lead.company)))
        or "unknown"
    )


def _address(event: Event) -> str | None:
    return event.lead.email if event.lead.name != event.lead.email else None


def _place(event: Event) -> str | None:
    step = None if event.step is None else f"step {event.step}"
    return " · ".join(filter(None, (event.sequence, step))) or None


def _facts(*pairs: tuple[str, str | None]) -> tuple[Fact, ...]:
    return tuple(Fact(label=label, value=value) for label, value in pairs if value)


def _footer(alert: Alert) -> str:
    repeated = f"received {alert.seen}×" if alert.seen > 1 else ""
    late = "found late: its delivery never came" if alert.found else ""
    return " · ".join(filter(None, (alert.workspace, late, repeated)))


def _line(alert: Alert, verb: str, *arguments: str) -> str:
    """A command line whose arguments, whatever they hold, stay one word each."""
    line = join(verb, *arguments)
    return f"{line} @{alert.workspace}" if alert.workspace else line


def _time(at: datetime) -> str:
    return f"{at:%-d %b, %H:%M} UTC"


def lasted(until: datetime, *, since: datetime) -> str:
    """A length of time as a person says it: `40 s`, `3 min`, `2 h 5 min`, `3 days`."""
    seconds = max(0, int((until - since).total_seconds()))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    if seconds < 172_800:
        return f"{seconds // 3600} h {seconds % 3600 // 60} min".removesuffix(" 0 min")
    return f"{seconds // 86_400} days"


KINDS: Mapping[str, Kind] = {
    INTERESTED: Kind(title="interested replies", card=_interested, at_once=True, urgency=2),
    PAUSED: Kind(title="paused domains", card=_paused, at_once=True, urgency=1),
    "lead.replied": Kind(title="replies", card=_brief("Reply", Tone.INFO)),
    "reply.ooo": Kind(title="out-of-office replies", card=_brief("Out of office", Tone.INFO)),
    "lead.bounced": Kind(title="bounces", card=_brief("Bounced", Tone.WARN)),
    "lead.unsubscribed": Kind(title="opt-outs", card=_brief("Opted out", Tone.WARN)),
    "sequence.completed": Kind(title="completions", card=_brief("Completed", Tone.INFO)),
}
_OTHER = Kind(title="other events", card=_other)
