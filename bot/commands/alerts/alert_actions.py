"""What people do with a reply: claim, take over, release, snooze, mark done, close with a reason, reopen.

Buttons, typed lines and the dashboard come here with the same data. What an act takes from a colleague is asked first;
a yes takes it from that colleague and nobody else, who is then told in the thread of the card.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import partial

from bot.alerts import interested, notes, rendering
from bot.alerts.links import Links
from bot.alerts.wording import about, answer_link
from bot.blockkit.actions import Cancel, OnAlert
from bot.slack import permissions
from bot.slack.permissions import Person
from shared.api.event_kinds import kind_of
from shared.commands import Role, times
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.reply_states import AFTER, TAKES, State
from shared.domain.wall_clock import find_zone, instant, moment
from shared.records.audit import Actor, AuditEntry
from shared.store import Store
from shared.store.alerts import AlertChange, Trace
from shared.store.rows import AlertRow
from shared.text.formats import clip, show_time
from shared.text.slack_ids import is_user
from shared.text.tokenize import parse_duration

REASONS = ("not a fit", "wrong person", "no budget", "bad timing", "already a customer")
REASON_CHARACTERS = 200
MORNING, AFTERNOON = time(9), time(14)
LONGEST_SNOOZE = timedelta(days=90)
USUAL_REMINDER = "2h"
_BEFORE_TIME = frozenset({"in", "for", "until", "till", "til", "at", "on"})
_WITH_END = frozenset({"snooze", "remind"})
_SAME_ACT = {"handled": "done"}
_DID = {
    "claim": "{person} claimed {lead}",
    "takeover": "{person} took over {lead}",
    "release": "{person} released {lead}",
    "snooze": "{person} snoozed {lead} until {until}",
    "remind": "{person} will be reminded of {lead} {until}",
    "wake": "{person} ended the snooze of {lead}",
    "done": "{person} marked {lead} done",
    "dismiss": "{person} closed {lead} as not interested",
    "reopen": "{person} reopened {lead}",
}
_YES = {"takeover": "Take over", "release": "Release", "done": "Mark done", "dismiss": "Not interested …"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """The result of an action; `shown`: the alert's card already shows it."""

    card: Card
    shown: bool = False
    noted: bool = False
    """A note in the thread of the alert's card says who did it."""


class AlertActions:
    """`perform` an action for a person; `zone` is for times of day where Slack names none."""

    def __init__(
        self, store: Store, *, changed: Callable[[], None], links: Links, zone: tzinfo = UTC
    ) -> None:
        self._store, self._changed, self._zone, self._links = store, changed, zone, links

    async def perform(self, asked: OnAlert, person: Person, actor: Actor) -> ActionResult:
        """The result, visible only to this person."""
        if permissions.role_of(person) is Role.READER:
            return ActionResult(card=permissions.refusal(person, f"“{asked.verb}”"))
        alert = await self._store.alerts.find(asked.alert)
        if alert is None:
            return ActionResult(card=GONE)
        now, zone = moment(self._store.database.clock()), find_zone(person.zone) or self._zone
        asked = _meant(asked, alert, person)
        if card := _before(asked, alert, person, now=now, zone=zone):
            return ActionResult(card=card)
        until = snoozed_until(asked.detail, now=now, zone=zone) if asked.verb in _WITH_END else None
        change = await self._change(asked, alert, actor, until=until.timestamp() if until else 0.0)
        if change is None:
            return ActionResult(card=GONE)
        opens = asked.verb == "mail" and await self._store.alerts.expect_visit(alert.id, actor)
        if not change.changed:
            card = unchanged_card(change.alert, person, now=now, zone=zone)
            return ActionResult(card=card, shown=opens)
        verb = "claim" if asked.verb == "mail" else asked.verb
        await self._record(replace(asked, verb=verb, then=None, instead_of="").line, change.alert, actor)
        when = show_time(until, now=now, zone=zone) if until else ""
        said = _DID[verb].format(person=f"@{actor.name}", lead=lead_of(change.alert), until=when)
        card = Card(title=said, tone=Tone.GOOD if verb == "done" else Tone.INFO)
        if verb in {"claim", "takeover"}:
            card = self._claimed_card(said, change.alert)
        return ActionResult(card=card, shown=True, noted=verb == "takeover" or bool(asked.instead_of))

    async def _change(
        self, asked: OnAlert, alert: AlertRow, actor: Actor, *, until: float
    ) -> AlertChange | None:
        verb = "claim" if asked.verb == "mail" else asked.verb
        trace = None
        if verb == "release":
            trace = partial(released, actor=actor)
        elif verb in TAKES and is_colleagues(alert, actor):
            trace = partial(taken, actor=actor, verb=verb)
        reason = clip(asked.detail, length=REASON_CHARACTERS) if verb == "dismiss" else ""
        return await self._store.alerts.act(
            alert.id, verb, actor, until=until, reason=reason, instead_of=asked.instead_of, trace=trace
        )

    async def _record(self, line: str, alert: AlertRow, actor: Actor) -> None:
        self._changed()
        entry = AuditEntry(
            at=datetime.now(UTC), actor=actor, workspace=alert.workspace, command=line, result=lead_of(alert)
        )
        await self._store.records.record(entry)

    def _claimed_card(self, said: str, row: AlertRow) -> Card:
        """The result of a claim away from the alert's card, with the address to write to and what comes next."""
        alert, email = rendering.alert_of_row(row, several=False, links=self._links), row.event.lead.email
        link = "" if alert.mail_link else answer_link(row.event)
        acts = [one for one in interested.buttons(alert) if not one.menu]
        page = [interested.crm_button(alert.lead_link)] if alert.lead_link else []
        facts = (Fact(label="Reply to", value=email, url=link),) if email else ()
        return Card(title=said, tone=Tone.GOOD, facts=facts, buttons=(*acts, *page))


