"""What people do with an alert: claim, take over, assign, release, snooze, close or reopen a reply, acknowledge a domain.

Buttons, typed lines and the dashboard come here with the same data, once it is checked that the person may. What an act
takes from a colleague is asked first; a yes takes it from that colleague and nobody else, who is then told in the thread
of the card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import partial

from bot.alerts import interested, notes, rendering
from bot.alerts.links import Links
from bot.alerts.wording import about, answer_link
from bot.blockkit.actions import ACK, ASSIGN, Cancel, OnAlert
from bot.commands.access import Access, actor_of
from bot.commands.answer import Answer
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.permissions import Person
from shared.api.event_kinds import kind_of
from shared.commands import times
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.reply_states import AFTER, TAKES, State
from shared.domain.wall_clock import instant, moment
from shared.records.audit import Actor, AuditEntry
from shared.settings import CLAIM
from shared.store import Store
from shared.store.alerts import Trace
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
class AlertActions:
    """`perform` an act for a person who may; `changed` is called when cards need an update."""

    store: Store
    directory: UserDirectory
    access: Access
    links: Links
    changed: Callable[[], None]
    face: str = "slack"
    """Where the person is who asks; the audit tells it."""

    async def perform(self, asked: OnAlert, person: Person, *, channel: str) -> Answer:
        """The answer, which only this person sees."""
        alert = await self.store.alerts.find(asked.alert)
        if alert is None:
            return Answer(card=GONE)
        actor = replace(actor_of(person, channel), face=self.face)
        now, zone = moment(self.store.database.clock()), self.access.zone(person)
        if asked.verb == ACK:
            return await self._acknowledge(alert, actor, now=now, zone=zone)
        if asked.verb == ASSIGN:
            return await self._assign(asked, alert, person, actor, now=now, zone=zone)
        asked = _meant(asked, alert, person)
        if card := _before(asked, alert, person, now=now, zone=zone):
            return Answer(card=card)
        return await self._act(asked, alert, person, actor, now=now, zone=zone)

    async def _act(
        self, asked: OnAlert, alert: AlertRow, person: Person, actor: Actor, *, now: datetime, zone: tzinfo
    ) -> Answer:
        """Do it, tell whom it was taken from, and put it into the audit."""
        until = snoozed_until(asked.detail, now=now, zone=zone) if asked.verb in _WITH_END else None
        verb = "claim" if asked.verb == "mail" else asked.verb
        trace = None
        if verb == "release":
            trace = partial(released, actor=actor)
        elif verb in TAKES and is_colleagues(alert, actor):
            trace = partial(taken, actor=actor, verb=verb)
        change = await self.store.alerts.act(
            alert.id,
            verb,
            actor,
            until=until.timestamp() if until else 0.0,
            reason=clip(asked.detail, length=REASON_CHARACTERS) if verb == "dismiss" else "",
            instead_of=asked.instead_of,
            trace=trace,
        )
        if change is None:
            return Answer(card=GONE)
        opens = asked.verb == "mail" and await self.store.alerts.expect_visit(alert.id, actor)
        settles = bool(asked.detail or asked.instead_of)
        if not change.changed:
            card = unchanged_card(change.alert, person, now=now, zone=zone)
            return Answer(card=card, on_card=opens, settles=opens and settles)
        line = replace(asked, verb=verb, then=None, instead_of="").line
        await self._record(line, change.alert, actor, result=lead_of(change.alert))
        when = show_time(until, now=now, zone=zone) if until else ""
        said = _DID[verb].format(person=f"@{actor.name}", lead=lead_of(change.alert), until=when)
        card = Card(title=said, tone=Tone.GOOD if verb == "done" else Tone.INFO)
        if verb in {"claim", "takeover"}:
            card = self._claimed_card(said, change.alert)
        noted = verb == "takeover" or bool(asked.instead_of)
        return Answer(card=card, on_card=True, noted=noted, settles=settles)

    async def _record(self, line: str, alert: AlertRow, actor: Actor, *, result: str) -> None:
        self.changed()
        at, workspace = datetime.now(UTC), alert.workspace
        entry = AuditEntry(at=at, actor=actor, workspace=workspace, command=line, result=result)
        await self.store.records.record(entry)

    def _claimed_card(self, said: str, row: AlertRow) -> Card:
        """The result of a claim away from the alert's card, with the address to write to and what comes next."""
        alert, email = rendering.alert_of_row(row, several=False, links=self.links), row.event.lead.email
        link = "" if alert.mail_link else answer_link(row.event)
        acts = [one for one in interested.buttons(alert) if not one.menu]
        page = [interested.crm_button(alert.lead_link)] if alert.lead_link else []
        facts = (Fact(label="Reply to", value=email, url=link),) if email else ()
        return Card(title=said, tone=Tone.GOOD, facts=facts, buttons=(*acts, *page))

    async def _acknowledge(self, alert: AlertRow, actor: Actor, *, now: datetime, zone: tzinfo) -> Answer:
        """Put the person's name on the card of a paused domain, unless it has one."""
        acknowledged = await self.store.alerts.acknowledge(alert.id, actor)
        if acknowledged is None:
            return Answer(card=GONE)
        row = acknowledged.alert
        if acknowledged.changed:
            await self._record(f"{ACK} {row.id}", row, actor, result=row.domain)
            return Answer(
                card=Card(title=f"@{actor.name} acknowledged {row.domain}", tone=Tone.GOOD), on_card=True
            )
        if row.acked_at is None:
            return Answer(card=Card(title=f"{row.domain} has recovered", tone=Tone.GOOD))
        at = show_time(moment(row.acked_at), now=now, zone=zone)
        return Answer(card=Card(title=f"@{row.acked_name} acknowledged {row.domain} at {at}"))

    async def _assign(
        self, asked: OnAlert, alert: AlertRow, by: Person, actor: Actor, *, now: datetime, zone: tzinfo
    ) -> Answer:
        """Give a reply to a person who can read one of its cards and may claim there."""
        if alert.state is State.DONE:
            return Answer(card=unchanged_card(alert, by, now=now, zone=zone))
        found = await self._assignee(asked.person, alert)
        if isinstance(found, Card):
            return Answer(card=found, settles=bool(asked.person))
        person, place = found
        change = await self.store.alerts.act(
            alert.id,
            ASSIGN,
            Actor(name="", id=by.id) if person.id == by.id else actor,  # then it is a claim
            person=Actor(name=person.name, id=person.id, face="slack"),
            # Who has it may hand it on without being asked.
            instead_of=by.id if alert.claimed_by == by.id else asked.instead_of,
            trace=partial(assigned, person=person, by=actor, channel=place),
        )
        if change is None:
            return Answer(card=GONE, settles=True)
        if not change.changed:
            card = unchanged_card(change.alert, by, now=now, zone=zone, person=person)
            return Answer(card=card, settles=True)
        line = f"{ASSIGN} {alert.id} @{person.name}"
        await self._record(line, alert, actor, result=lead_of(alert))
        card = Card(title=_assigned_title(alert, person.name, actor), tone=Tone.GOOD)
        return Answer(card=card, on_card=True, noted=True, settles=True)

    async def _assignee(self, named: str, alert: AlertRow) -> tuple[Person, str] | Card:
        """The person and the channel where they are told; or what is asked or refused instead."""
        if not named:
            return assignee_choice(alert)
        user = named
        if named.startswith("@"):
            user, near = await self.directory.find_named(named)
            if not user:
                return _nobody(named, alert, near)
        person = await self.directory.find(user)
        place, refusal = await self.place_for(person, alert)
        if not refusal:
            return person, place
        text = (f"{refusal} Nothing was changed.",)
        return Card(title="Not assigned", tone=Tone.WARN, text=text, buttons=(_assign_button(alert),))

    async def place_for(self, person: Person, alert: AlertRow) -> tuple[str, str]:
        """The channel with a card of the alert that a person can read, or why they can't be given it."""
        if reason := never(person):
            return "", reason
        cards = await self.store.alerts.channels(alert.id)
        seen = [one for one in cards if await self.directory.sees(one, Viewer(user=person.id))]
        for channel in seen:
            if self.access.may_use(CLAIM, self.access.with_role(person, channel=channel), channel=channel):
                return channel, ""
        name = f"@{person.name}"
        if cards and not seen:
            return "", f"{name} isn't in the private channel of this reply. Invite them there first."
        if person.is_guest or person.is_outsider:
            whose = "a guest of this Slack workspace" if person.is_guest else "from another organization"
            return "", f"{name} is {whose}, and can't claim replies."
        return "", f"{name} doesn't have permission to claim replies there."


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


