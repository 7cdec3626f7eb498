"""Evaluates guardrails, and notifies, suggests or pauses once per incident across all processes.

A pause is decided in the database, and completed there together with its message. A process can die at any point, and a
request's outcome can be unknown. Who has the job next reads which pauses were asked of the service and how the sequences
stand, and asks again, which is safe because pausing twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from typing import Literal

import structlog

from bot.cards import write_note
from bot.core import Core
from bot.runtime import visit
from bot.slack.permissions import Standing
from shared.api.client import OutreachClient
from shared.api.errors import NotFound, OutreachError, RateLimited, Refused, Unreachable
from shared.api.models import Inbox, StatsRow
from shared.api.models import Sequence as Campaign
from shared.commands.base import ALL as ALL_SEQUENCES
from shared.commands.base import DOMAIN, CommandContext
from shared.commands.guardrails import Guard
from shared.commands.hold import Busy, change_status
from shared.commands.pause import Pause, SetStatus, Target
from shared.commands.rules import load_activity
from shared.commands.run import with_workspace
from shared.commands.sequences import read_pauses
from shared.commands.times import End as PauseEnd
from shared.domain.card import Button, Card, Fact, Tone
from shared.domain.event_kinds import TROUBLES
from shared.domain.evidence import totals
from shared.domain.snapshot import service_day
from shared.domain.wall_clock import DAY, moment
from shared.guardrails.activity import HORIZON, Activity, domain_of
from shared.guardrails.evaluate import CLEAR_SECONDS, Finding, doubt, holding, is_on, spans_of
from shared.guardrails.rule import EVENT_OF, Action, NamedRule, Scope, catalog, parse, subject_key
from shared.records import (
    ALL,
    CLOSED,
    HEALTH,
    POLL,
    UNDER_WAY,
    Actor,
    AuditEntry,
    Before,
    CountSample,
    Incident,
    RuleFinding,
    day_of,
    number_of,
)
from shared.store import Store
from shared.store.guardrails import HELD_EVERY
from shared.store.jobs import Again, Done, End, Job
from shared.store.messages import INCIDENT, PlannedPost
from shared.text.formats import clip, clip_name, show_number, show_some

RETRY_SECONDS = 5.0
ATTEMPTS = 20
TOO_LATE_SECONDS = 3600.0
"""The age at which a decision that nobody began to carry out is void."""
MOST_NAMES = 5
TURNED_OFF = "Guardrails were turned off before it had paused everything."
TOO_LATE = "The bot was down for more than an hour: the decision was too old."
_LIMITS = {
    "per day": "the rule has reached its limit of {rule.per_day} a day",
    "at once": "the rule already keeps as many sequences paused as it may ({rule.at_once})",
}

EVERY, SAMPLED_EVERY = 30.0, 300.0
"""Seconds between two evaluations, and between two readings of counts and health: four requests each."""
BACKFILL = 30
"""Days whose whole counts are read once, so that rules and backtests know a past."""
DAYS_READ_AT_ONCE = 10
"""Days that one reading fills in: two requests each."""
RELOAD_SECONDS = 3600.0
"""Seconds between two readings of everything, which also forget what is old."""
OVERLAP_SECONDS = 1800.0
"""Deliveries are read again for so long: some are routed later than they came."""
LATE_SECONDS = 300.0
"""Counts are stored so long after the moment that they are of, at most."""
NEVER = float("-inf")

Names = Mapping[Literal["sequence", "inbox"], Mapping[str, str]]
"""The names of sequences and the addresses of inboxes, by their ids."""
Watch = Callable[[str, Sequence[Inbox]], Awaitable[None]]

log = structlog.get_logger("guardrails")


@dataclass(slots=True, kw_only=True)
class Progress:
    """The progress of an act, by the ids of sequences; errors by their labels."""

    job: Job
    incident: Incident
    asked: list[str]
    """The sequences whose pause was asked of the service: only these can be paused by the rule."""
    paused: dict[str, Before] = field(default_factory=dict)
    """The former states of the sequences that it paused, for Undo."""
    failed: dict[str, OutreachError] = field(default_factory=dict)
    why: str = ""
    """The reason for which it isn't carried out any further."""


