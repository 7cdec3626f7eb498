"""Acts of people on alerts: claim, take over, assign, release, snooze, close or reopen a reply, acknowledge a domain.

Buttons, typed lines and the dashboard come here with the same data. What an act takes from a colleague is asked first; a
yes takes it from that colleague and nobody else, who is then told in the thread of the card.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import partial

from bot.alerts import rendering
from bot.alerts.cards import about, answer_link, crm_button, reply_card
from bot.alerts.links import Links
from bot.blockkit.actions import ACK, ASSIGN, Cancel, OnAlert
from bot.commands.answer import Answer
from bot.commands.callers import Access, Caller
from bot.slack.directory import Viewer
from bot.slack.permissions import Person
from shared.api.event_kinds import kind_of
from shared.commands import times
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.reply_states import AFTER, TAKES, State
from shared.domain.wall_clock import instant, moment
from shared.frozen import frozen
from shared.records.audit import Actor, AuditEntry
from shared.settings import CLAIM
from shared.store import Store
from shared.store.alerts import Trace
from shared.text.formats import clip, show_time
from shared.text.slack_ids import is_user
from shared.text.tokenize import parse_duration

REASONS = ("not a fit", "wrong person", "no budget", "bad timing", "already a customer")
REASON_CHARACTERS = 200
MORNING, AFTERNOON = time(9), time(14)
LONGEST_SNOOZE = timedelta(days=90)
USUAL_REMINDER = "2h"
ME = "@me"
"""The person of `assign ada to me`."""
_BEFORE_TIME = frozenset({"in", "for", "until", "till", "til", "at", "on"})
_WITH_END = frozenset({"snooze", "remind"})
_DID = {
    "claim": "{person} claimed {lead}",
    "takeover": "{person} took over {lead}",
    "release": "{person} released {lead}",
    "snooze": "{person} snoozed {lead} until {until}",
    "remind": "{person} will be reminded of {lead}: {until}",
    "wake": "{person} ended the snooze of {lead}",
    "done": "{person} marked {lead} done",
    "dismiss": "{person} closed {lead} as not interested",
    "reopen": "{person} reopened {lead}",
    ASSIGN: "{person} assigned {lead} to @{assignee}",
}
_YES = {"takeover": "Take over", "release": "Release", "done": "Mark done", "dismiss": "Not interested …"}
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


@frozen
class _Assignee:
    """The person to whom a reply is assigned, and the channel of a card that they can read."""

    person: Person
    channel: str


@frozen
class AlertActions:
    """`perform` an act for a person; `changed` is called when cards need an update."""

    store: Store
    access: Access
    links: Links
    changed: Callable[[], None]

    async def perform(self, asked: OnAlert, caller: Caller) -> Answer:
        """The answer, which only this person sees."""
        if not caller.may(CLAIM):
            return Answer(card=caller.refusal(CLAIM, act=asked.verb))
        alert = await self.store.alerts.find(asked.alert)
        if alert is None:
            return Answer(card=GONE)
        if asked.verb == ACK:
            return await self._acknowledge(alert, caller)
        asked = _meant(asked, alert, caller)
        if card := self._before(asked, alert, caller):
            return Answer(card=card)
        assignee = await self._assignee(asked.person, alert, caller) if asked.verb == ASSIGN else None
        if isinstance(assignee, Card):
            return Answer(card=assignee, settles=bool(asked.person))
        return await self._act(asked, alert, caller, assignee)

    def _now(self) -> datetime:
        return moment(self.store.database.clock())

    def _before(self, asked: OnAlert, alert: Alert, caller: Caller) -> Card | None:
        """The refusal or question before anything changes; None if the act can be done."""
        now = self._now()
        if asked.verb not in AFTER[alert.state]:
            return unchanged_card(alert, caller, now=now)
        takes = asked.verb in TAKES - {ASSIGN} and is_colleagues(alert, caller.actor)
        if takes and asked.instead_of != alert.claimed_by:
            return _question(asked, alert)
        if not asked.detail and asked.verb == "dismiss":
            return reason_choices(asked)
        if not asked.detail and asked.verb == "snooze":
            return snooze_choices(asked, now=now, zone=caller.zone)
        is_unclear = (
            asked.verb in _WITH_END and snoozed_until(asked.detail, now=now, zone=caller.zone) is None
        )
        return _UNCLEAR if is_unclear else None

    async def _act(self, asked: OnAlert, alert: Alert, caller: Caller, assignee: _Assignee | None) -> Answer:
        """Do it, tell whom it was taken from or given to, and put it into the audit."""
        now, actor, instead_of = self._now(), caller.actor, asked.instead_of
        until = snoozed_until(asked.detail, now=now, zone=caller.zone) if asked.verb in _WITH_END else None
        verb = "claim" if asked.verb == "mail" else asked.verb
        by, owner = actor, None
        if assignee:
            owner = Actor(name=assignee.person.name, id=assignee.person.id, face="slack")
            by = Actor(name="", id=actor.id) if owner.id == actor.id else actor  # then it is a claim
            # Who has it may hand it on without being asked.
            instead_of = actor.id if alert.claimed_by == actor.id else instead_of
        is_told = assignee or verb == "release" or (verb in TAKES and is_colleagues(alert, actor))
        change = await self.store.alerts.act(
            alert.id,
            verb,
            by,
            until=until.timestamp() if until else 0.0,
            reason=clip(asked.detail, length=REASON_CHARACTERS) if verb == "dismiss" else "",
            instead_of=instead_of,
            person=owner,
            trace=partial(_note, verb=verb, actor=actor, assignee=assignee) if is_told else None,
        )
        if change is None:
            return Answer(card=GONE, settles=bool(assignee))
        opens = asked.verb == "mail" and await self.store.alerts.expect_visit(alert.id, actor)
        settles = bool(assignee or asked.detail or asked.instead_of)
        if not change.changed:
            card = unchanged_card(change.alert, caller, now=now, assignee=assignee)
            return Answer(card=card, on_card=opens, settles=bool(assignee) or (opens and settles))
        line = replace(asked, verb=verb, then=None, instead_of="")
        if assignee:
            line = replace(line, person=f"@{assignee.person.name}")
        await self._record(line.line, change.alert, actor, result=lead_of(alert))
        when = show_time(until, now=now, zone=caller.zone) if until else ""
        said = _did(verb, alert, actor, until=when, assignee=assignee)
        card = Card(title=said, tone=Tone.GOOD if assignee or verb == "done" else Tone.INFO)
        if verb in {"claim", "takeover"}:
            card = self._claimed_card(said, change.alert)
        return Answer(card=card, on_card=True, noted=bool(is_told), settles=settles)

    async def _record(self, line: str, alert: Alert, actor: Actor, *, result: str) -> None:
        self.changed()
        at, workspace = datetime.now(UTC), alert.workspace
        entry = AuditEntry(at=at, actor=actor, workspace=workspace, command=line, result=result)
        await self.store.records.record(entry)

    def _claimed_card(self, said: str, claimed: Alert) -> Card:
        """The result of a claim away from the alert's card, with the address to write to and what comes next."""
        alert = rendering.on_card(claimed, several=False, links=self.links)
        email, link = alert.event.lead.email, "" if alert.mail_link else answer_link(alert.event)
        acts = [button for button in reply_card(alert).buttons if not button.menu]
        page = [crm_button(alert.lead_link)] if alert.lead_link else []
        facts = (Fact(label="Reply to", value=email, url=link),) if email else ()
        return Card(title=said, tone=Tone.GOOD, facts=facts, buttons=(*acts, *page))

    async def _acknowledge(self, alert: Alert, caller: Caller) -> Answer:
        """Put the person's name on the card of a paused domain, unless it has one."""
        actor = caller.actor
        acknowledged = await self.store.alerts.acknowledge(alert.id, actor)
        if acknowledged is None:
            return Answer(card=GONE)
        row = acknowledged.alert
        if acknowledged.changed:
            await self._record(f"{ACK} {row.id}", row, actor, result=row.domain)
            card = Card(title=f"@{actor.name} acknowledged {row.domain}", tone=Tone.GOOD)
            return Answer(card=card, on_card=True)
        if row.acked_at is None:
            return Answer(card=Card(title=f"{row.domain} has recovered", tone=Tone.GOOD))
        at = show_time(moment(row.acked_at), now=self._now(), zone=caller.zone)
        return Answer(card=Card(title=f"@{row.acked_name} acknowledged {row.domain} at {at}"))

    async def _assignee(self, named: str, alert: Alert, caller: Caller) -> _Assignee | Card:
        """The person who gets the reply; or what is asked or refused instead."""
        if not named:
            has = f"@{alert.claimed_name} has it, and will be notified. " if alert.claimed_by else ""
            return Card(
                title=f"Assign {lead_of(alert)} to …",
                text=(f"{has}The person is mentioned in the thread of the card.",),
                buttons=(_assign_button(alert),),
            )
        user = caller.person.id if named == ME else named
        if user.startswith("@"):
            user, near = await self.access.directory.find_named(named)
            if not user:
                meant = " or ".join(f"@{name}" for _, name in near)
                return Card(
                    title=f"“{clip(named)}” isn't one person in this Slack workspace",
                    tone=Tone.WARN,
                    text=(f"Did you mean {meant}?" if meant else "Choose a person from the list.",),
                    buttons=(*(_assign_button(alert, *person) for person in near), _assign_button(alert)),
                )
        person = await self.access.directory.find(user)
        channel, refusal = await self.place_for(person, alert)
        if not refusal:
            return _Assignee(person=person, channel=channel)
        text = (f"{refusal} Nothing was changed.",)
        return Card(title="Not assigned", tone=Tone.WARN, text=text, buttons=(_assign_button(alert),))

    async def place_for(self, person: Person, alert: Alert) -> tuple[str, str]:
        """The channel with a card of the alert that a person can read, or why they can't be given it."""
        if reason := never(person):
            return "", reason
        cards = await self.store.alerts.channels(alert.id)
        viewer = Viewer(user=person.id)
        readable = [channel for channel in cards if await self.access.directory.sees(channel, viewer)]
        for channel in readable:
            if self.access.of(person, channel).may(CLAIM):
                return channel, ""
        name = f"@{person.name}"
        if cards and not readable:
            return "", f"{name} isn't in the private channel of this reply. Invite them there first."
        if person.is_guest or person.is_outsider:
            whose = "a guest of this Slack workspace" if person.is_guest else "from another organization"
            return "", f"{name} is {whose}, and can't claim replies."
        return "", f"{name} doesn't have permission to claim replies there."


