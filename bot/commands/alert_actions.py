"""What people do with an alert: claim, release, put off, mark as handled, take up again.

Buttons carry these lines (`snooze al_… tomorrow`); they are no commands of the table, since they name an alert.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from bot.alerts.wording import about
from bot.slack import permissions
from bot.slack.permissions import Person
from bot.store import Store
from bot.store.alerts.claims import ClaimState
from shared.api.events import Event, read_event
from shared.commands import Role
from shared.domain.card import Button, Card, Tone
from shared.domain.records import Actor, AuditEntry
from shared.domain.recurrence import find_zone
from shared.text.tokenize import parse_duration

VERBS = frozenset({"claim", "release", "snooze", "wake", "handled", "reopen"})
ALERT = "al_"
MORNING, AFTERNOON = time(9), time(14)
LONGEST = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """What an act came to; `shown`: the alert's card shows it, so that it need not be said beside it."""

    card: Card
    shown: bool = False


class AlertActions:
    """`perform` one of the lines for a person; `zone` is where mornings begin."""

    def __init__(self, store: Store, *, changed: Callable[[], None], zone: tzinfo = UTC) -> None:
        self._store, self._changed, self._zone = store, changed, zone

    async def perform(self, verb: str, rest: str, person: Person, actor: Actor) -> ActionResult:
        """What it came to, for this person alone."""
        if permissions.role_of(person) is Role.READER:
            return ActionResult(card=permissions.refusal(person, f"“{verb}”"))
        alert, _, when = rest.partition(" ")
        now, zone = datetime.fromtimestamp(self._store.database.clock(), UTC), self._zone_of(person)
        if verb == "snooze" and not when:
            return ActionResult(card=snooze_choices(alert, now=now, zone=zone))
        until = snoozed_until(when, now=now, zone=zone) if verb == "snooze" else now
        if until is None:
            return ActionResult(card=_UNCLEAR)
        claim = await self._change(verb, alert, actor, until=until)
        if claim is None:
            return ActionResult(card=_GONE)
        if not claim.changed:
            return ActionResult(card=unchanged_card(claim, person, now=now, zone=zone))
        await self._record(f"{verb} {rest}", claim, actor)
        return ActionResult(card=changed_card(verb, claim, until=until.astimezone(zone)), shown=True)

    def _zone_of(self, person: Person) -> tzinfo:
        return find_zone(person.zone) or self._zone

    async def _change(self, verb: str, alert: str, actor: Actor, *, until: datetime) -> ClaimState | None:
        match verb:
            case "claim":
                return await self._store.alerts.claim(alert, actor)
            case "release":
                return await self._store.alerts.release(alert)
            case "snooze":
                return await self._store.alerts.snooze(alert, actor, until=until.timestamp())
            case "wake":
                return await self._store.alerts.wake(alert)
            case "handled":
                return await self._store.alerts.handle(alert, actor)
        return await self._store.alerts.reopen(alert)

    async def _record(self, line: str, claim: ClaimState, actor: Actor) -> None:
        self._changed()
        entry = AuditEntry(
            at=datetime.now(UTC), actor=actor, workspace=claim.workspace, command=line, result=lead_of(claim)
        )
        await self._store.records.record(entry)


_GONE = Card(
    title="This alert is not known any more",
    tone=Tone.WARN,
    text=("It is older than what is kept. `open` lists the replies that wait.",),
)
_UNCLEAR = Card(
    title="Until when?", tone=Tone.WARN, text=("Choose a time ahead, at most 90 days; nothing was changed.",)
)


def lead_of(claim: ClaimState) -> str:
    """`Ada Lovelace at Acme`: whose reply it is, as far as it is kept."""
    event = read_event(claim.body or b"")
    return about(event) if isinstance(event, Event) else "the reply"


def changed_card(verb: str, claim: ClaimState, *, until: datetime) -> Card:
    """What was done, for who did it elsewhere than on the alert's card."""
    who = lead_of(claim)
    given = {
        "claim": f"You have it: {who}",
        "release": f"Given back: {who}",
        "snooze": f"Put off until {until:%a %-d %b, %H:%M} ({until.tzinfo}): {who}",
        "wake": f"Waits again: {who}",
        "handled": f"Handled: {who}",
        "reopen": f"Open again: {who}",
    }
    return Card(title=given[verb], tone=Tone.GOOD)


def unchanged_card(claim: ClaimState, person: Person, *, now: datetime, zone: tzinfo) -> Card:
    """What a click comes to that changed nothing: who was faster."""
    shown = ("The card shows it.",)

    def clock(at: float) -> str:
        then = datetime.fromtimestamp(at, zone)
        return f"{then:%H:%M}" if then.date() == now.astimezone(zone).date() else f"{then:%-d %b, %H:%M}"

    if claim.handled_at is not None:
        who = "You" if claim.handled_name == person.name else f"@{claim.handled_name}"
        return Card(title=f"{who} handled it at {clock(claim.handled_at)}", text=shown)
    if claim.by and claim.at is not None:
        who = "You have" if claim.by == person.id else f"@{claim.name} has"
        return Card(title=f"{who} it since {clock(claim.at)}", text=shown)
    return Card(title="Nobody has it, and it waits", text=("Somebody was faster. Claim takes it.",))


def snoozed_until(given: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """The moment that is meant by `1h`, `morning`, `afternoon`, `tomorrow`, `monday` or Unix seconds; None: not ahead."""
    local, now = now.astimezone(zone), now.astimezone(UTC)  # lengths are counted where no clock is ever set
    presets = {
        "morning": datetime.combine(local.date(), MORNING, zone),
        "afternoon": datetime.combine(local.date(), AFTERNOON, zone),
        "tomorrow": datetime.combine(local.date() + timedelta(days=1), MORNING, zone),
        "monday": datetime.combine(local.date() + timedelta(days=7 - local.weekday()), MORNING, zone),
    }
    until = presets.get(given) or _morning_of(given, zone)
    if until is None and (length := parse_duration(given)):
        until = now + length
    if until is None and given.isdecimal() and len(given) < 12:
        until = datetime.fromtimestamp(int(given), UTC)
    return until if until is not None and now < until <= now + LONGEST else None


def _morning_of(given: str, zone: tzinfo) -> datetime | None:
    """Nine in the morning of a day such as `2026-12-01`."""
    try:
        return datetime.combine(date.fromisoformat(given), MORNING, zone) if "-" in given else None
    except ValueError:
        return None


def snooze_choices(alert: str, *, now: datetime, zone: tzinfo) -> Card:
    """Until when an alert may be put off: presets that are ahead, and a date of one's own."""
    labels = (
        ("1h", "1 hour"),
        ("3h", "3 hours"),
        ("morning", "This morning, 9:00"),
        ("afternoon", "This afternoon, 14:00"),
        ("tomorrow", "Tomorrow, 9:00"),
        ("monday", "Monday, 9:00"),
    )
    moments: dict[datetime, Button] = {}
    for word, label in labels:
        if until := snoozed_until(word, now=now, zone=zone):  # on a Sunday, tomorrow is Monday
            moments.setdefault(until, Button(label=label, command=f"snooze {alert} {word}"))
    return Card(
        title="Put it off until …",
        text=("It comes back by itself, into its thread, and waits again for somebody to take it.",),
        buttons=(*moments.values(), Button(label="Another time", command=f"snooze {alert}", picks_time=True)),
        footer=f"Times of day are those of {zone}.",
    )
