"""Reminds of replies that are unclaimed or not done and of paused domains that nobody acknowledged; passes turns on.

Each reply gets one reminder and one escalation. What is posted is planned in the transaction that marks it as said;
this module writes the texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

from bot.alerts import rota
from bot.alerts.interested import crm_button, excerpt
from bot.alerts.notes import write_note
from bot.alerts.rota import People
from bot.alerts.wording import about, answer_link, campaign_of, facts_of
from bot.blockkit.actions import ACK, DETAILS, OnAlert
from shared.api.event_kinds import kind_of
from shared.commands.leads import Lead
from shared.commands.replies import Replies
from shared.domain.card import Button, Card, Fact, Tone
from shared.settings.sections import AlertPolicy, Routing
from shared.store import Store
from shared.store.alerts import Due, Passed, ReminderTimes, ReminderWords
from shared.store.jobs import End, Job
from shared.store.messages import INCIDENT, PlannedPost
from shared.store.people import Candidates
from shared.store.post_kinds import NOTE, TURN, UNACKNOWLEDGED, UNFINISHED
from shared.store.rows import AlertRow
from shared.text.formats import clip, show_exact_span, show_number
from shared.text.links import lead_link
from shared.text.slack_ids import is_user

TOGETHER = 5
"""More reminders than this in one channel at once become one message."""
SUMMARY_SECONDS = 900.0
"""Seconds between two such messages; `replies` lists replies in between."""
MOST_NAMES = 5

Planned = tuple[str, PlannedPost]
"""A message to come, with its workspace."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """What the title of a message says that stands for several."""


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
        routing: Routing,
        people: People,
        *,
        planned: Callable[[], None],
        link: str = "",
    ) -> None:
        self._store, self._alert_policy, self._routing, self._people = store, alert_policy, routing, people
        self._planned, self._link = planned, link
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
        said = {(one.alert.id, one.channel) for one in due}
        planned: list[Planned] = []
        for group in _grouped(due, lambda one: (one.alert.workspace, one.channel, what_of(one))):
            together = len(group) > TOGETHER or any(one.bundled for one in group)
            if together and not _WORDS[what_of(group[0])].to_person:
                posts = [self._summary(group, now)]
            else:
                posts = [self._reminder(one, now) for one in group]
            posts += self._elsewhere(group, now, said=said)
            planned += [(group[0].alert.workspace, post) for post in posts]
        return planned

    def _reminder(self, due: Due, now: float) -> PlannedPost:
        is_incident = due.what == UNACKNOWLEDGED
        number = due.alert.ack_reminders if is_incident else due.round
        return PlannedPost(
            dedupe=f"{due.alert.id}:{due.channel}:{due.what}:{number}",
            channel=due.channel,
            kind=_WORDS[what_of(due)].kind,
            urgency=INCIDENT if is_incident else 2,
            note=write_note(reminder_card(due, now=now, link=self._link)),
            condensed=due.what != "escalate",
            mention=self._mention(due, now, channel=due.channel),
            held_until=self._held_until(due, now),
            alert_id=due.alert.id,
        )

    def _summary(self, group: Sequence[Due], now: float) -> PlannedPost:
        first = group[0]
        return PlannedPost(
            dedupe=f"{first.what}:{first.alert.workspace}:{first.channel}:{now // SUMMARY_SECONDS:.0f}",
            channel=first.channel,
            kind=NOTE,
            urgency=2,
            note=write_note(summary_card(group, now=now)),
            mention="" if first.what == "unfinished" else self._mention(first, now, channel=first.channel),
            held_until=self._held_until(first, now),
        )

    def _elsewhere(
        self, group: Sequence[Due], now: float, *, said: Collection[tuple[str, str]]
    ) -> list[PlannedPost]:
        """An escalation also goes to `escalate_to`, unless it is posted there anyway."""
        channel, first = self._alert_policy.escalate_to, group[0]
        if channel is None or first.what != "escalate" or (first.alert.id, channel) in said:
            return []
        post = self._reminder(first, now) if len(group) == 1 else self._summary(group, now)
        since = first.alert.waiting_since or 0.0
        return [
            replace(
                post,
                dedupe=f"escalate:{channel}:{first.alert.id}:{since:.0f}",
                channel=channel,
                mention=self._mention(first, now, channel=channel),
            )
        ]

    def _mention(self, due: Due, now: float, *, channel: str) -> str:
        """Whom to mention: the claimer, or who asked; otherwise no one during the channel's quiet hours."""
        what, policy = what_of(due), self._routing.channel_policy(channel)
        if what == "returned":
            return ""
        if what in {"unfinished", "asked"}:
            return due.alert.claimed_by if is_user(due.alert.claimed_by) else ""
        if what == "back" and is_user(due.alert.snoozed_by):
            return due.alert.snoozed_by
        if policy.quiet_until(now):
            return ""
        if what == "escalate":
            follows_rota = due.alert.rota in self._routing.rotas
            usual = ("" if follows_rota else due.mention) or policy.mention
            return self._alert_policy.escalate_mention or usual
        return policy.mention if what == UNACKNOWLEDGED else due.mention or policy.mention

    def _held_until(self, due: Due, now: float) -> float | None:
        """Reminders to claimers wait until quiet hours end."""
        return (
            self._routing.channel_policy(due.channel).quiet_until(now) if due.what == "unfinished" else None
        )

    def _candidates(self, alert: AlertRow, now: float) -> Candidates | None:
        """Who may get the next turn; None where the rota isn't in the settings any more. Pure."""
        named = self._routing.rotas.get(alert.rota)
        if named is None:
            return None
        policy = self._routing.channel_policy(named.name)
        return rota.candidates_of(named, policy=policy, people=self._people, now=now)

    def _plan_turns(self, passed: Sequence[Passed], now: float) -> list[Planned]:
        """The messages of turns that passed on. Pure."""
        planned: list[Planned] = []
        for group in _grouped(passed, lambda one: (one.due.alert.workspace, one.due.channel)):
            first = group[0].due
            if len(group) > TOGETHER or any(one.due.bundled for one in group):
                called = filter(None, (self._called(one, now) for one in group))
                post = PlannedPost(
                    dedupe=f"{TURN}:{first.alert.workspace}:{first.channel}:{first.alert.id}:{now:.0f}",
                    channel=first.channel,
                    kind=NOTE,
                    urgency=2,
                    note=write_note(rota.summary_card(group)),
                    mention=" ".join(dict.fromkeys(called)),
                )
                planned.append((first.alert.workspace, post))
                continue
            for one in group:
                post = PlannedPost(
                    dedupe=f"{one.due.alert.id}:{one.due.channel}:{TURN}:{one.due.round}",
                    channel=one.due.channel,
                    kind=TURN,
                    urgency=2,
                    note=write_note(rota.passed_card(one)),
                    condensed=True,
                    mention=self._called(one, now),
                    alert_id=one.due.alert.id,
                )
                planned.append((first.alert.workspace, post))
        return planned

    def _called(self, passed: Passed, now: float) -> str:
        """Whose turn it is now, or the group; nobody in the quiet hours of the channel."""
        if self._routing.channel_policy(passed.due.channel).quiet_until(now):
            return ""
        return passed.turn.owner or passed.candidates.group


