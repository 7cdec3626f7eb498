"""The jobs of the store, by kind: the ends of timed pauses, late requests, digests; and who does the others."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

import structlog

from bot.blockkit import is_user
from bot.cards import CardSettings, about, asking_card, reply_card, write_note
from bot.core import Core
from bot.delivery import MAX_CHANNELS
from bot.guardrails import Guardrails
from bot.worker import Kind
from shared.api.errors import NotFound, OutreachError
from shared.api.words import SequenceStatus
from shared.commands.base import CommandContext
from shared.commands.hold import hold, send_status
from shared.commands.replies import Replies
from shared.commands.run import with_workspace
from shared.commands.subscribe import digest_card
from shared.domain.alert import Alert, span
from shared.domain.card import Button, Card, Tone, warning
from shared.domain.reply_states import ACK
from shared.frozen import frozen
from shared.records import Actor, AuditEntry, RecordsUnavailable
from shared.settings.sections import AlertPolicy
from shared.store.alerts import ASKED, BACK, Candidates, Due, ReminderTimes, ReminderWords
from shared.store.jobs import Again, Done, End, Job
from shared.store.messages import FARTHEST_LOOKUP, INCIDENT, LONGEST_SECONDS, LONGEST_TRIAL, PlannedPost
from shared.store.post_kinds import NOTE, TURN, UNACKNOWLEDGED, UNFINISHED
from shared.store.sequences import LATE_EVERY, TimerReplaced, timer_of
from shared.text.formats import clip, clip_name, show_number, show_some, show_span

BOT = Actor(name="outreach", face="bot")
RESUMED_AT_ONCE = 5
RETRY_SECONDS = 30.0
"""Seconds until what the service couldn't do or tell now is tried again."""
MOST_NAMES = 15

log = structlog.get_logger("jobs")


def kinds(core: Core, guard: Guardrails) -> list[Kind]:
    """All kinds of jobs but the checks of domains, which the settings may turn off."""
    own, outbox, lease = DueJobs(core), core.outbox, core.store.posting.timings.lease
    return [
        # One message tells of the ends of the pauses that were made in one channel.
        Kind(
            name="resume",
            handle=own.resume,
            group=lambda job: (job.workspace, job.payload.get("channel")),
            batch=300,
            renewed=True,
        ),
        Kind(name="late", handle=own.revert_late, batch=100, renewed=True),
        # More than five reminders of a channel in one transaction are one message.
        Kind(name="remind", handle=Reminders(core), batch=200, parallel=1),
        Kind(name="release", one=own.release),
        Kind(name="digest", one=own.give_digest, renewed=True),
        Kind(name="evaluate", one=guard.evaluate, parallel=1, renewed=True),
        Kind(name="act", one=guard.carry_out, renewed=True),
        # Each beside the others: no alert waits for an update or a look-up.
        Kind(name="post", one=outbox.post, parallel=MAX_CHANNELS, farthest=LONGEST_TRIAL, lease=lease),
        Kind(name="lookup", one=outbox.look_up, farthest=FARTHEST_LOOKUP, lease=lease),
        Kind(name="paint", one=outbox.paint, farthest=LONGEST_SECONDS),
    ]


