"""Reminds of replies that are unclaimed or not done and of paused domains that nobody acknowledged; passes turns on.

Each reply gets one reminder and one escalation. What is posted is planned in the transaction that marks it as said;
this module writes the texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from bot.alerts import interested, rota
from bot.alerts.links import Links
from bot.alerts.notes import write_note
from bot.alerts.rendering import NO_LINKS, on_card
from bot.alerts.routing import Routes
from bot.alerts.wording import about
from bot.blockkit.actions import ACK, OnAlert
from shared.api.event_kinds import kind_of
from shared.commands.leads import Lead
from shared.commands.replies import Replies
from shared.domain.alert import Alert
from shared.domain.card import Button, Card, Tone
from shared.frozen import frozen
from shared.settings.sections import AlertPolicy
from shared.store import Store
from shared.store.alerts import Due, Passed, ReminderTimes, ReminderWords
from shared.store.jobs import End, Job
from shared.store.messages import INCIDENT, PlannedPost
from shared.store.people import Candidates
from shared.store.post_kinds import NOTE, TURN, UNACKNOWLEDGED, UNFINISHED
from shared.text.formats import clip, show_exact_span, show_number
from shared.text.slack_ids import is_user

TOGETHER = 5
"""More reminders than this in one channel at once become one message."""
SUMMARY_SECONDS = 900.0
"""Seconds between two such messages; `replies` lists replies in between."""
MOST_NAMES = 5

Planned = tuple[str, PlannedPost]
"""A message to come, with its workspace."""


@frozen
class Words:
    """A kind of reminder: its post and its card. In its texts stand `who`, `waited`, `domain`, `by`, `claimer` and `claimed`."""

    kind: str
    title: str
    text: str
    tone: Tone = Tone.WARN
    button: str = "claim"
    to_person: bool = False
    """It is for one person, who is mentioned in the reply's thread, however many others have one."""
    many: str = ""
    """The end of the title of a message that stands for several."""


_WORDS: Mapping[str, Words] = {
    "remind": Words(
        kind="reminder",
        title="{who} has been waiting for {waited}",
        text="Still unclaimed.",
        many="unclaimed",
    ),
    "escalate": Words(
        kind="escalation",
        title="{who} has been waiting for {waited}",
        text="Escalated: still unclaimed. This is the last reminder.",
        tone=Tone.BAD,
        many="still unclaimed",
    ),
    "unfinished": Words(
        kind=UNFINISHED,
        title="Claimed but not done: {who}",
        text="@{claimer} claimed this {claimed} ago. Mark it done, or release it on its card.",
        button="done",
        many="claimed but not done",
    ),
    "back": Words(
        kind="back",
        title="Snooze ended: {who}",
        text="@{by} snoozed this reply until now. It is unclaimed.",
        tone=Tone.GOOD,
        to_person=True,
    ),
    "asked": Words(
        kind=UNFINISHED,
        title="Reminder: {who}",
        text="@{by} asked to be reminded of this reply.",
        button="done",
        to_person=True,
    ),
    "returned": Words(
        kind="returned",
        title="{who} is back",
        text="@{by} set this reminder while {who} was out of office.",
        tone=Tone.GOOD,
        button="lead",
        to_person=True,
    ),
    UNACKNOWLEDGED: Words(
        kind=UNACKNOWLEDGED,
        title="{domain} has been paused for {waited}",
        text="Not acknowledged yet.",
        tone=Tone.BAD,
        button=ACK,
        to_person=True,
    ),
}


def what_of(due: Due) -> str:
    """The entry of `_WORDS`: what ends with a snooze depends on what was snoozed, and on who has it now."""
    if due.what != "back":
        return due.what
    if kind_of(due.alert.kind).offers == "reminder":
        return "returned"
    return "asked" if due.alert.claimed_by else "back"