def _grouped(items: Iterable[T], key: Callable[[T], Hashable]) -> Iterable[list[T]]:
    groups: defaultdict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
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


def reminder_card(due: Due, *, now: float, link: str = "") -> Card:
    """The card of one reminder."""
    alert, words = due.alert, _WORDS[what_of(due)]
    event = alert.event
    values = {
        "who": "A lead" if alert.is_pruned else about(event),
        "domain": clip(alert.domain or "A domain"),
        "waited": _span(alert.received_at, now),
        "claimed": _span(alert.claimed_at or alert.received_at, now),
        "claimer": alert.claimed_name,
        "by": alert.snoozed_name,
    }
    card = Card(
        title=words.title.format(**values),
        tone=words.tone,
        text=(words.text.format(**values),),
        buttons=_buttons(words.button, alert),
    )
    return card if due.what != "escalate" else _whole(card, alert, link=link)


def _buttons(verb: str, alert: AlertRow) -> tuple[Button, ...]:
    if verb != "lead":
        label = {"claim": "Claim", "done": "Mark done", ACK: "Acknowledge"}[verb]
        return (Button(label=label, action=OnAlert(verb=verb, alert=alert.id), tone=Tone.GOOD),)
    email = alert.event.lead.email
    lead = Lead(who=email or "", status=kind_of(alert.event.kind).lead_status)
    return (Button(label="View lead", action=lead),) if email else ()


def _whole(card: Card, alert: AlertRow, *, link: str) -> Card:
    """An escalation has everything needed for a reply, because it may be in another channel than the alert's card."""
    event = alert.event
    quote, is_cut = excerpt(event.reply or "")
    email = event.lead.email
    page = lead_link(link, email)
    buttons = [*card.buttons]
    if is_cut:
        buttons.append(Button(label="Show all", action=OnAlert(verb=DETAILS, alert=alert.id)))
    if page:
        buttons.append(crm_button(page))
    reply = (Fact(label="Reply by email", value=email, url=answer_link(event)),) if email else ()
    details = (*reply, *facts_of(("Sequence", campaign_of(event))))
    return replace(card, details=details, quote=quote, buttons=tuple(buttons), notifies=True)


def summary_card(group: Sequence[Due], *, now: float) -> Card:
    """Several replies in one message."""
    words = _WORDS[what_of(group[0])]
    names = [about(one.alert.event) for one in group if not one.alert.is_pruned]
    more = f" and {len(group) - MOST_NAMES} more" if len(group) > MOST_NAMES else ""
    waited = _span(min(one.alert.received_at for one in group), now)
    unclaimed = (Button(label="Show unclaimed", action=Replies()),)
    return Card(
        title=f"{show_number(len(group), 'interested reply')} {words.many}",
        tone=words.tone,
        text=(f"{', '.join(names[:MOST_NAMES])}{more}", f"The oldest arrived {waited} ago."),
        buttons=unclaimed if words.button == "claim" else (),
    )
