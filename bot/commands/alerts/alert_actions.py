"""Acts of people on alerts: claim, take over, assign, release, snooze, close or reopen a reply, acknowledge a domain.

Buttons, typed lines and the dashboard come here with the same data. What an act takes from a colleague is asked first; a
yes takes it from that colleague and nobody else, who is then told in the thread of the card.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo

from bot.alerts.cards import LABELS, CardSettings, about, crm_button, reply_card, snooze_end, stands
from bot.alerts.rendering import write_note
from bot.blockkit.actions import ACK, ASSIGN, Cancel, OnAlert
from bot.commands.context import Access, Answer, Caller
from bot.slack.directory import Viewer
from bot.slack.permissions import Person
from shared.commands import times
from shared.commands.base import NOTHING_CHANGED
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Tone
from shared.domain.reply_states import AFTER, TAKES, State
from shared.domain.wall_clock import moment
from shared.frozen import frozen
from shared.records.audit import Actor, AuditEntry
from shared.settings import CLAIM
from shared.store import Store
from shared.store.alerts import Trace
from shared.text.formats import clip
from shared.text.slack_ids import is_user
from shared.text.tokenize import parse_duration

REASONS = ("not a fit", "wrong person", "no budget", "bad timing", "already a customer")
REASON_CHARACTERS = 200
LONGEST_SNOOZE = timedelta(days=90)
USUAL_REMINDER = "2h"
ME = "@me"
"""The person of `assign ada to me`."""
BEFORE_TIME = frozenset({"in", "for", "until", "till", "til", "at", "on"})
_WITH_END = frozenset({"snooze", "remind"})
_DID = {
    "claim": "claimed {lead}",
    "takeover": "took over {lead} from @{owner}",
    "release": "released {lead}",
    "snooze": "snoozed {lead}",
    "remind": "will be reminded of {lead}",
    "wake": "ended the snooze of {lead}",
    "done": "marked {lead} done",
    "dismiss": "closed {lead} as not interested",
    "reopen": "reopened {lead}",
    ASSIGN: "assigned {lead} to @{assignee}",
}
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
class AlertActions:
    """`perform` an act for a person; `changed` is called when cards need an update."""

    store: Store
    access: Access
    cards: CardSettings
    changed: Callable[[], None]

    async def perform(self, asked: OnAlert, caller: Caller) -> Answer:
        """The answer, which only this person sees."""
        if not caller.may(CLAIM):
            return Answer(card=caller.refusal(CLAIM, act=asked.verb))
        alert = await self.store.alerts.find(asked.alert)
        if alert is None:
            return Answer(card=GONE)
        if asked.verb == ACK:
            return await self._acknowledge(alert, caller.actor)
        assignee: Person | None = None
        if asked.verb == ASSIGN and asked.person:
            user = caller.person.id if asked.person == ME else asked.person
            if user.startswith("@"):
                user = await self.access.directory.find_named(user)
            assignee = await self.access.directory.find(user) if user else None
            if assignee is None:
                title = f"“{clip(asked.person)}” isn't one person in this Slack workspace"
                text = ("Choose a person from the list.",)
                card = Card(title=title, tone=Tone.WARN, text=text, buttons=(_picker(alert),))
                return Answer(card=card, settles=True)
        asked = _meant(asked, alert, caller, assignee)
        now = moment(self.store.database.clock())
        until = None
        if asked.verb in _WITH_END:
            until = snoozed_until(asked.detail, now=now, zone=caller.zone)
        if question := _before(asked, alert, caller, now=now, until=until):
            return Answer(card=question)
        return await self._act(asked, alert, caller.actor, until, assignee if asked.verb == ASSIGN else None)

    async def _act(
        self, asked: OnAlert, alert: Alert, actor: Actor, until: datetime | None, assignee: Person | None
    ) -> Answer:
        """Do it, tell whom it was taken from or given to, and put it into the audit."""
        channel, owner = "", None
        if assignee:
            owner = Actor(name=assignee.name, id=assignee.id, face="slack")
            channel, refusal = await self.place_for(assignee, alert)
            if refusal:
                text = (f"{refusal} Nothing was changed.",)
                card = Card(title="Not assigned", tone=Tone.WARN, text=text, buttons=(_picker(alert),))
                return Answer(card=card, settles=True)
        verb, whom = "claim" if asked.verb == "mail" else asked.verb, owner.name if owner else ""
        did = _DID[verb].format(lead=lead_of(alert), owner=alert.claimed_name, assignee=whom)
        card = Card(title=f"@{actor.name} {did}", tone=Tone.GOOD if verb in {"done", ASSIGN} else Tone.INFO)

        def trace(before: Alert) -> Trace:
            """The note in the thread; it mentions whom the reply was given to, and whom it was taken from."""
            lost = before.claimed_by if is_colleagues(before, actor) else ""
            had = f"@{before.claimed_name} had claimed it." if lost and verb != "takeover" else ""
            mentions = (owner.id if owner else "", lost if is_user(lost) else "")
            note = write_note(replace(card, text=(had,)))
            return Trace(note=note, mention=" ".join(filter(None, mentions)), channel=channel)

        is_taken = verb in TAKES and is_colleagues(alert, actor)
        is_told = is_taken or verb in {"release", ASSIGN}
        change = await self.store.alerts.act(
            alert.id,
            verb,
            actor,
            until=until.timestamp() if until else 0.0,
            reason=clip(asked.detail, length=REASON_CHARACTERS) if verb == "dismiss" else "",
            # Who has it may hand it on without being asked.
            instead_of=asked.instead_of if is_colleagues(alert, actor) else alert.claimed_by,
            person=owner,
            trace=trace if is_told else None,
        )
        if change is None:
            return Answer(card=GONE, settles=True)
        opens = asked.verb == "mail" and await self.store.alerts.expect_visit(alert.id, actor)
        settles = bool(asked.person or asked.detail or asked.instead_of)
        if not change.changed:
            settles = settles and (opens or verb == ASSIGN)
            return Answer(card=unchanged_card(change.alert, actor), on_card=opens, settles=settles)
        line = replace(asked, verb=verb, then=None, instead_of="", person=whom and f"@{whom}").line
        await self._record(line, change.alert, actor, result=lead_of(alert))
        card = replace(card, facts=snooze_end(change.alert))
        if verb in {"claim", "takeover"}:  # away from the card: the address to write to, and what comes next
            claimed = self.cards.on_card(change.alert)
            whole, page = reply_card(claimed), claimed.lead_link
            buttons = [button for button in whole.buttons if not button.menu]
            buttons += [crm_button(page)] if page else []
            card = replace(card, tone=Tone.GOOD, details=whole.details, buttons=tuple(buttons))
        return Answer(card=card, on_card=True, noted=is_told, settles=settles)

    async def _record(self, line: str, alert: Alert, actor: Actor, *, result: str) -> None:
        self.changed()
        at, workspace = datetime.now(UTC), alert.workspace
        entry = AuditEntry(at=at, actor=actor, workspace=workspace, command=line, result=result)
        await self.store.records.record(entry)

    async def _acknowledge(self, alert: Alert, actor: Actor) -> Answer:
        """Put the person's name on the card of a paused domain, unless it has one."""
        acknowledged = await self.store.alerts.acknowledge(alert.id, actor)
        if acknowledged is None:
            return Answer(card=GONE)
        row, title = acknowledged.alert, f"{acknowledged.alert.domain} has recovered"
        if row.acked_at is not None:
            title = f"@{row.acked_name} acknowledged {row.domain}"
        if acknowledged.changed:
            await self._record(f"{ACK} {row.id}", row, actor, result=row.domain)
        return Answer(card=Card(title=title, tone=Tone.GOOD), on_card=acknowledged.changed)

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
        if cards and not readable:
            return "", f"@{person.name} isn't in the private channel of this reply. Invite them there first."
        return "", f"@{person.name} doesn't have permission to claim replies there."


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