class DueJobs:
    """Handles the jobs that need nothing but the store and the service."""

    def __init__(self, core: Core) -> None:
        self._store, self._contexts, self._planned = core.store, core.contexts, core.signals.changed

    async def release(self, held: Job) -> None:
        """Post what was held until the end of the quiet hours."""
        if await self._store.outbox.release(held):
            self._planned()

    async def give_digest(self, job: Job) -> End | None:
        """Plan a digest that is due at its time and time zone; it is posted once."""
        if (due := await self._store.digests.due(job)) is None:
            return None
        context = self._contexts.at(job.workspace, BOT)
        card = await digest_card(context, length=due.days)
        if len(self._contexts.clients) > 1:
            card = with_workspace(card, workspace=job.workspace)
        if await self._store.digests.give(job, due, write_note(card)):
            self._planned()
        return None

    async def resume(self, timers: Sequence[Job]) -> Mapping[Job, End]:
        """Resume the sequences whose timed pause has ended; doing it twice does no harm, and is announced once."""
        context, turns = self._contexts.at(timers[0].workspace, BOT), asyncio.Semaphore(RESUMED_AT_ONCE)
        is_back: dict[Job, bool] = {}
        """Those that are over; False: the sequence is gone."""

        async def resume(timer: Job) -> None:
            async with turns:
                try:
                    # That it may be active already costs less than to ask.
                    if await self._set(timer.key, "active", context, firing=timer):
                        is_back[timer] = True
                except NotFound:  # a list without it may be wrong: only this is an answer about it
                    is_back[timer] = False
                except TimerReplaced:
                    pass  # a person or a guardrail has decided otherwise, or another process resumes it
                except (OutreachError, RecordsUnavailable) as error:
                    log.warning("sequence not resumed", sequence=timer.key, error=type(error).__name__)
                except Exception:  # one that fails must not stop the others
                    log.exception("sequence not resumed", sequence=timer.key)

        def tell(ours: Sequence[Job]) -> tuple[AuditEntry, PlannedPost | None]:
            """The announcement of all together: of one that was replaced meanwhile, nothing is said."""
            back = [timer for timer in ours if is_back[timer]]
            card = ended_card([timer.payload.get("name") or timer.key for timer in back])
            entry = AuditEntry(
                at=context.now(),
                actor=BOT,
                workspace=context.workspace.name,
                command="resume: the pause has run out",
                result=f"{card.title} ({', '.join(timer.key for timer in ours)})",
                effect="resumed",
                sequences=tuple(timer.key for timer in back),
            )
            first = min(ours, key=lambda timer: timer.id)
            post = PlannedPost(
                dedupe=f"note:resume:{first.id}:{timer_of(first).due_at.timestamp()}",
                channel=first.payload.get("channel") or context.workspace.alert_channel or "",
                kind=NOTE,
                note=write_note(card),
                condensed=True,
            )
            return entry, post if post.channel else None

        await asyncio.gather(*map(resume, timers))
        if is_back and await self._store.end_timers([*is_back], tell):
            self._planned()
        return {job: Again(after=RETRY_SECONDS) for job in timers if job not in is_back}

    async def _set(
        self, sequence: str, status: SequenceStatus, context: CommandContext, **which: Any
    ) -> bool:
        """Set the status of a sequence and leave its timer, as `begin` takes `which`; False: someone else changes it."""
        changes = self._store.changes
        change = await changes.begin(context.workspace.name, sequence, status=status, **which)
        if change is None:
            return False
        async with hold(change, changes) as held:
            held.is_sent = True
            await send_status(sequence, status, context)
        return True

    async def revert_late(self, late: Sequence[Job]) -> Mapping[Job, End]:
        """Have the confirmed status of sequences that a late request changed; until none can come any more."""
        workspace = late[0].workspace
        doubts = await self._store.changes.doubts(workspace, [job.key for job in late])
        confirmed = {name: status for name, status in doubts.items() if status}
        # It costs a request only while one that may come contradicts what was confirmed.
        statuses: Mapping[str, str | None] = {}
        if confirmed:
            try:
                listed = await self._contexts.clients[workspace].list_sequences()
                statuses = {sequence.id: sequence.status for sequence in listed}
            except OutreachError as error:
                log.warning("late requests not looked for", workspace=workspace, error=type(error).__name__)
        for sequence, status in confirmed.items():
            if statuses.get(sequence) not in {None, status}:
                await self._revert(sequence, status, self._contexts.at(workspace, BOT))
        return {job: Again(after=LATE_EVERY, attempts=0) if job.key in doubts else Done() for job in late}

    async def _revert(self, sequence: str, status: SequenceStatus, context: CommandContext) -> None:
        try:
            is_reverted = await self._set(sequence, status, context, if_confirmed=True)
        except OutreachError as error:
            log.warning("late request not reverted", sequence=sequence, error=type(error).__name__)
        else:
            if is_reverted:  # else someone changes it, or has changed it since
                log.warning("late request reverted", sequence=sequence, status=status)