GONE = Card(
    title="This alert is no longer stored",
    tone=Tone.WARN,
    text=(
        "Records of alerts are deleted after a time, or lost with a database.",
        "`replies` lists the unclaimed replies.",
    ),
)
_UNCLEAR = Card(
    title="Snooze until when?",
    tone=Tone.WARN,
    text=("Choose a time in the next 90 days. Nothing was changed.",),
)


def is_colleagues(alert: AlertRow, person: Person | Actor) -> bool:
    """Whether someone else has claimed it."""
    return alert.claimed_by not in {"", person.id or person.name}


def _meant(asked: OnAlert, alert: AlertRow, person: Person) -> OnAlert:
    """The act: who has a reply and snoozes it wants a reminder, and nobody is reminded of what they don't have."""
    verb = _SAME_ACT.get(asked.verb, asked.verb)
    own = alert.state is State.CLAIMED and not is_colleagues(alert, person)
    if verb in _WITH_END:
        usual = USUAL_REMINDER if verb == "remind" or own else ""
        verb = "remind" if own else "snooze"
        return replace(asked, verb=verb, detail=asked.detail or usual)
    return asked if verb == asked.verb else replace(asked, verb=verb)


def _before(asked: OnAlert, alert: AlertRow, person: Person, *, now: datetime, zone: tzinfo) -> Card | None:
    """What is said or asked before anything changes; None: nothing is."""
    if asked.verb not in AFTER[alert.state]:
        return unchanged_card(alert, person, now=now, zone=zone)
    if is_colleagues(alert, person) and asked.verb in TAKES and asked.instead_of != alert.claimed_by:
        return question(asked, alert)
    if not asked.detail and asked.verb == "dismiss":
        return reason_choices(asked)
    if not asked.detail and asked.verb == "snooze":
        return snooze_choices(asked, now=now, zone=zone)
    is_unclear = asked.verb in _WITH_END and snoozed_until(asked.detail, now=now, zone=zone) is None
    return _UNCLEAR if is_unclear else None


def question(asked: OnAlert, alert: AlertRow) -> Card:
    """Asks before something is taken from a colleague; the yes names the colleague."""
    return Card(
        title=f"@{alert.claimed_name} has claimed {lead_of(alert)}",
        tone=Tone.WARN,
        text=(f"Nothing was changed yet. @{alert.claimed_name} will be notified.",),
        buttons=(
            Button(label=_YES[asked.verb], action=replace(asked, instead_of=alert.claimed_by), tone=Tone.BAD),
            Button(label="Cancel", action=Cancel()),
        ),
    )


