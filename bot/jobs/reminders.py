"""Reminds of interested replies that are unclaimed, or claimed and not done.

Each reply gets one reminder and one escalation. Reminders are planned in the transaction that marks them as sent; this
module writes their texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from bot.alerts import notes
from bot.alerts.interested import crm_button, excerpt
from bot.alerts.turns import People
from bot.alerts.wording import about, answer_link, campaign_of, facts_of
from bot.blockkit.actions import DETAILS, OnAlert
from bot.jobs import unacknowledged
from bot.jobs.turns import PassingTurns
from shared.api.event_kinds import kind_of
from shared.api.events import Event
from shared.commands.leads import Lead
from shared.commands.replies import Replies
from shared.domain.alert_settings import Routing
from shared.domain.card import Button, Card, Fact, Tone
from shared.settings.sections import AlertPolicy
from shared.store import Store
from shared.store.alerts.reminders import ReminderTimes, ReminderWords
from shared.store.jobs import End, Job
from shared.store.queue.alert_row import Due
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.post_kinds import UNACKNOWLEDGED, UNFINISHED
from shared.text.formats import show_exact_span, show_number
from shared.text.links import lead_link
from shared.text.slack_ids import is_user

TOGETHER = 5
"""More reminders than this in one channel at once become one message."""
SUMMARY_SECONDS = 900.0
"""Seconds between two such messages; `replies` lists replies in between."""


class Reminders:
    """Handles jobs of the kind `remind`: each looks at one open alert; each reminder is sent once."""

    def __init__(
        self,
        store: Store,
        alert_policy: AlertPolicy,
        routing: Routing,
        people: People,
        *,
        planned: Callable[[], None],
        link: str = "",
    ) -> None:
        self._store, self._alert_policy, self._routing = store, alert_policy, routing
        self._planned, self._link = planned, link
        turns = PassingTurns(routing, people)
        self.words = ReminderWords(
            times=times_of(alert_policy), due=self.plan, passed=turns.plan, candidates=turns.candidates
        )

    async def __call__(self, claimed: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Plan what is due; the jobs end in the same transaction. Raises `RecordsUnavailable`."""
        if await self._store.reminders.look(claimed, self.words):
            self._planned()
        return {}

    def plan(self, due: Sequence[Due], now: float) -> list[tuple[str, PlannedPost]]:
        """The messages to come, with their workspaces. Pure."""
        grouped: defaultdict[tuple[str, str, str], list[Due]] = defaultdict(list)
        domains = [one for one in due if one.what == UNACKNOWLEDGED]
        due = [
            replace(one, what="asked") if one.what == "back" and one.alert.claimed_by else one
            for one in due
            if one.what != UNACKNOWLEDGED
        ]
        for one in due:
            grouped[one.alert.workspace, one.channel, one.what].append(one)
        shown = {(one.alert.id, one.channel) for one in due}
        reminder_card = [
            (one.alert.workspace, unacknowledged.plan(one, now, routing=self._routing)) for one in domains
        ]
        for (workspace, _, what), group in grouped.items():
            # Who asked to be reminded of a reply is mentioned in its thread, however many others did.
            alone = [one for one in group if what == "asked" or (what == "back" and one.alert.snoozed_by)]
            rest = [one for one in group if one not in alone]
            together = len(rest) > TOGETHER or any(one.bundled for one in rest)
            planned = [self._many(rest, now)] if together else [self._one(x, now) for x in rest]
            planned += [self._one(one, now) for one in alone]
            planned += self._elsewhere(group, now, shown=shown)
            reminder_card += [(workspace, one) for one in planned]
        return reminder_card

    def _one(self, due: Due, now: float) -> PlannedPost:
        return PlannedPost(
            dedupe=f"{due.alert.id}:{due.channel}:{due.what}:{due.round}",
            channel=due.channel,
            kind="returned" if is_return(due) else _KINDS[due.what],
            urgency=2,
            note=notes.write_note(reminder_card(due, now=now, link=self._link)),
            condensed=due.what != "escalate",
            mention=self._mention(due, now, channel=due.channel),
            held_until=self._held_until(due, now),
            alert_id=due.alert.id,
        )

    def _many(self, group: Sequence[Due], now: float) -> PlannedPost:
        first = group[0]
        return PlannedPost(
            dedupe=f"{first.what}:{first.alert.workspace}:{first.channel}:{now // SUMMARY_SECONDS:.0f}",
            channel=first.channel,
            kind="note",
            urgency=2,
            note=notes.write_note(summary_card(group, now=now)),
            mention="" if first.what in _TO_CLAIMER else self._mention(first, now, channel=first.channel),
            held_until=self._held_until(first, now),
        )

    def _elsewhere(
        self, group: Sequence[Due], now: float, *, shown: Collection[tuple[str, str]]
    ) -> list[PlannedPost]:
        """An escalation also goes to `escalate_to`, unless it is posted there anyway."""
        channel, first = self._alert_policy.escalate_to, group[0]
        if channel is None or first.what != "escalate" or (first.alert.id, channel) in shown:
            return []
        alone = len(group) == 1
        return [
            PlannedPost(
                dedupe=f"escalate:{channel}:{first.alert.id}:{first.alert.waiting_since or 0.0:.0f}",
                channel=channel,
                kind="escalation" if alone else "note",
                urgency=2,
                note=notes.write_note(
                    reminder_card(first, now=now, link=self._link) if alone else summary_card(group, now=now)
                ),
                mention=self._mention(first, now, channel=channel),
                alert_id=first.alert.id if alone else "",
            )
        ]

    def _mention(self, due: Due, now: float, *, channel: str) -> str:
        """Whom to mention: the claimer, or who asked; otherwise no one during the channel's quiet hours."""
        if due.what in _TO_CLAIMER:
            return due.alert.claimed_by if is_user(due.alert.claimed_by) else ""
        channel_policy = self._routing.channel_policy(channel)
        if is_return(due):
            return ""
        asked = due.alert.snoozed_by if due.what == "back" and is_user(due.alert.snoozed_by) else ""
        if asked or channel_policy.quiet_until(now):
            return asked
        rota = self._routing.rotas.get(due.alert.rota) if due.what == "escalate" else None
        usual = ("" if rota else due.mention) or channel_policy.mention
        return (self._alert_policy.escalate_mention or usual) if due.what == "escalate" else usual

    def _held_until(self, due: Due, now: float) -> float | None:
        """Reminders to claimers wait until quiet hours end."""
        return (
            self._routing.channel_policy(due.channel).quiet_until(now) if due.what == "unfinished" else None
        )


