"""`assign`: gives a reply to a person who may claim it and can read its card, and tells them.

Of two people who assign a reply at once, the first does; the other is told who has it, and asked before it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from bot.alerts import notes
from bot.blockkit.actions import ASSIGN, OnAlert
from bot.commands.access import Access, actor_of
from bot.commands.alerts.alert_actions import GONE, ActionResult, lead_of, unchanged_card
from bot.slack.directory import UserDirectory, Viewer
from bot.slack.permissions import Person
from shared.domain.card import Button, Card, Tone
from shared.domain.wall_clock import moment
from shared.records.audit import Actor, AuditEntry
from shared.settings import CLAIM
from shared.store import Store
from shared.store.alerts import Trace
from shared.store.rows import AlertRow
from shared.text.formats import clip
from shared.text.slack_ids import is_user


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """`perform` what a person asks for in a channel; `changed` is called when cards need an update."""

    store: Store
    directory: UserDirectory
    access: Access
    changed: Callable[[], None]
    face: str = "slack"
    """Where the person is who asks; the audit tells it."""

    async def perform(self, asked: OnAlert, by: Person, *, channel: str) -> ActionResult:
        """The result, visible only to this person."""
        alert = await self.store.alerts.find(asked.alert)
        if alert is None:
            return ActionResult(card=GONE)
        if alert.handled_at is not None:
            return ActionResult(card=self._unchanged(alert, by))
        if not asked.person:
            return ActionResult(card=choice(alert))
        user = asked.person
        if user.startswith("@"):
            user, near = await self.directory.find_named(user)
            if not user:
                return ActionResult(card=nobody(asked.person, alert, near))
        person = await self.directory.find(user)
        place, refusal = await self.place_for(person, alert)
        if refusal:
            return ActionResult(card=refused(refusal, alert))
        return await self._assign(alert, person, by, asked=asked, channel=channel, place=place)

    async def place_for(self, person: Person, alert: AlertRow) -> tuple[str, str]:
        """The channel with a card of the alert that a person can read, or why they can't be given it."""
        if reason := never(person):
            return "", reason
        cards = await self.store.alerts.channels(alert.id)
        seen = [one for one in cards if await self.directory.sees(one, Viewer(user=person.id))]
        allowed = [one for one in seen if self._may_claim(person, one)]
        if allowed:
            return allowed[0], ""
        if cards and not seen:
            return "", f"@{person.name} isn't in the private channel of this reply. Invite them there first."
        if person.is_guest or person.is_outsider:
            whose = "a guest of this Slack workspace" if person.is_guest else "from another organization"
            return "", f"@{person.name} is {whose}, and can't claim replies."
        return "", f"@{person.name} doesn't have permission to claim replies there."

    def _may_claim(self, person: Person, channel: str) -> bool:
        placed = self.access.with_role(person, channel=channel)
        return self.access.may_use(CLAIM, placed, channel=channel)

    async def _assign(
        self, alert: AlertRow, person: Person, by: Person, *, asked: OnAlert, channel: str, place: str
    ) -> ActionResult:
        actor = replace(actor_of(by, channel), face=self.face)
        is_claim = person.id == by.id
        changed = await self.store.alerts.act(
            alert.id,
            "assign",
            Actor(name="", id=by.id) if is_claim else actor,
            person=Actor(name=person.name, id=person.id, face="slack"),
            # Who has it may hand it on without being asked.
            instead_of=by.id if alert.claimed_by == by.id else asked.instead_of,
            trace=partial(assigned, person=person, by=actor, channel=place),
        )
        if changed is None:
            return ActionResult(card=GONE)
        if not changed.changed:
            return ActionResult(card=self._unchanged(changed.alert, by, person))
        self.changed()
        entry = AuditEntry(
            at=datetime.now(UTC),
            actor=actor,
            workspace=alert.workspace,
            command=f"{ASSIGN} {alert.id} @{person.name}",
            result=lead_of(alert),
        )
        await self.store.records.record(entry)
        card = Card(title=_title(alert, person.name, actor), tone=Tone.GOOD)
        return ActionResult(card=card, shown=True, noted=True)

    def _unchanged(self, alert: AlertRow, by: Person, person: Person | None = None) -> Card:
        now = moment(self.store.database.clock())
        card = unchanged_card(alert, by, now=now, zone=self.access.zone(by))
        if person is None or alert.handled_at is not None or not alert.claimed_by:
            return card
        if alert.claimed_by == person.id:
            return Card(title=card.title)
        instead = OnAlert(verb=ASSIGN, alert=alert.id, person=person.id, instead_of=alert.claimed_by)
        button = Button(label=f"Assign to @{person.name}", action=instead)
        return Card(title=card.title, text=("Nothing was changed.",), buttons=(button,))


def never(person: Person) -> str:
    """Why a person can be given nothing, whatever the settings say."""
    if not person.is_known:
        return "Slack didn't say who that is. Try again in a minute."
    if person.is_deleted:
        return f"@{person.name}'s account is deactivated."
    return f"@{person.name} is a bot." if person.is_bot else ""


def _picker(alert: AlertRow) -> Button:
    action = OnAlert(verb=ASSIGN, alert=alert.id, instead_of=alert.claimed_by)
    return Button(label="Choose a person", action=action, picks_person=True)


def choice(alert: AlertRow) -> Card:
    """To whom; asked of who clicked."""
    has = f"@{alert.claimed_name} has it, and will be notified. " if alert.claimed_by else ""
    return Card(
        title=f"Assign {lead_of(alert)} to …",
        text=(f"{has}The person is mentioned in the thread of the card.",),
        buttons=(_picker(alert),),
    )


def nobody(name: str, alert: AlertRow, near: Sequence[tuple[str, str]]) -> Card:
    """No person has this name; `near`: ids and names of those that are like it, or have it all."""
    meant = " or ".join(f"@{found}" for _, found in near)
    suggested = (
        Button(
            label=f"Assign to @{clip(found)}",
            action=OnAlert(verb=ASSIGN, alert=alert.id, person=user, instead_of=alert.claimed_by),
        )
        for user, found in near
    )
    return Card(
        title=f"“{clip(name)}” isn't one person in this Slack workspace",
        tone=Tone.WARN,
        text=(f"Did you mean {meant}?" if meant else "Choose a person from the list.",),
        buttons=(*suggested, _picker(alert)),
    )


def refused(reason: str, alert: AlertRow) -> Card:
    return Card(
        title="Not assigned",
        tone=Tone.WARN,
        text=(f"{reason} Nothing was changed.",),
        buttons=(_picker(alert),),
    )


def _title(alert: AlertRow, person: str, by: Actor) -> str:
    if person == by.name:
        taken = f" from @{alert.claimed_name}" if alert.claimed_by else ""
        return f"@{by.name} {'took over' if taken else 'claimed'} {lead_of(alert)}{taken}"
    return f"@{by.name} assigned {lead_of(alert)} to @{person}"


def assigned(before: AlertRow, *, person: Person, by: Actor, channel: str) -> Trace:
    """The thread's note: it mentions the person, and who had the reply before."""
    own = before.claimed_by in {"", by.id}
    text = () if own else (f"@{before.claimed_name} had claimed it.",)
    told = [person.id] * (person.id != by.id) + [before.claimed_by] * (not own and is_user(before.claimed_by))
    note = notes.write_note(Card(title=_title(before, person.name, by), text=text))
    return Trace(note=note, mention=" ".join(told), channel=channel)