@dataclass(slots=True)
class Account:
    """The data of one workspace, as far as this process has read it."""

    activity: Activity = field(default_factory=Activity)
    sequences: tuple[Campaign, ...] = ()
    loaded_at: float = NEVER
    """The time of the last reading of everything; `NEVER` has everything read again."""
    read_until: float = NEVER
    spans: frozenset[float] = frozenset()
    """The ages at which windows of the rules begin: around these, every count was loaded."""


async def refresh(account: Account, store: Store, workspace: str, *, spans: frozenset[float]) -> None:
    """Read what came since the last look; once an hour, or where a rule looks further back, read everything."""
    now, guardrails = store.database.clock(), store.guardrails
    # What came while other bots evaluated is read again as far back as deliveries may be routed late.
    is_recent = 0 <= now - account.read_until < OVERLAP_SECONDS / 2
    if is_recent and 0 <= now - account.loaded_at < RELOAD_SECONDS and spans <= account.spans:
        since = now - OVERLAP_SECONDS
        account.activity.forget(since)
        happenings = await guardrails.happenings(workspace, since)
        samples = await guardrails.samples(workspace, account.read_until - LATE_SECONDS)
        await asyncio.to_thread(account.activity.add, happenings, samples)
        account.activity.saw_broken(now, await store.domains.broken(workspace))
    else:
        # The old one goes first, so that there is memory for one only. A reading that fails is begun again.
        account.activity, account.loaded_at, account.read_until = Activity(), now, NEVER
        account.activity, account.spans = await load_activity(store, workspace, now, spans), spans
    if account.activity.heard_since == float("inf"):
        account.activity.heard_since = await guardrails.heard_since(workspace) or float("inf")
    account.read_until = now