def never(person: Person) -> str:
    """The reason why a person can be given nothing, whatever the settings say; empty if there is none."""
    if not person.is_known:
        return "Slack didn't say who that is. Try again in a minute."
    if person.is_deleted:
        return f"@{person.name}'s account is deactivated."
    return f"@{person.name} is a bot." if person.is_bot else ""


def is_colleagues(alert: Alert, person: Actor) -> bool:
    """True if someone else has claimed it."""
    return alert.claimed_by not in {"", person.id or person.name}


def lead_of(alert: Alert) -> str:
    """`Ada Lovelace at Acme`: the author of the reply, if still stored."""
    return "the reply" if alert.is_pruned else about(alert.event)


def _meant(asked: OnAlert, alert: Alert, caller: Caller) -> OnAlert:
    """The act: who has a reply and snoozes it wants a reminder, and nobody is reminded of what they don't have."""
    if asked.verb not in _WITH_END:
        return asked
    own = alert.state is State.CLAIMED and not is_colleagues(alert, caller.actor)
    usual = USUAL_REMINDER if asked.verb == "remind" or own else ""
    return replace(asked, verb="remind" if own else "snooze", detail=asked.detail or usual)


def _question(asked: OnAlert, alert: Alert) -> Card:
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


def _did(
    verb: str, before: Alert, actor: Actor, *, until: str = "", assignee: _Assignee | None = None
) -> str:
    """The act as a sentence: who assigns a reply to themselves claims it, or takes it over."""
    whom = assignee.person.name if assignee else ""
    if assignee and whom == actor.name:
        verb = "takeover" if before.claimed_by else "claim"
    said = _DID[verb].format(person=f"@{actor.name}", lead=lead_of(before), until=until, assignee=whom)
    return f"{said} from @{before.claimed_name}" if assignee and verb == "takeover" else said