def ended_card(names: Sequence[str]) -> Card:
    """The end of pauses that no message of the bot tells of: of a shell, or of sequences that are gone."""
    short = sorted(clip_name(name) for name in names)
    if not short:
        return warning("The sequences were deleted before their pause ended")
    if len(short) == 1:
        return Card(f"▶ {short[0]} is sending again")
    title = f"▶ {show_number(len(short), 'sequence')} are sending again"
    return Card(title, text=(show_some(short, MOST_NAMES),))


# -- reminders of replies that are unclaimed or not done and of domains that nobody acknowledged, and turns

# Each reply gets one reminder and one escalation. What is posted is planned in the transaction that marks it as said;
# the texts are written here.

TOGETHER = 5
"""More reminders than this in one channel at once become one message."""
SUMMARY_SECONDS = 900.0
"""Seconds between two such messages; `replies` lists replies in between."""
MOST_REMINDED = 5


@frozen
class Words:
    """A kind of reminder: its post and its card. Its texts have the values of `reminder_card`."""

    kind: str
    title: str
    text: str
    tone: Tone = Tone.WARN
    button: str = "claim"
    person: Literal["", "claimed_by", "snoozed_by"] = ""
    """The person of the alert whom it is for."""
    many: str = ""
    """The end of the title of a message that stands for several; empty: each is a message of its own, however many there are."""


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
    UNFINISHED: Words(
        kind=UNFINISHED,
        title="Claimed but not done: {who}",
        text="@{claimer} claimed this {claimed} ago. Mark it done, or release it on its card.",
        button="done",
        person="claimed_by",
        many="claimed but not done",
    ),
    BACK: Words(
        kind="back",
        title="Snooze ended: {who}",
        text="@{by} snoozed this reply until now. It is unclaimed.",
        tone=Tone.GOOD,
        person="snoozed_by",
    ),
    ASKED: Words(
        kind=UNFINISHED,
        title="Reminder: {who}",
        text="@{by} asked to be reminded of this reply.",
        button="done",
        person="snoozed_by",
    ),
    UNACKNOWLEDGED: Words(
        kind=UNACKNOWLEDGED,
        title="{domain} has been paused for {waited}",
        text="Not acknowledged yet.",
        tone=Tone.BAD,
        button=ACK,
    ),
    TURN: Words(kind=TURN, title="{turn} turn: {who}", text="{missed}", many="passed on"),
}


class Reminders:
    """Handles jobs of the kind `remind`: each looks at one open alert; each reminder is sent once."""

    def __init__(self, core: Core) -> None:
        self._store, self._policy, self._routes = core.store, core.settings.alerts, core.routes
        self._planned, self._cards = core.signals.changed, core.contexts.cards
        self._words = ReminderWords(
            times=times_of(self._policy), plan=self._plan, candidates=self._candidates
        )

    async def __call__(self, claimed: Sequence[Job]) -> Mapping[Job, End]:
        """Plan what is due; the jobs end in the same transaction. Raises `RecordsUnavailable`."""
        if await self._store.alerts.remind(claimed, self._words):
            self._planned()
        return {}

    def _plan(self, due: Sequence[Due], now: float) -> list[tuple[str, PlannedPost]]:
        """The messages to come, with their workspaces. Pure."""
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
            groups[reminder.alert.workspace, reminder.channel, reminder.what].append(reminder)
        planned: list[tuple[str, PlannedPost]] = []
        for (workspace, _, what), group in groups.items():
            messages = [self._post(reminder, now=now) for reminder in group]
            is_one = len(group) > TOGETHER or any(reminder.bundled for reminder in group)
            if is_one and _WORDS[what].many:
                messages = [_together(group, messages, now=now)]
            planned += [(workspace, message) for message in messages]
        return planned

    def _post(self, due: Due, *, now: float) -> PlannedPost:
        quiet_until = self._routes.routing.channel_policy(due.channel).quiet_until(now)
        return PlannedPost(
            dedupe=f"{due.alert.id}:{due.channel}:{due.what}:{due.round}",
            channel=due.channel,
            kind=_WORDS[due.what].kind,
            urgency=INCIDENT if due.what == UNACKNOWLEDGED else 0,
            note=write_note(reminder_card(due, now=now, cards=self._cards)),
            condensed=due.what != "escalate",
            mention=self._mention(due, is_quiet=quiet_until is not None),
            # Those to claimers wait until quiet hours end.
            held_until=quiet_until if due.what == UNFINISHED else None,
            alert_id=due.alert.id,
        )

    def _mention(self, due: Due, *, is_quiet: bool) -> str:
        """Whom to mention: the claimer, or who asked; otherwise no one during the channel's quiet hours."""
        routing, alert = self._routes.routing, due.alert
        if field := _WORDS[due.what].person:
            person = getattr(alert, field)
            return person if is_user(person) else ""
        if is_quiet:
            return ""
        if due.candidates:
            return alert.owner or due.candidates.group
        usual = due.mention
        if due.what == "escalate":
            usual = self._policy.escalate_mention or ("" if alert.rota in routing.rotas else usual)
        return usual or routing.channel_policy(due.channel).mention

    def _candidates(self, alert: Alert, now: float) -> Candidates | None:
        """The people who may get the next turn; None where the rota isn't in the settings any more. Pure."""
        rota = self._routes.routing.rotas.get(alert.rota)
        return self._routes.candidates(rota, rota.name, now) if rota else None