def _meant(asked: OnAlert, alert: Alert, caller: Caller, assignee: Person | None) -> OnAlert:
    """The act: who assigns a reply to themselves claims it, and who snoozes their own wants a reminder.

    Nobody is reminded of what they don't have.
    """
    is_other = is_colleagues(alert, caller.actor)
    if assignee and assignee.id == caller.person.id:
        return replace(asked, verb="takeover" if is_other else "claim")
    if asked.verb not in _WITH_END:
        return asked
    own = alert.state is State.CLAIMED and not is_other
    usual = USUAL_REMINDER if asked.verb == "remind" or own else ""
    return replace(asked, verb="remind" if own else "snooze", detail=asked.detail or usual)


def lead_of(alert: Alert) -> str:
    """`Ada Lovelace at Acme`: the author of the reply, if still stored."""
    return "the reply" if alert.is_pruned else about(alert.event)


def _before(
    asked: OnAlert, alert: Alert, caller: Caller, *, now: datetime, until: datetime | None
) -> Card | None:
    """The refusal or question before anything changes; None if the act can be done."""
    if asked.verb not in AFTER[alert.state]:
        return unchanged_card(alert, caller.actor)
    if asked.verb == ASSIGN and not asked.person:
        return _whom(alert)
    is_taken = asked.verb in TAKES and is_colleagues(alert, caller.actor)
    if is_taken and asked.instead_of != alert.claimed_by:
        return _question(asked, alert)
    if not asked.detail and asked.verb == "dismiss":
        return reason_choices(asked)
    if not asked.detail and asked.verb == "snooze":
        return snooze_choices(asked, now=now, zone=caller.zone)
    return _UNCLEAR if asked.verb in _WITH_END and until is None else None


