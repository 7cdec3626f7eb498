"""What people do with an alert: claim, release, put off, mark as handled, take up again.

Buttons carry these lines (`snooze al_… tomorrow`); they are no commands of the table, since they name an alert.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, tzinfo

from bot import roles
from bot.ledger import Ledger
from bot.ledger.claims import Held
from bot.roles import Person
from shared.card import Button, Card, Tone
from shared.commands import Role
from shared.records import Actor, AuditEntry
from shared.words import read_duration

VERBS = frozenset({"claim", "release", "snooze", "wake", "handled", "reopen"})
ALERT = "al_"
MORNING, AFTERNOON = time(9), time(14)
LONGEST = timedelta(days=90)


class Attention:
    """`perform` one of the lines for a person; `zone` is where mornings begin."""

    def __init__(self, ledger: Ledger, *, changed: Callable[[], None], zone: tzinfo = UTC) -> None:
        self._ledger, self._changed, self._zone = ledger, changed, zone

    async def perform(self, verb: str, rest: str, person: Person, actor: Actor) -> Card | None:
        """The answer for this person alone; None: the card itself shows it."""
        if roles.role_of(person) is Role.READER:
            return roles.refusal(person, f"“{verb}”")
        alert, _, when = rest.partition(" ")
        now = datetime.fromtimestamp(self._ledger.store.clock(), UTC)
        if verb == "snooze" and not when:
            return choices(alert, now=now, zone=self._zone)
        until = snoozed_until(when, now=now, zone=self._zone) if verb == "snooze" else now
        if until is None:
            return _UNCLEAR
        held = await self._change(verb, alert, actor, until=until)
        return await self._answer(f"{verb} {rest}", held, person, actor)

    async def _change(self, verb: str, alert: str, actor: Actor, *, until: datetime) -> Held | None:
        match verb:
            case "claim":
                return await self._ledger.claim_alert(alert, actor)
            case "release":
                return await self._ledger.release_alert(alert)
            case "snooze":
                return await self._ledger.snooze_alert(alert, actor, until=until.timestamp())
            case "wake":
                return await self._ledger.wake_alert(alert)
            case "handled":
                return await self._ledger.handle_alert(alert, actor)
        return await self._ledger.reopen_alert(alert)

    async def _answer(self, line: str, held: Held | None, person: Person, actor: Actor) -> Card | None:
        if held is None:
            return _GONE
        if not held.changed:
            return late(held, person)
        self._changed()
        await self._ledger.record(
            AuditEntry(
                at=datetime.now(UTC), actor=actor, workspace=held.workspace, command=line, result="done"
            )
        )
        return None


_GONE = Card(
    title="This alert is not known any more",
    tone=Tone.WARN,
    text=("It is older than what is kept. `open` lists the replies that wait.",),
)
_UNCLEAR = Card(
    title="Until when?", tone=Tone.WARN, text=("Choose a time ahead, at most 90 days; nothing was changed.",)
)


def late(held: Held, person: Person) -> Card:
    """What a click comes to that changed nothing: who was faster."""
    shown = ("The card shows it.",)
    if held.handled_at is not None:
        return Card(title=f"@{held.handled_name} handled it at {_clock(held.handled_at)}", text=shown)
    if held.by and held.at is not None:
        who = "You have" if held.by == person.id else f"@{held.name} has"
        return Card(title=f"{who} it since {_clock(held.at)}", text=shown)
    return Card(title="Nobody has it", text=("It was released already; Claim takes it.",))


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%H:%M} UTC"


def snoozed_until(said: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """The moment that is meant by `1h`, `afternoon`, `tomorrow`, `monday` or Unix seconds; None: not ahead."""
    local = now.astimezone(zone)
    presets = {
        "afternoon": datetime.combine(local.date(), AFTERNOON, zone),
        "tomorrow": datetime.combine(local.date() + timedelta(days=1), MORNING, zone),
        "monday": datetime.combine(local.date() + timedelta(days=7 - local.weekday()), MORNING, zone),
    }
    until = presets.get(said)
    if until is None and (length := read_duration(said)):
        until = now + length
    if until is None and said.isdecimal() and len(said) < 12:
        until = datetime.fromtimestamp(int(said), UTC)
    return until if until is not None and now < until <= now + LONGEST else None


def choices(alert: str, *, now: datetime, zone: tzinfo) -> Card:
    """Until when an alert may be put off: presets that are ahead, and a date of one's own."""
    labels = (
        ("1h", "1 hour"),
        ("3h", "3 hours"),
        ("afternoon", "This afternoon, 14:00"),
        ("tomorrow", "Tomorrow, 9:00"),
        ("monday", "Monday, 9:00"),
    )
    presets = tuple(
        Button(label=label, command=f"snooze {alert} {word}")
        for word, label in labels
        if snoozed_until(word, now=now, zone=zone)
    )
    return Card(
        title="Put it off until …",
        text=("It comes back by itself, into its thread, and waits again for somebody to take it.",),
        buttons=(*presets, Button(label="Another time", command=f"snooze {alert}", picks=True)),
        footer=f"Times of day are those of {zone}.",
    )