def released(before: AlertRow, *, actor: Actor) -> Trace:
    """The thread's note about a release; it mentions the person who had it if another one released it."""
    again = "It is unclaimed again." if kind_of(before.kind).claimable else ""
    if is_colleagues(before, actor):
        return taken(before, actor=actor, verb="release", more=again)
    card = Card(title=f"@{actor.name} released {lead_of(before)}", text=(again,) if again else ())
    return Trace(note=notes.write_note(card))


def taken(before: AlertRow, *, actor: Actor, verb: str, more: str = "") -> Trace:
    """The thread's note about what a person did with a colleague's reply; it mentions the colleague."""
    said = _DID[verb].format(person=f"@{actor.name}", lead=lead_of(before), until="")
    if verb == "takeover":
        card = Card(title=f"{said} from @{before.claimed_name}")
    else:
        card = Card(title=said, text=(f"@{before.claimed_name} had claimed it. {more}".strip(),))
    told = before.claimed_by if is_user(before.claimed_by) else ""
    return Trace(note=notes.write_note(card), mention=told)


def lead_of(alert: AlertRow) -> str:
    """`Ada Lovelace at Acme`: the author of the reply, if still stored."""
    return "the reply" if alert.is_pruned else about(alert.event)


def unchanged_card(alert: AlertRow, person: Person, *, now: datetime, zone: tzinfo) -> Card:
    """The answer to an act that the reply's state doesn't allow: who was faster."""

    def clock(at: float) -> str:
        return show_time(moment(at), now=now, zone=zone)

    if alert.state is State.DONE:
        verb = "closed this as not interested" if alert.closed_reason else "marked this done"
        return Card(title=f"@{alert.handled_name} {verb} at {clock(alert.handled_at or 0.0)}")
    if alert.state is State.CLAIMED:
        by, has = alert.assigned_name or alert.claimed_name, alert.claimed_name
        did = f"assigned this to @{has}" if alert.assigned_name else "claimed this"
        title = f"@{by} {did} at {clock(alert.claimed_at or 0.0)}"
        if not is_colleagues(alert, person):
            return Card(title=title)
        instead = OnAlert(verb="takeover", alert=alert.id, instead_of=alert.claimed_by)
        take = Button(label="Take over", action=instead)
        return Card(title=title, text=(f"If you take it over, @{has} will be notified.",), buttons=(take,))
    if alert.state is State.SNOOZED:
        return Card(title=f"@{alert.snoozed_name} snoozed this until {clock(alert.snoozed_until or 0.0)}")
    return Card(title="Unclaimed", text=("Someone else just changed this. Click Claim to take it.",))


def snoozed_until(given: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """The time meant by `2h`, `afternoon`, `monday 10:00` or Unix seconds; None if it isn't in the next 90 days."""
    words = given.split()
    if words and words[0] in _BEFORE_TIME:
        words = words[1:]
    text = " ".join(words)
    # Durations are added in UTC, without clock changes.
    now, today = now.astimezone(UTC), now.astimezone(zone).date()
    until: datetime | None = None
    if text in {"morning", "afternoon"}:
        until = instant(today, MORNING if text == "morning" else AFTERNOON, zone)
    elif text.isdecimal() and len(text) < 12:
        until = moment(int(text))
    elif length := parse_duration(text):
        until = now + length if length <= LONGEST_SNOOZE else None
    elif (found := times.read_moment(words)) and found[1] == len(words):
        until = found[0].after(now, zone=zone)
    return until if until is not None and now < until <= now + LONGEST_SNOOZE else None


def snooze_choices(asked: OnAlert, *, now: datetime, zone: tzinfo) -> Card:
    """Choices for a snooze: presets in the future, and a custom date."""
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
            moments.setdefault(until, Button(label=label, action=replace(asked, detail=word)))
    return Card(
        title="Snooze until …",
        text=("It returns to its thread as unclaimed at that time.",),
        buttons=(*moments.values(), Button(label="Another time", action=asked, picks_time=True)),
        footer=f"Times are in {zone}.",
    )


def reason_choices(asked: OnAlert) -> Card:
    """The usual reasons for not interested, and how to give another."""
    return Card(
        title="Why not interested?",
        text=("This closes the reply and shows the reason on its card. Reopen undoes it.",),
        buttons=tuple(Button(label=one.capitalize(), action=replace(asked, detail=one)) for one in REASONS),
        footer="For another reason, reply in the card's thread: @outreach not interested REASON",
    )
