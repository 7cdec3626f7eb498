"""Reminds of replies that are unclaimed or not done and of paused domains that nobody acknowledged; passes turns on.

Each reply gets one reminder and one escalation. What is posted is planned in the transaction that marks it as said;
this module writes the texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from bot.blockkit import OnAlert, is_user
from bot.cards import LABELS, PLAIN_CARDS, CardSettings, about, reply_card, write_note
from bot.delivery import Routes
from shared.commands.replies import Replies
from shared.domain.alert import Alert, span
from shared.domain.card import Button, Card, Tone
from shared.domain.reply_states import ACK
from shared.frozen import frozen
from shared.settings.sections import AlertPolicy
from shared.store import Store
from shared.store.alerts import Due, Passed, ReminderTimes, ReminderWords
from shared.store.jobs import End, Job
from shared.store.messages import INCIDENT, PlannedPost
from shared.store.people import Candidates
from shared.store.post_kinds import NOTE, TURN, UNACKNOWLEDGED, UNFINISHED
from shared.text.formats import clip, show_number, show_some, show_span

TOGETHER = 5
"""More reminders than this in one channel at once become one message."""
SUMMARY_SECONDS = 900.0
"""Seconds between two such messages; `replies` lists replies in between."""
MOST_NAMES = 5


@frozen
class Words:
    """A kind of reminder: its post and its card. Its texts have the values of `reminder_card`."""

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
    UNACKNOWLEDGED: Words(
        kind=UNACKNOWLEDGED,
        title="{domain} has been paused for {waited}",
        text="Not acknowledged yet.",
        tone=Tone.BAD,
        button=ACK,
        to_person=True,
    ),
    TURN: Words(kind=TURN, title="{turn} turn: {who}", text="{missed}", many="passed on"),
}


def what_of(due: Due) -> str:
    """The entry of `_WORDS`: what ends with a snooze depends on who has the reply now."""
    return "asked" if due.what == "back" and due.alert.claimed_by else due.what


class Reminders:
    """Handles jobs of the kind `remind`: each looks at one open alert; each reminder is sent once."""

    def __init__(
        self,
        store: Store,
        alert_policy: AlertPolicy,
        routes: Routes,
        *,
        planned: Callable[[], None],
        cards: CardSettings = PLAIN_CARDS,
    ) -> None:
        self._store, self._policy, self._routes = store, alert_policy, routes
        self._planned, self._cards = planned, cards
        self._words = ReminderWords(
            times=times_of(alert_policy),
            due=self.plan,
            passed=lambda passed, now: self.plan([turn.due for turn in passed], now, passed),
            candidates=self._candidates,
        )

    async def __call__(self, claimed: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Plan what is due; the jobs end in the same transaction. Raises `RecordsUnavailable`."""
        if await self._store.alerts.remind(claimed, self._words):
            self._planned()
        return {}

    def plan(
        self, due: Sequence[Due], now: float, passed: Sequence[Passed] = ()
    ) -> list[tuple[str, PlannedPost]]:
        """The messages to come, with their workspaces; `passed` has the turns that passed on. Pure."""
        elsewhere = self._policy.escalate_to or ""
        # A channel that has the card is escalated to in its thread, and gets no copy.
        there = {reminder.alert.id for reminder in due if reminder.channel == elsewhere}
        copies = {
            reminder.alert.id: replace(reminder, channel=elsewhere, bundled=False)
            for reminder in due
            if elsewhere and reminder.what == "escalate" and reminder.alert.id not in there
        }
        groups: defaultdict[tuple[str, str, str], list[Due]] = defaultdict(list)
        for reminder in (*due, *copies.values()):
            groups[reminder.alert.workspace, reminder.channel, what_of(reminder)].append(reminder)
        turns = {(turn.due.alert.id, turn.due.channel): turn for turn in passed}
        routing, planned = self._routes.routing, []
        for (workspace, channel, what), group in groups.items():
            words, first = _WORDS[what], group[0]
            passing = [turns.get((reminder.alert.id, channel)) for reminder in group]
            mentions = [self._mention(*pair, now=now) for pair in zip(group, passing, strict=True)]
            post = PlannedPost(
                dedupe="",
                channel=channel,
                kind=words.kind,
                urgency=INCIDENT if what == UNACKNOWLEDGED else 0,
                condensed=what != "escalate",
                # Those to claimers wait until quiet hours end.
                held_until=routing.channel_policy(channel).quiet_until(now) if what == "unfinished" else None,
            )
            is_one = len(group) > TOGETHER or any(reminder.bundled for reminder in group)
            if is_one and not words.to_person:
                # Planned once for each key: the next summary of the same quarter of an hour would say nothing new.
                key = f"{now // SUMMARY_SECONDS:.0f}"
                if what == TURN:  # each is news
                    key = f"{first.alert.id}:{now:.0f}"
                dedupe, note = f"{first.what}:{workspace}:{channel}:{key}", summary_card(group, now=now)
                called = " ".join(dict.fromkeys(filter(None, mentions)))
                together = replace(post, dedupe=dedupe, kind=NOTE, note=write_note(note), mention=called)
                planned.append((workspace, together))
                continue
            for reminder, turn, mention in zip(group, passing, mentions, strict=True):
                alert = reminder.alert
                number = alert.ack_reminders if what == UNACKNOWLEDGED else reminder.round
                alone = replace(
                    post,
                    dedupe=f"{alert.id}:{channel}:{reminder.what}:{number}",
                    note=write_note(reminder_card(reminder, now=now, cards=self._cards, passed=turn)),
                    mention=mention,
                    alert_id=alert.id,
                )
                planned.append((workspace, alone))
        return planned

    def _mention(self, due: Due, passed: Passed | None, *, now: float) -> str:
        """Whom to mention: the claimer, or who asked; otherwise no one during the channel's quiet hours."""
        what, routing, alert = what_of(due), self._routes.routing, due.alert
        policy, claimer = routing.channel_policy(due.channel), alert.claimed_by
        people = {"unfinished": claimer, "asked": claimer, "back": alert.snoozed_by}
        if what in people:
            return people[what] if is_user(people[what]) else ""
        if policy.quiet_until(now):
            return ""
        if passed:
            return passed.turn.owner or passed.candidates.group
        if what == "escalate":
            usual = due.mention if alert.rota not in routing.rotas else ""
            return self._policy.escalate_mention or usual or policy.mention
        return policy.mention if what == UNACKNOWLEDGED else due.mention or policy.mention

    def _candidates(self, alert: Alert, now: float) -> Candidates | None:
        """The people who may get the next turn; None where the rota isn't in the settings any more. Pure."""
        rota = self._routes.routing.rotas.get(alert.rota)
        return self._routes.candidates(rota, rota.name, now) if rota else None