_KINDS = {
    "remind": "reminder",
    "escalate": "escalation",
    "back": "back",
    "unfinished": UNFINISHED,
    "asked": UNFINISHED,
}
_TO_CLAIMER = {"unfinished", "asked"}
"""Reminders for the person who has the reply: because it takes long, or because they asked."""


def times_of(policy: AlertPolicy) -> ReminderTimes:
    return ReminderTimes(
        remind=_seconds(policy.remind_after),
        escalate=_seconds(policy.escalate_after),
        unfinished=_seconds(policy.unfinished_after),
    )


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds()


def is_return(due: Due) -> bool:
    """Whether it is about a lead who was away, as a person asked; otherwise it is about a reply."""
    return kind_of(due.alert.kind).offers == "reminder"


def returned_card(due: Due, event: Event) -> Card:
    """A lead who was out of office, on the day for which a person set a reminder."""
    email = event.lead.email
    buttons = (
        (Button(label="View lead", action=Lead(who=email, status=kind_of(event.kind).lead_status)),)
        if email
        else ()
    )
    text = f"@{due.alert.snoozed_name} set this reminder while {about(event)} was out of office."
    return Card(title=f"{about(event)} is back", tone=Tone.GOOD, text=(text,), buttons=buttons)


def reminder_card(due: Due, *, now: float, link: str = "") -> Card:
    """The card for one reply that is unclaimed or not done, or for a lead who has returned."""
    event = due.alert.event
    if is_return(due):
        return returned_card(due, event)
    who = "A lead" if due.alert.is_pruned else about(event)
    waited = show_exact_span(timedelta(seconds=now - due.alert.received_at))
    claim = Button(label="Claim", action=OnAlert(verb="claim", alert=due.alert.id), tone=Tone.GOOD)
    done = Button(label="Mark done", action=OnAlert(verb="done", alert=due.alert.id), tone=Tone.GOOD)
    if due.what == "asked":
        text = f"@{due.alert.snoozed_name} asked to be reminded of this reply."
        return Card(title=f"Reminder: {who}", tone=Tone.WARN, text=(text,), buttons=(done,))
    if due.what == "unfinished":
        since = show_exact_span(timedelta(seconds=now - (due.alert.claimed_at or due.alert.received_at)))
        return Card(
            title=f"Claimed but not done: {who}",
            tone=Tone.WARN,
            text=(
                f"@{due.alert.claimed_name} claimed this {since} ago. Mark it done, or release it on its card.",
            ),
            buttons=(done,),
        )
    if due.what == "back":
        text = f"@{due.alert.snoozed_name} snoozed this reply until now. It is unclaimed."
        return Card(title=f"Snooze ended: {who}", tone=Tone.GOOD, text=(text,), buttons=(claim,))
    if due.what == "escalate":
        return _escalation(due, event, title=f"{who} has been waiting for {waited}", claim=claim, link=link)
    text = "Still unclaimed."
    return Card(title=f"{who} has been waiting for {waited}", tone=Tone.WARN, text=(text,), buttons=(claim,))


def _escalation(due: Due, event: Event, *, title: str, claim: Button, link: str) -> Card:
    """With everything needed for a reply, because it may be in another channel than the card."""
    quote, is_cut = excerpt(event.reply or "")
    email = event.lead.email
    page = lead_link(link, email)
    whole = (Button(label="Show all", action=OnAlert(verb=DETAILS, alert=due.alert.id)),) if is_cut else ()
    return Card(
        title=title,
        tone=Tone.BAD,
        text=("Escalated: still unclaimed. This is the last reminder.",),
        details=(
            *((Fact(label="Reply by email", value=email, url=answer_link(event)),) if email else ()),
            *facts_of(("Sequence", campaign_of(event))),
        ),
        quote=quote,
        buttons=(claim, *whole, *((crm_button(page),) if page else ())),
        notifies=True,
    )


def summary_card(group: Sequence[Due], *, now: float) -> Card:
    """Several replies in one message."""
    oldest = min(one.alert.received_at for one in group)
    waited = show_exact_span(timedelta(seconds=now - oldest))
    named = [one.alert.event for one in group if not one.alert.is_pruned]
    shown = ", ".join(about(event) for event in named[:5])
    more = f" and {len(group) - 5} more" if len(group) > 5 else ""
    verb = {
        "remind": "unclaimed",
        "escalate": "still unclaimed",
        "back": "no longer snoozed",
        "unfinished": "claimed but not done",
        "asked": "to be reminded of",
    }
    return Card(
        title=f"{show_number(len(group), 'interested reply')} {verb[group[0].what]}",
        tone=Tone.BAD if group[0].what == "escalate" else Tone.WARN,
        text=(f"{shown}{more}", f"The oldest arrived {waited} ago."),
        buttons=() if group[0].what in _TO_CLAIMER else (Button(label="Show unclaimed", action=Replies()),),
    )