def _note(before: Alert, *, verb: str, actor: Actor, assignee: _Assignee | None) -> Trace:
    """The thread's note about what was taken or given; it mentions both whom it was given to and taken from."""
    title, text, mentions = _did(verb, before, actor, assignee=assignee), [], []
    if assignee and assignee.person.id != actor.id:
        mentions.append(assignee.person.id)
    if is_colleagues(before, actor):
        mentions += [before.claimed_by] if is_user(before.claimed_by) else []
        if verb == "takeover":
            title = f"{title} from @{before.claimed_name}"
        else:
            text.append(f"@{before.claimed_name} had claimed it.")
    if verb == "release" and kind_of(before.kind).claimable:
        text.append("It is unclaimed again.")
    note = rendering.write_note(Card(title=title, text=(" ".join(text),) if text else ()))
    return Trace(note=note, mention=" ".join(mentions), channel=assignee.channel if assignee else "")


def unchanged_card(alert: Alert, caller: Caller, *, now: datetime, assignee: _Assignee | None = None) -> Card:
    """The answer to an act that the reply's state doesn't allow: who was faster."""

    def clock(at: float | None) -> str:
        return show_time(moment(at or 0.0), now=now, zone=caller.zone)

    if alert.state is State.DONE:
        verb = "closed this as not interested" if alert.closed_reason else "marked this done"
        return Card(title=f"@{alert.handled_name} {verb} at {clock(alert.handled_at)}")
    if alert.state is State.SNOOZED:
        return Card(title=f"@{alert.snoozed_name} snoozed this until {clock(alert.snoozed_until)}")
    if alert.state is State.UNCLAIMED:
        return Card(title="Unclaimed", text=("Someone else just changed this. Click Claim to take it.",))
    has, by = alert.claimed_name, caller.person
    did = f"{alert.assigned_name} assigned this to @{has}" if alert.assigned_name else f"{has} claimed this"
    title = f"@{did} at {clock(alert.claimed_at)}"
    if alert.claimed_by == (assignee.person.id if assignee else by.id or by.name):
        return Card(title=title)
    if assignee:
        button = _assign_button(alert, assignee.person.id, assignee.person.name)
        return Card(title=title, text=("Nothing was changed.",), buttons=(button,))
    over = OnAlert(verb="takeover", alert=alert.id, instead_of=alert.claimed_by)
    text = (f"If you take it over, @{has} will be notified.",)
    return Card(title=title, text=text, buttons=(Button(label="Take over", action=over),))


def _assign_button(alert: Alert, user: str = "", name: str = "") -> Button:
    """Assigns it to this person, or to the one who is chosen; it isn't taken from anybody but who has it now."""
    action = OnAlert(verb=ASSIGN, alert=alert.id, person=user, instead_of=alert.claimed_by)
    label = f"Assign to @{clip(name)}" if user else "Choose a person"
    return Button(label=label, action=action, picks_person=not user)


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
        buttons=tuple(Button(label=why.capitalize(), action=replace(asked, detail=why)) for why in REASONS),
        footer="For another reason, reply in the card's thread: @outreach not interested REASON",
    )