def times_of(policy: AlertPolicy) -> ReminderTimes:
    def seconds(length: timedelta | None) -> float | None:
        return None if length is None else length.total_seconds()

    return ReminderTimes(
        remind=seconds(policy.remind_after),
        escalate=seconds(policy.escalate_after),
        unfinished=seconds(policy.unfinished_after),
    )


def reminder_card(
    due: Due, *, now: float, cards: CardSettings = PLAIN_CARDS, passed: Passed | None = None
) -> Card:
    """The card of one reminder; an escalation is the whole card, for it may be in a channel that doesn't have it."""
    alert, words = due.alert, _WORDS[what_of(due)]
    values = {
        "who": "A lead" if alert.is_pruned else about(alert.event),
        "domain": clip(alert.domain or "A domain"),
        "waited": span(alert.received_at, now),
        "claimed": span(alert.claimed_at or alert.received_at, now),
        "claimer": alert.claimed_name,
        "by": alert.snoozed_name,
    }
    if passed:
        before, turn = passed.before, passed.turn
        waited = show_span(timedelta(seconds=passed.candidates.pass_after or 0.0))
        missed = f"@{before.owner_name or before.owner} didn't claim it in {waited}."
        values["missed"] = missed if before.owner else "It is unclaimed again."
        values["turn"] = f"@{turn.name or turn.owner}'s" if turn.owner else "Anyone's"
    title, text = words.title.format(**values), (words.text.format(**values),)
    if due.what == "escalate":
        whole = reply_card(cards.on_card(alert))
        return replace(whole, title=title, tone=words.tone, text=text)
    action = OnAlert(verb=words.button, alert=alert.id)
    button = Button(LABELS[words.button], action, tone=Tone.GOOD)
    return Card(title, tone=words.tone, text=text, buttons=(button,))


def summary_card(group: Sequence[Due], *, now: float) -> Card:
    """Several replies in one message."""
    words = _WORDS[what_of(group[0])]
    names = [about(reminder.alert.event) for reminder in group if not reminder.alert.is_pruned]
    waited = span(min(reminder.alert.received_at for reminder in group), now)
    unclaimed = (Button("Show unclaimed", Replies()),)
    return Card(
        f"{show_number(len(group), 'interested reply')} {words.many}",
        tone=words.tone,
        text=(show_some(names, MOST_NAMES), f"The oldest arrived {waited} ago."),
        buttons=unclaimed if words.button == "claim" else (),
    )