def unchanged_card(
    alert: AlertRow, by: Person, *, now: datetime, zone: tzinfo, person: Person | None = None
) -> Card:
    """The answer to an act that the reply's state doesn't allow: who was faster.

    `person` is the one to whom it was to be assigned.
    """

    def clock(at: float) -> str:
        return show_time(moment(at), now=now, zone=zone)

    if alert.state is State.DONE:
        verb = "closed this as not interested" if alert.closed_reason else "marked this done"
        return Card(title=f"@{alert.handled_name} {verb} at {clock(alert.handled_at or 0.0)}")
    if alert.state is State.CLAIMED:
        did, has = "claimed this", alert.claimed_name
        if alert.assigned_name:
            did = f"assigned this to @{has}"
        title = f"@{alert.assigned_name or has} {did} at {clock(alert.claimed_at or 0.0)}"
        if alert.claimed_by == (person.id if person else by.id or by.name):
            return Card(title=title)
        text, label, verb = f"If you take it over, @{has} will be notified.", "Take over", "takeover"
        if person:
            text, label, verb = "Nothing was changed.", f"Assign to @{person.name}", ASSIGN
        instead = OnAlert(
            verb=verb, alert=alert.id, person=person.id if person else "", instead_of=alert.claimed_by
        )
        return Card(title=title, text=(text,), buttons=(Button(label=label, action=instead),))
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