def times_of(policy: AlertPolicy) -> ReminderTimes:
    lengths = {
        "remind": policy.remind_after,
        "escalate": policy.escalate_after,
        "unfinished": policy.unfinished_after,
    }
    return ReminderTimes(
        **{name: length.total_seconds() for name, length in lengths.items() if length is not None}
    )


def _together(group: Sequence[Due], messages: Sequence[PlannedPost], *, now: float) -> PlannedPost:
    """One message instead of several of a kind in a channel."""
    first = group[0]
    # Planned once for each key: the next summary of the same quarter of an hour would say nothing new.
    key = f"{now // SUMMARY_SECONDS:.0f}"
    if first.what == TURN:  # each is news
        key = f"{first.alert.id}:{now:.0f}"
    return replace(
        messages[0],
        dedupe=f"{first.what}:{first.alert.workspace}:{first.channel}:{key}",
        kind=NOTE,
        note=write_note(summary_card(group, now=now)),
        mention=" ".join(dict.fromkeys(filter(None, (message.mention for message in messages)))),
        alert_id="",
    )


def reminder_card(due: Due, *, now: float, cards: CardSettings) -> Card:
    """The card of one reminder; an escalation is the whole card, for it may be in a channel that doesn't have it."""
    alert, words = due.alert, _WORDS[due.what]
    values = {
        "who": "A lead" if alert.is_pruned else about(alert.event),
        "domain": clip(alert.domain or "A domain"),
        "waited": span(alert.received_at, now),
        "claimed": span(alert.claimed_at or alert.received_at, now),
        "claimer": alert.claimed_name,
        "by": alert.snoozed_name,
    }
    if due.candidates:
        waited = show_span(timedelta(seconds=due.candidates.pass_after or 0.0))
        missed = f"@{due.missed_by} didn't claim it in {waited}."
        values["missed"] = missed if due.missed_by else "It is unclaimed again."
        values["turn"] = f"@{alert.owner_name or alert.owner}'s" if alert.owner else "Anyone's"
    title, text = words.title.format(**values), words.text.format(**values)
    if due.what == "escalate":
        whole = reply_card(cards.on_card(alert))
        return replace(whole, title=title, tone=words.tone, text=(text,))
    return asking_card(title, text, alert.id, verb=words.button, tone=words.tone)


def summary_card(group: Sequence[Due], *, now: float) -> Card:
    """Several replies in one message."""
    words = _WORDS[group[0].what]
    names = [about(reminder.alert.event) for reminder in group if not reminder.alert.is_pruned]
    waited = span(min(reminder.alert.received_at for reminder in group), now)
    unclaimed = (Button("Show unclaimed", Replies()),)
    return Card(
        f"{show_number(len(group), 'interested reply')} {words.many}",
        tone=words.tone,
        text=(show_some(names, MOST_REMINDED), f"The oldest arrived {waited} ago."),
        buttons=unclaimed if words.button == "claim" else (),
    )