class Guardrails:
    """Handles jobs of the kinds `evaluate` and `act`; each incident is handled and reported once, whoever evaluates.

    `sample` reads what rules are asked about, and has `watch` note each workspace's inboxes.
    """

    def __init__(self, core: Core, watch: Watch | None = None) -> None:
        self.store, self._contexts, self._planned = core.store, core.contexts, core.signals.changed
        self._directory, self._watch = core.directory, watch
        self._written: dict[tuple[str, str, str], CountSample] = {}
        """The last sample of each subject that this process has stored: only what differs is stored again."""
        self.accounts: Mapping[str, Account] = {name: Account() for name in core.contexts.clients}
        # The first sentence loads the grammar, which takes a tenth of a second: do it before the loop serves anyone.
        catalog({}, ())

    async def evaluate(self, job: Job) -> End:
        """Evaluate every rule of a workspace. Raises `RecordsUnavailable`."""
        workspace = job.workspace
        store, account = self.store, self.accounts[workspace]
        stored = await store.guardrails.rules(workspace)
        switches = await store.guardrails.switches(workspace)
        rules = catalog(self._contexts.settings.guardrails(workspace), stored)
        # Those that are off too: turning one on must not have everything read again.
        spans = spans_of(named.rule for named in rules.values())
        await refresh(account, store, workspace, spans=spans)
        now = store.database.clock()
        off = {switch.rule for switch in switches if is_on(switch, now=now)}
        on = [rule for name, rule in rules.items() if not off & {name, ALL}]
        known = {(one.rule, one.subject) for one in await store.incidents.open(workspace)}
        held = set()
        for named in on:
            findings = await asyncio.to_thread(holding, named.rule, account.activity, now=now)
            # A notice may be wrong, a pause must not be.
            is_act = named.rule.action is Action.ACT
            may_fire = not (is_act and doubt(named.rule, account.activity, now=now))
            for finding in findings:
                place = (named.name, finding.subject)
                held.add(place)
                if may_fire and place not in known:
                    await self._fire(workspace, named, finding)
        await self._settle(workspace, held)
        return Again(after=EVERY, attempts=0)

    async def _fire(self, workspace: str, named: NamedRule, finding: Finding) -> None:
        """Pause, suggest or notify, as the rule says and as far as it may."""
        rule = named.rule
        about = RuleFinding(
            workspace=workspace, rule=named.name, sentence=str(rule), action=rule.action, **asdict(finding)
        )
        if rule.action is not Action.TELL and _are_paused(await self._sequences_about(about)):
            return  # nothing is left to pause: it fires when one of the sequences is sending again
        if rule.action is Action.ACT:
            why = await self._not_permitted(workspace, named) or await self.act(about)
            if not why:
                return
            about = replace(about, action=Action.SUGGEST, note=f"{about.note}. Only a suggestion: {why}")
        else:
            about = replace(about, domain=await self._domain_of(about))
        now = self.store.database.clock()
        key = f"guard:{workspace}:{named.name}:{finding.subject}:{now:.0f}"
        post = self._post(workspace, key, await self._card(about))
        quiet = self._contexts.settings.routes.channel_policy(post.channel).quiet_until(now)
        post = replace(post, urgency=INCIDENT if about.domain else post.urgency, held_until=quiet)
        if not await self.store.incidents.begin(about, post):
            log.info("guardrail fired", workspace=workspace, rule=named.name, action=str(about.action))
            self._planned()

    async def _not_permitted(self, workspace: str, named: NamedRule) -> str:
        """Why the rule may not act in the name of who added it.

        Where Slack does not say who it is, what held when the rule was added holds.
        """
        person = await self._directory.find(named.added_by) if named.added_by else None
        if person is None or not person.is_known:
            return ""
        rules, channel = self._contexts.settings.roles, self._place(workspace)
        standing = Standing(person=person, rules=rules, channel=channel)
        if standing.may("pause") and not person.is_deleted:
            return ""
        return f"@{named.added_name}, who added the rule, no longer has permission to pause sequences"

    async def _domain_of(self, about: RuleFinding) -> str:
        """The domain whose trouble the finding is, which is told once; empty: the finding is told by itself."""
        rule = parse(about.sentence)
        kind = EVENT_OF.get(rule.condition.metric)
        if rule.scope is Scope.DOMAIN:
            return about.subject
        if rule.scope is Scope.INBOX:
            return domain_of(about.subject)
        if rule.scope is not Scope.SEQUENCE or kind not in TROUBLES:
            return ""
        since = self.store.database.clock() - rule.condition.window.total_seconds()
        senders = await self.store.guardrails.senders(about.workspace, since, [kind])
        # The one from which at least half of the sequence's came.
        mine = {domain: count for (name, domain), count in senders.items() if name == about.subject}
        most = max(mine, key=mine.__getitem__, default="")
        return most if mine.get(most, 0) * 2 >= sum(mine.values()) else ""

    async def _card(self, about: RuleFinding) -> Card:
        """The card of a finding, as things stand now."""
        return finding_card(about, await self._sequences_about(about))

    async def _settle(self, workspace: str, held: Collection[tuple[str, str]]) -> None:
        """Note what still holds, have each message say how its findings are now, and end what is over."""
        now, incidents = self.store.database.clock(), self.store.incidents
        open_ = await incidents.open(workspace)
        lasting = [one for one in open_ if (one.rule, one.subject) in held]
        noted = [one.id for one in lasting if now - one.held_at > HELD_EVERY]
        quiet = [one for one in open_ if one not in lasting and now - one.held_at > CLEAR_SECONDS]
        over = [one.id for one in quiet if one.state != "decided"]
        told: defaultdict[str, list[Incident]] = defaultdict(list)
        for incident in open_:
            if incident.told:
                told[incident.told].append(incident)
        for about in told.values():
            first, left = about[0], [one for one in about if one.id not in over]
            card = over_card(about[-1])
            if left:
                card = together_card([(one, await self._card(one)) for one in left])
            pointer = Card(f"Guardrails on {clip(first.domain)}: see the card of its pause")
            note, moved = self._note(workspace, card), self._note(workspace, pointer)
            # The message before the end: a process that dies in between does both again.
            if await incidents.retell(first, note, moved=moved):
                self._planned()
        await incidents.held(noted)
        await incidents.end(over)

    async def sample(self) -> None:
        """Read the counts of every workspace; one that fails is read next time. Raises `RecordsUnavailable`.

        Several processes can, and write the same rows.
        """
        await visit(self._contexts.clients, self._sample, failed="counts not read")

    async def _sample(self, workspace: str) -> None:
        client = self._contexts.clients[workspace]
        sequences, inboxes = await asyncio.gather(client.list_sequences(), client.list_inboxes())
        if self._watch:
            await self._watch(workspace, inboxes)
        at = self.store.database.clock()
        day = number_of(service_day(client, now=moment(at)))
        names: Names = {
            "sequence": {one.id: one.label for one in sequences},
            "inbox": {one.id: one.email.casefold() for one in inboxes if one.id},
        }
        samples = await _read_day(client, day, names, at=at)
        for inbox in inboxes:
            if (health := inbox.health_score) is not None:
                key = inbox.email.casefold()
                samples.append(CountSample(scope=HEALTH, key=key, day=day, at=at, health=health))
        new = [one for one in samples if self._is_new(workspace, one)]
        poll = CountSample(scope=POLL, key="", day=day, at=at)
        await self.store.guardrails.keep(workspace, [*new, poll])
        self.accounts[workspace].sequences = sequences
        await self._fill_in(workspace, day, names)

    def _is_new(self, workspace: str, sample: CountSample) -> bool:
        """True for what has changed since this process wrote it last; a score lasts from one day to the next."""
        place = (workspace, sample.scope, sample.key)
        last = self._written.get(place)
        self._written[place] = sample
        day = last.day if last and sample.scope == HEALTH else sample.day
        return last is None or replace(sample, at=last.at, day=day) != last

    async def _fill_in(self, workspace: str, today: int, names: Names) -> None:
        """The whole counts of days that are over, the newest first."""
        closed = await self.store.guardrails.closed_days(workspace)
        missing = [day for day in range(today - 1, today - 1 - BACKFILL, -1) if day not in closed]
        for day in missing[:DAYS_READ_AT_ONCE]:
            at = (day + 1) * DAY - 1
            client = self._contexts.clients[workspace]
            samples = await _read_day(client, day, names, at=at)
            closing = CountSample(scope=CLOSED, key="", day=day, at=at)
            await self.store.guardrails.keep(workspace, [*samples, closing])
            self.accounts[workspace].loaded_at = NEVER

    # -- pauses

    async def _sequences_about(
        self, about: RuleFinding, listed: Sequence[Campaign] | None = None
    ) -> Sequence[Campaign]:
        """The sequences that a finding is about, of those listed or last read; of a domain those with most events first."""
        sequences = self.accounts[about.workspace].sequences if listed is None else listed
        scope = parse(about.sentence).scope
        if scope is Scope.SEQUENCE:
            return [one for one in sequences if subject_key(one.label) == about.subject]
        if scope is not Scope.DOMAIN:
            return sequences
        # The service does not tell who sends from a domain: those are, whose deliveries named it.
        since = self.store.database.clock() - HORIZON
        senders = await self.store.guardrails.senders(about.workspace, since, [*EVENT_OF.values()])
        counts = {sequence: count for (sequence, domain), count in senders.items() if domain == about.subject}
        named = [one for one in sequences if subject_key(one.label) in counts]
        return sorted(named, key=lambda one: -counts[subject_key(one.label)])

    async def act(self, finding: RuleFinding) -> str:
        """Decide to pause the finding's sequences; returns the reason if a suggestion is due instead."""
        rule, workspace = parse(finding.sentence), finding.workspace
        listed: Sequence[Campaign] = ()
        why = "an empty list of sequences"  # one isn't a fact
        try:
            listed = await self._contexts.clients[workspace].list_sequences()
        except OutreachError as error:
            why = type(error).__name__
        if not listed:
            log.warning("nothing paused", workspace=workspace, error=why)
            return ""  # nothing was decided: the next check tries again
        about = await self._sequences_about(finding, listed)
        active = [one for one in about if one.status == "active" and not rule.excepts(one.label)]
        if rule.scope is Scope.SEQUENCE and len(active) > 1:
            return "several active sequences share this name"
        if not active:
            which = "has this name" if rule.scope is Scope.SEQUENCE else "is known to send from there"
            return f"no active sequence {which}"
        now, most = self.store.database.clock(), rule.at_once or len(active)
        finding = replace(
            finding,
            sequences=tuple(one.id for one in active[:most]),
            resumes_at=now + rule.duration.total_seconds() if rule.duration else None,
        )
        refusal = await self.store.incidents.begin(
            finding,
            left=[one.label for one in active[most:]],
            paused_now={one.id for one in listed if one.status == "paused"},
        )
        if refusal:
            return _LIMITS.get(refusal, "").format(rule=rule)
        log.info("guardrail acts", workspace=workspace, rule=finding.rule, sequences=finding.sequences)
        self._planned()
        return ""

    async def carry_out(self, job: Job) -> End | None:
        """Carry out what was decided, or go on with what was interrupted."""
        incident = await self.store.incidents.decided(job)
        if incident is None:
            return Done()
        progress = Progress(job=job, incident=incident, asked=[*job.payload.get("asked", ())])
        if not progress.asked and self.store.database.clock() - incident.began_at > TOO_LATE_SECONDS:
            progress.why = TOO_LATE
        else:
            try:
                await self._pause_all(progress)
            except OutreachError as error:
                progress.failed[incident.label] = error
        if progress.failed and progress.why != TURNED_OFF:
            first = next(iter(progress.failed.values()))
            log.warning("pause not proven", rule=incident.rule, error=type(first).__name__)
            if job.attempts < ATTEMPTS:
                await self.store.incidents.asking(job, incident, progress.asked)
                return Again(after=RETRY_SECONDS)
            doubt = " `sequences paused` shows what it may have paused." if progress.asked else ""
            progress.why = f"The service did not confirm the pause: {first}{doubt}"
        await self._finish(progress)
        return None  # it was ended with the outcome

    async def _pause_all(self, progress: Progress) -> None:
        """Pause each that is active. One that is paused is the rule's only if the rule asked for it before."""
        incident = progress.incident
        actor = replace(actor_of(incident), channel=self._place(incident.workspace))
        context = self._contexts.at(incident.workspace, actor)
        known = await read_pauses(context)
        listed = {one.id: one for one in await context.client.list_sequences()}
        changes = await self.store.last_changes(incident.workspace, incident.sequences)
        began = moment(incident.began_at)
        resumed = {name for name, one in changes.items() if one.effect == "resumed" and one.at > began}
        for name in incident.sequences:
            if name in resumed:  # the rule doesn't insist
                continue
            # A list without it may be wrong: only the service's 404 says that it is gone.
            label = incident.label if len(incident.sequences) == 1 else name
            target = Target(id=name, label=label, status="active")
            if name in listed:
                target = Target.listed(listed[name], known)
            if target.status == "active":
                await self._pause(progress, target, context)
            elif name in progress.asked:
                revision = None if target.revision == UNDER_WAY else target.revision
                progress.paused[name] = Before(
                    label=target.label, status="active", revision=revision, new_end=incident.resumes_at
                )
        if resumed and not (progress.paused or progress.why):
            progress.why = "Someone resumed it after the rule fired."

    async def _pause(self, progress: Progress, target: Target, context: CommandContext) -> None:
        """Pause one, after it was written down that this is asked of the service: a process may die in between."""
        incident, asked = progress.incident, [*progress.asked, target.id]
        if not await self.store.incidents.asking(progress.job, incident, asked):
            progress.why = TURNED_OFF
            return
        end, reason = moment(incident.resumes_at), f"guardrail {incident.rule}"
        try:
            act = SetStatus(status="paused", until=end, reason=reason, keep_longer=True)
            done = await change_status(target, act, context)
        except OutreachError as error:  # the others are still paused
            if not isinstance(error, (Refused, RateLimited, Unreachable, Busy)):  # it may be paused by us
                progress.asked = asked
            if not isinstance(error, NotFound):
                progress.failed[target.label] = error
            return
        if done.before:  # else someone else has paused it
            progress.asked = asked
            progress.paused[target.id] = done.before

    async def _finish(self, progress: Progress) -> None:
        """Write audit, Undo and message together; only the first process does."""
        incident, paused, why = progress.incident, progress.paused, progress.why
        if paused:
            labels = [before.label for before in paused.values()]
            left, cut = progress.job.payload.get("left", ()), why if why == TURNED_OFF else ""
            card = paused_card(incident, labels, left=left, failed=tuple(progress.failed), cut=cut)
            result = f"{', '.join(f'{before.label} ({name})' for name, before in paused.items())} paused"
        else:
            why = why or "Someone else had already paused it."
            title, result = f"didn't pause {clip(incident.label)}", f"failed: {why}"
            card = _card(incident, title, why, failure=bool(progress.failed))
        entry = AuditEntry(
            at=moment(self.store.database.clock()),
            actor=actor_of(incident),
            workspace=incident.workspace,
            command=f"pause: {incident.sentence}",
            result=result,
            effect="paused" if paused else "failed",
            sequences=tuple(paused),
            undoable=paused,
        )
        post = self._post(incident.workspace, f"guard:{incident.id}", card)
        if await self.store.incidents.finish(progress.job, incident, entry, post):
            self._planned()

    def _place(self, workspace: str) -> str:
        """The channel for the message; empty if there is none."""
        settings = self._contexts.settings
        return settings.workspace(workspace).alert_channel or settings.routes.fallback or ""

    def _note(self, workspace: str, card: Card) -> str:
        """The card for the store; it names its workspace where there are several."""
        if len(self._contexts.clients) > 1:
            card = replace(with_workspace(card, workspace=workspace), footer=workspace)
        return write_note(card)

    def _post(self, workspace: str, key: str, card: Card) -> PlannedPost:
        """The message of a guardrail, in the workspace's channel."""
        channel, note = self._place(workspace), self._note(workspace, card)
        return PlannedPost(dedupe=key, channel=channel, kind="note", note=note)