def never(person: Person) -> str:
    """Why a person can be given nothing, whatever the settings say."""
    if not person.is_known:
        return "Slack didn't say who that is. Try again in a minute."
    if person.is_deleted:
        return f"@{person.name}'s account is deactivated."
    return f"@{person.name} is a bot." if person.is_bot else ""


def _assign_button(alert: AlertRow, user: str = "", name: str = "") -> Button:
    """Assigns it to this person, or to the one who is chosen; it isn't taken from anybody but who has it now."""
    action = OnAlert(verb=ASSIGN, alert=alert.id, person=user, instead_of=alert.claimed_by)
    label = f"Assign to @{clip(name)}" if user else "Choose a person"
    return Button(label=label, action=action, picks_person=not user)


def assignee_choice(alert: AlertRow) -> Card:
    """Asks to whom."""
    has = f"@{alert.claimed_name} has it, and will be notified. " if alert.claimed_by else ""
    return Card(
        title=f"Assign {lead_of(alert)} to …",
        text=(f"{has}The person is mentioned in the thread of the card.",),
        buttons=(_assign_button(alert),),
    )


def _nobody(name: str, alert: AlertRow, near: Sequence[tuple[str, str]]) -> Card:
    """No single person has this name; `near`: ids and names of those that are like it, or have it all."""
    meant = " or ".join(f"@{other}" for _, other in near)
    return Card(
        title=f"“{clip(name)}” isn't one person in this Slack workspace",
        tone=Tone.WARN,
        text=(f"Did you mean {meant}?" if meant else "Choose a person from the list.",),
        buttons=(*(_assign_button(alert, *one) for one in near), _assign_button(alert)),
    )


def _assigned_title(alert: AlertRow, person: str, by: Actor) -> str:
    if person == by.name:
        taken_from = f" from @{alert.claimed_name}" if alert.claimed_by else ""
        return f"@{by.name} {'took over' if taken_from else 'claimed'} {lead_of(alert)}{taken_from}"
    return f"@{by.name} assigned {lead_of(alert)} to @{person}"


def assigned(before: AlertRow, *, person: Person, by: Actor, channel: str) -> Trace:
    """The thread's note: it mentions the person, and who had the reply before."""
    own = before.claimed_by in {"", by.id}
    text = () if own else (f"@{before.claimed_name} had claimed it.",)
    told = [person.id] * (person.id != by.id) + [before.claimed_by] * (not own and is_user(before.claimed_by))
    note = notes.write_note(Card(title=_assigned_title(before, person.name, by), text=text))
    return Trace(note=note, mention=" ".join(told), channel=channel)