def _question(asked: OnAlert, alert: Alert) -> Card:
    """Asks before something is taken from a colleague; the yes names the colleague."""
    label, yes = LABELS[asked.verb], replace(asked, instead_of=alert.claimed_by)
    return Card(
        title=f"@{alert.claimed_name} has claimed {lead_of(alert)}",
        tone=Tone.WARN,
        text=(f"Nothing was changed yet. @{alert.claimed_name} will be notified.",),
        buttons=(Button(label=label, action=yes, tone=Tone.BAD), Button(label="Cancel", action=Cancel())),
    )


def unchanged_card(alert: Alert, actor: Actor) -> Card:
    """The answer to an act that the reply's state doesn't allow: who was faster."""
    if alert.state is State.UNCLAIMED:
        return Card(title="Unclaimed", text=(f"{NOTHING_CHANGED} Click Claim to take it.",))
    card = Card(title=stands(alert), facts=snooze_end(alert))
    if alert.state is not State.CLAIMED or not is_colleagues(alert, actor):
        return card
    over = OnAlert(verb="takeover", alert=alert.id, instead_of=alert.claimed_by)
    text = (f"If you take it over, @{alert.claimed_name} will be notified.",)
    return replace(card, text=text, buttons=(Button(label="Take over", action=over),))


def _whom(alert: Alert) -> Card:
    """Asks for the person; it isn't taken from anybody but who has it now."""
    has = f"@{alert.claimed_name} has it, and will be notified. " if alert.claimed_by else ""
    return Card(
        title=f"Assign {lead_of(alert)} to …",
        text=(f"{has}The person is mentioned in the thread of the card.",),
        buttons=(_picker(alert),),
    )


def _picker(alert: Alert) -> Button:
    action = OnAlert(verb=ASSIGN, alert=alert.id, instead_of=alert.claimed_by)
    return Button(label="Choose a person", action=action, picks_person=True)


def snoozed_until(given: str, *, now: datetime, zone: tzinfo) -> datetime | None:
    """The time meant by `2h`, `tomorrow`, `monday 10:00` or Unix seconds; None if it isn't in the next 90 days."""
    words = given.split()
    if words and words[0] in BEFORE_TIME:
        words = words[1:]
    text, now = " ".join(words), now.astimezone(UTC)  # durations are added in UTC, without clock changes
    until: datetime | None = None
    if text.isdecimal() and len(text) < 12:
        until = moment(int(text))
    elif length := parse_duration(text):
        until = now + length if length <= LONGEST_SNOOZE else None
    elif (read := times.read_moment(words)) and read[1] == len(words):
        until = read[0].after(now, zone=zone)
    return until if until is not None and now < until <= now + LONGEST_SNOOZE else None


def snooze_choices(asked: OnAlert, *, now: datetime, zone: tzinfo) -> Card:
    """Choices for a snooze: presets, and a custom date."""
    labels = {"1h": "1 hour", "3h": "3 hours", "tomorrow": "Tomorrow, 9:00", "monday": "Monday, 9:00"}
    moments: dict[datetime, Button] = {}
    for word, label in labels.items():
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