class Reminders:
    """Handles jobs of the kind `remind`: each looks at one open alert; each reminder is sent once."""

    def __init__(
        self,
        store: Store,
        alert_policy: AlertPolicy,
        routes: Routes,
        *,
        planned: Callable[[], None],
        links: Links = NO_LINKS,
    ) -> None:
        self._store, self._policy, self._routes = store, alert_policy, routes
        self._planned, self._links = planned, links
        self._words = ReminderWords(
            times=times_of(alert_policy), due=self.plan, passed=self._plan_turns, candidates=self._candidates
        )

    async def __call__(self, claimed: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Plan what is due; the jobs end in the same transaction. Raises `RecordsUnavailable`."""
        if await self._store.alerts.remind(claimed, self._words):
            self._planned()
        return {}

    def plan(self, due: Sequence[Due], now: float) -> list[Planned]:
        """The messages to come. Pure."""
        elsewhere = self._policy.escalate_to
        escalated = {
            reminder.alert.id: reminder for reminder in due if elsewhere and reminder.what == "escalate"
        }
        there = {reminder.alert.id for reminder in due if reminder.channel == elsewhere}
        copies = [
            replace(reminder, channel=elsewhere or "", bundled=False)
            for alert, reminder in escalated.items()
            if alert not in there
        ]
        return [post for group in _grouped([*due, *copies]) for post in self._messages(group, now)]

    def _messages(self, group: Sequence[Due], now: float) -> list[Planned]:
        """A message for each, or one for all where they are many."""
        if _is_one_message(group) and not _WORDS[what_of(group[0])].to_person:
            first = group[0]
            mention = "" if first.what == "unfinished" else self._mention(first, now)
            key, card = f"{now // SUMMARY_SECONDS:.0f}", summary_card(group, now=now)
            return [_together(first, card, key=key, mention=mention, held_until=self._held_until(first, now))]
        return [self._reminder(reminder, now) for reminder in group]

    def _reminder(self, due: Due, now: float) -> Planned:
        is_incident = due.what == UNACKNOWLEDGED
        workspace, post = _alone(
            due,
            reminder_card(due, now=now, links=self._links),
            kind=_WORDS[what_of(due)].kind,
            number=due.alert.ack_reminders if is_incident else due.round,
            mention=self._mention(due, now),
        )
        urgency = INCIDENT if is_incident else post.urgency
        condensed, held_until = due.what != "escalate", self._held_until(due, now)
        return workspace, replace(post, urgency=urgency, condensed=condensed, held_until=held_until)

    def _mention(self, due: Due, now: float) -> str:
        """Whom to mention: the claimer, or who asked; otherwise no one during the channel's quiet hours."""
        what, routing = what_of(due), self._routes.routing
        policy = routing.channel_policy(due.channel)
        if what == "returned":
            return ""
        if what in {"unfinished", "asked"}:
            return due.alert.claimed_by if is_user(due.alert.claimed_by) else ""
        if what == "back" and is_user(due.alert.snoozed_by):
            return due.alert.snoozed_by
        if policy.quiet_until(now):
            return ""
        if what == "escalate":
            usual = due.mention if due.alert.rota not in routing.rotas else ""
            return self._policy.escalate_mention or usual or policy.mention
        return policy.mention if what == UNACKNOWLEDGED else due.mention or policy.mention

    def _held_until(self, due: Due, now: float) -> float | None:
        """Reminders to claimers wait until quiet hours end."""
        policy = self._routes.routing.channel_policy(due.channel)
        return policy.quiet_until(now) if due.what == "unfinished" else None

    def _candidates(self, alert: Alert, now: float) -> Candidates | None:
        """The people who may get the next turn; None where the rota isn't in the settings any more. Pure."""
        rota = self._routes.routing.rotas.get(alert.rota)
        return self._routes.candidates(rota, rota.name, now) if rota else None

    def _plan_turns(self, passed: Sequence[Passed], now: float) -> list[Planned]:
        """The messages of turns that passed on. Pure."""
        by_due = {(turn.due.alert.id, turn.due.channel): turn for turn in passed}
        planned: list[Planned] = []
        for group in _grouped([turn.due for turn in passed]):
            turns = [by_due[due.alert.id, due.channel] for due in group]
            called = [self._called(turn, now) for turn in turns]
            if _is_one_message(group):
                card, key = rota.summary_card(turns), f"{group[0].alert.id}:{now:.0f}"
                mention = " ".join(dict.fromkeys(filter(None, called)))
                planned.append(_together(group[0], card, key=key, mention=mention))
                continue
            for due, turn, mention in zip(group, turns, called, strict=True):
                card = rota.passed_card(turn)
                planned.append(_alone(due, card, kind=TURN, number=due.round, mention=mention))
        return planned

    def _called(self, passed: Passed, now: float) -> str:
        """Whose turn it is now, or the group; nobody in the quiet hours of the channel."""
        if self._routes.routing.channel_policy(passed.due.channel).quiet_until(now):
            return ""
        return passed.turn.owner or passed.candidates.group


def _alone(due: Due, card: Card, *, kind: str, number: int, mention: str) -> Planned:
    """A message in the thread of the alert's card."""
    post = PlannedPost(
        dedupe=f"{due.alert.id}:{due.channel}:{due.what}:{number}",
        channel=due.channel,
        kind=kind,
        urgency=2,
        note=write_note(card),
        condensed=True,
        mention=mention,
        alert_id=due.alert.id,
    )
    return due.alert.workspace, post


def _together(first: Due, card: Card, *, key: str, mention: str, held_until: float | None = None) -> Planned:
    """A message in the channel of several alerts."""
    post = PlannedPost(
        dedupe=f"{first.what}:{first.alert.workspace}:{first.channel}:{key}",
        channel=first.channel,
        kind=NOTE,
        urgency=2,
        note=write_note(card),
        mention=mention,
        held_until=held_until,
    )
    return first.alert.workspace, post


def _is_one_message(group: Sequence[Due]) -> bool:
    return len(group) > TOGETHER or any(reminder.bundled for reminder in group)


def _grouped(due: Iterable[Due]) -> Iterable[list[Due]]:
    """The reminders that one message may tell of, group by group."""
    groups: defaultdict[tuple[str, str, str], list[Due]] = defaultdict(list)
    for reminder in due:
        groups[reminder.alert.workspace, reminder.channel, what_of(reminder)].append(reminder)
    return groups.values()


def times_of(policy: AlertPolicy) -> ReminderTimes:
    return ReminderTimes(
        remind=_seconds(policy.remind_after),
        escalate=_seconds(policy.escalate_after),
        unfinished=_seconds(policy.unfinished_after),
    )


def _seconds(length: timedelta | None) -> float | None:
    return None if length is None else length.total_seconds()


def _span(since: float, now: float) -> str:
    return show_exact_span(timedelta(seconds=now - since))


def reminder_card(due: Due, *, now: float, links: Links = NO_LINKS) -> Card:
    """The card of one reminder; an escalation is the whole card, for it may be in a channel that doesn't have it."""
    alert, words = due.alert, _WORDS[what_of(due)]
    values = {
        "who": "A lead" if alert.is_pruned else about(alert.event),
        "domain": clip(alert.domain or "A domain"),
        "waited": _span(alert.received_at, now),
        "claimed": _span(alert.claimed_at or alert.received_at, now),
        "claimer": alert.claimed_name,
        "by": alert.snoozed_name,
    }
    title, text = words.title.format(**values), (words.text.format(**values),)
    if due.what == "escalate":
        whole = interested.card(on_card(alert, several=False, links=links))
        return replace(whole, title=title, tone=words.tone, text=text)
    return Card(title=title, tone=words.tone, text=text, buttons=_buttons(words.button, alert))


def _buttons(verb: str, alert: Alert) -> tuple[Button, ...]:
    if verb != "lead":
        label = {"claim": "Claim", "done": "Mark done", ACK: "Acknowledge"}[verb]
        return (Button(label=label, action=OnAlert(verb=verb, alert=alert.id), tone=Tone.GOOD),)
    email = alert.event.lead.email
    lead = Lead(who=email or "", status=kind_of(alert.event.kind).lead_status)
    return (Button(label="View lead", action=lead),) if email else ()


def summary_card(group: Sequence[Due], *, now: float) -> Card:
    """Several replies in one message."""
    words = _WORDS[what_of(group[0])]
    names = [about(reminder.alert.event) for reminder in group if not reminder.alert.is_pruned]
    more = f" and {len(group) - MOST_NAMES} more" if len(group) > MOST_NAMES else ""
    waited = _span(min(reminder.alert.received_at for reminder in group), now)
    unclaimed = (Button(label="Show unclaimed", action=Replies()),)
    return Card(
        title=f"{show_number(len(group), 'interested reply')} {words.many}",
        tone=words.tone,
        text=(f"{', '.join(names[:MOST_NAMES])}{more}", f"The oldest arrived {waited} ago."),
        buttons=unclaimed if words.button == "claim" else (),
    )