def _are_paused(sequences: Sequence[Campaign]) -> bool:
    return bool(sequences) and all(one.status == "paused" for one in sequences)


async def _read_day(client: OutreachClient, day: int, names: Names, *, at: float) -> list[CountSample]:
    """The counts of a service day, by name, as deliveries have no other."""
    on = day_of(day)
    answers = await asyncio.gather(*(client.stats(group_by=scope, start=on, end=on) for scope in names))
    samples = []
    for (scope, labels), rows in zip(names.items(), answers, strict=True):
        # Names that people can't tell apart are one subject.
        same: defaultdict[str, list[StatsRow]] = defaultdict(list)
        for row in rows:
            same[subject_key(labels.get(row.group, row.group))].append(row)
        for group in same.values():
            # A count that one of several rows doesn't have is unknown.
            sums = totals(group)
            sample = CountSample(
                scope=scope,
                key=labels.get(group[0].group, group[0].group),
                day=day,
                at=at,
                sends=sums.sends,
                replies=sums.replies,
                positive=sums.positive_replies,
            )
            samples.append(sample)
    return samples


# -- cards


def actor_of(about: RuleFinding) -> Actor:
    """The name of a rule in the audit."""
    return Actor(name=f"guardrail {about.rule}", face="bot")


def _card(
    about: RuleFinding, title: str, *text: str, button: Button | None = None, failure: bool = False
) -> Card:
    """A card about a rule: what was measured, and in its menu what keeps the rule quiet."""
    name, day = about.rule, timedelta(days=1)
    quiet = {
        "Turn off for 24 h": Guard(act="off", name=name, duration=day),
        "Turn rule off": Guard(act="off", name=name),
        "Test the rule": Guard(act="test", name=name),
    }
    menu = [Button(label, act, menu=True) for label, act in quiet.items()]
    return Card(
        f"Guardrail {name} {title}",
        tone=Tone.BAD if failure else Tone.WARN,
        failure=failure,
        text=(_sentence(about.note), *text),
        facts=(Fact("Rule", about.sentence),),
        buttons=(*([button] if button else ()), *menu),
    )


def _sentence(note: str) -> str:
    """A note or a reason, as a sentence."""
    return f"{note[:1].upper()}{note[1:]}."


def paused_card(
    incident: Incident, names: Sequence[str], *, left: Sequence[str], failed: Sequence[str], cut: str
) -> Card:
    """The card of a rule that paused these; its title is that of the change, which says how they are now."""

    def listed(lead: str, labels: Sequence[str]) -> str:
        some = show_some([clip_name(label) for label in labels], MOST_NAMES)
        return f"{lead}{some}." if labels else ""

    return _card(
        incident,
        f"paused {clip(names[0]) if len(names) == 1 else show_number(len(names), 'sequence')}",
        listed("", names if len(names) > 1 else ()),
        listed("Left running because of the rule's limit: ", left),
        listed("Not paused because the service refused: ", failed),
        cut,
    )


def finding_card(about: RuleFinding, sequences: Sequence[Campaign]) -> Card:
    """The card of a rule that suggests a pause or notifies, as the sequences stand that it is about.

    It offers no pause while everything is paused.
    """
    rule = parse(about.sentence)
    is_whole = rule.scope is Scope.WORKSPACE
    what = "all sequences" if is_whole else f"{rule.scope} {clip(about.label)}"
    title, end = f"suggests pausing {what}", PauseEnd(duration=rule.duration)
    if rule.action is Action.TELL:
        title, end = f"fired for {what}", PauseEnd()
        if rule.scope is not Scope.DOMAIN:
            return _card(about, title)
    if _are_paused(sequences):
        return _card(about, f"fired: {what} {'are' if is_whole else 'is'} paused")
    named = sequences[0].id if len(sequences) == 1 else about.label
    domain = f"{DOMAIN}{about.label.casefold()}"
    target = {Scope.WORKSPACE: ALL_SEQUENCES, Scope.DOMAIN: domain}.get(rule.scope, named)
    pause = Pause(target=(target,), end=end, reason=f"guardrail {about.rule}")
    return _card(about, title, button=Button(f"Pause {rule.scope}", pause, tone=Tone.BAD))


def together_card(cards: Sequence[tuple[Incident, Card]]) -> Card:
    """All that rules found on one domain, on the card of the first that suggests a pause, or else of the first."""
    first, card = min(cards, key=lambda pair: pair[0].action != Action.SUGGEST)
    more = [
        f"{other.rule} on {clip(other.label)}: {_sentence(other.note)}"
        for other, _ in cards
        if other is not first
    ]
    return replace(card, text=(*card.text, *more))


def over_card(incident: Incident) -> Card:
    """The card of a finding that has ended."""
    title = f"{clip(incident.label)} is back within the limit of guardrail {incident.rule}"
    return Card(title, tone=Tone.GOOD, text=(f"It was: {incident.note}.",))
