"""Carries out the pauses of guardrails: decided in the database, and completed there together with their message.

A process can die at any point, and a request's outcome can be unknown. Who has the job next reads which pauses were
asked of the service and how the sequences stand, and asks again, which is safe because pausing twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from bot.alerts.rendering import write_note
from bot.commands.context import CommandContexts
from bot.guardrails import cards
from shared.api.errors import NotFound, OutreachError, RateLimited, Refused, Unreachable
from shared.api.models import Sequence as Campaign
from shared.commands.hold import Busy, change_status, ends_earlier, read_revisions, read_timers, target_of
from shared.commands.pause import Target
from shared.commands.run import CommandContext, with_workspace
from shared.domain.card import Card
from shared.domain.wall_clock import moment
from shared.guardrails.activity import HORIZON
from shared.guardrails.rule import Rule, Scope, subject_key
from shared.records.audit import Actor, AuditEntry, Before
from shared.records.guardrails import Incident
from shared.records.sequence_changes import UNDER_WAY
from shared.store import Store
from shared.store.guardrails import Claim
from shared.store.jobs import Again, Done, End, Job
from shared.store.messages import PlannedPost

RETRY_SECONDS = 5.0
ATTEMPTS = 20
TOO_LATE_SECONDS = 3600.0
"""The age at which a decision that nobody began to carry out is void."""

TURNED_OFF = "Guardrails were turned off before it had paused everything."
TOO_LATE = "The bot was down for more than an hour: the decision was too old."
_LIMITS = {
    "per day": "Only a suggestion: the rule has reached its limit of {rule.per_day} a day.",
    "at once": "Only a suggestion: the rule already keeps as many sequences paused as it may ({rule.at_once}).",
}

log = structlog.get_logger("guardrails")


@dataclass(slots=True, kw_only=True)
class Progress:
    """The progress of an act: labels of sequences by their ids, and errors by the labels of the others."""

    job: Job
    incident: Incident
    asked: list[str]
    """The sequences whose pause was asked of the service: only these can be paused by the rule."""
    paused: dict[str, str] = field(default_factory=dict)
    extended: dict[str, str] = field(default_factory=dict)
    """The sequences that were paused until earlier."""
    failed: dict[str, OutreachError] = field(default_factory=dict)
    undoable: dict[str, Before] = field(default_factory=dict)
    """The former states of the sequences that it changed."""
    why: str = ""
    """The reason for which it isn't carried out any further."""


class GuardrailActs:
    """`act` decides on a claim; called with jobs of the kind `act`, it carries out what was decided."""

    def __init__(self, store: Store, contexts: CommandContexts, *, planned: Callable[[], None]) -> None:
        self.store, self._contexts, self._planned = store, contexts, planned

    async def act(self, claim: Claim, rule: Rule) -> str:
        """Decide to pause the claim's sequences; returns the reason if a suggestion is due instead."""
        now = self.store.database.clock()
        resumes_at = now + rule.duration.total_seconds() if rule.duration else None
        context = self._context(claim)
        earlier = await _ending_earlier(context, resumes_at)
        try:
            listed = await context.client.list_sequences()
        except OutreachError as error:
            log.warning("nothing paused", workspace=claim.workspace, error=type(error).__name__)
            return ""  # nothing was decided: the next check tries again
        if not listed:  # an empty list may be wrong
            log.warning("nothing paused", workspace=claim.workspace, error="an empty list of sequences")
            return ""
        able = [one for one in listed if not rule.excepts(one.label)]
        active = await self._in_scope(claim, rule, [one for one in able if one.status == "active"])
        paused = [one for one in able if one.status == "paused" and one.id in earlier]
        # A rule about more than one sequence makes shorter pauses last as long as its own.
        timed = [] if rule.scope is Scope.SEQUENCE else await self._in_scope(claim, rule, paused)
        if rule.scope is Scope.SEQUENCE and len(active) > 1:
            return "Only a suggestion: several active sequences share this name."
        if not (active or timed):
            which = "has this name" if rule.scope is Scope.SEQUENCE else "is known to send from there"
            return f"Only a suggestion: no active sequence {which}."
        most = rule.at_once or len(active)
        claim = replace(
            claim,
            sequences=tuple(one.id for one in active[:most]),
            extended=tuple(one.id for one in timed),
            resumes_at=resumes_at,
            at_once=rule.at_once,
            left=tuple(one.label for one in active[most:]),
            paused_now=frozenset(one.id for one in listed if one.status == "paused"),
        )
        begun = await self.store.incidents.begin(claim)
        if begun.incident is None:
            return _LIMITS.get(begun.refusal, "").format(rule=rule)
        log.info("guardrail acts", workspace=claim.workspace, rule=claim.rule, sequences=claim.sequences)
        self._planned()
        return ""

    async def _in_scope(self, claim: Claim, rule: Rule, able: Sequence[Campaign]) -> Sequence[Campaign]:
        """The sequences that the claim is about; of a domain those with most events first."""
        if rule.scope is Scope.SEQUENCE:
            return [one for one in able if subject_key(one.label) == claim.subject]
        if rule.scope is not Scope.DOMAIN:
            return able
        # The service does not tell who sends from a domain: those are, whose deliveries named it.
        since = self.store.database.clock() - HORIZON
        counts = await self.store.guardrails.seen_on(claim.workspace, claim.subject, since)
        named = [one for one in able if subject_key(one.label) in counts]
        return sorted(named, key=lambda one: -counts[subject_key(one.label)])

    async def __call__(self, decided: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Carry out what was decided, or go on with what was interrupted."""
        return {job: end for job in decided if (end := await self._act_on(job))}

    async def _act_on(self, job: Job) -> End | None:
        """Carry one out; None where the end of the job is written with the outcome, or someone else has it now."""
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
        return None

    async def _pause_all(self, progress: Progress) -> None:
        """Pause each that is active. One that is paused is the rule's only if the rule asked for it before."""
        incident = progress.incident
        context = self._context(incident)
        revisions = await read_revisions(context)
        earlier = await _ending_earlier(context, incident.resumes_at)
        listed = {one.id: one for one in await context.client.list_sequences()}
        resumed = await self._resumed_since(incident)
        for name in incident.sequences:
            if name in listed:
                target = target_of(listed[name], revisions)
            else:
                # A list without it may be wrong: only the service's 404 says that it is gone.
                label = incident.label if len(incident.sequences) == 1 else name
                target = Target(id=name, label=label, status="active")
            if name in resumed:  # the rule doesn't insist
                continue
            if target.status == "active" or (name in earlier and name not in progress.asked):
                await self._pause(progress, target, context)
            elif name in progress.asked:
                revision = None if target.revision == UNDER_WAY else target.revision
                progress.paused[name] = target.label
                progress.undoable[name] = Before(
                    label=target.label, status="active", revision=revision, new_end=incident.resumes_at
                )
        if resumed and not (progress.paused or progress.extended or progress.why):
            progress.why = "Someone resumed it after the rule fired."

    async def _resumed_since(self, incident: Incident) -> frozenset[str]:
        """The sequences that someone has resumed since the incident began."""
        changes = await self.store.records.last_changes(incident.workspace, incident.sequences)
        began = moment(incident.began_at)
        return frozenset(name for name, one in changes.items() if one.effect == "resumed" and one.at > began)

    async def _pause(self, progress: Progress, target: Target, context: CommandContext) -> None:
        """Pause one, or make its pause longer, after it was written down that this is asked of the service."""
        before = [*progress.asked]
        asked = [*before, target.id] if target.status == "active" else before
        if not await self.store.incidents.asking(progress.job, progress.incident, asked):
            progress.why = TURNED_OFF
            return
        progress.asked = asked
        try:
            done = await change_status(
                target,
                "paused",
                until=moment(progress.incident.resumes_at),
                reason=f"guardrail {progress.incident.rule}",
                context=context,
                keep_longer=True,
            )
        except OutreachError as error:  # the others are still paused
            if isinstance(error, (Refused, RateLimited, Unreachable, Busy)):  # it is not paused by us
                progress.asked = before
            if not isinstance(error, NotFound):
                progress.failed[target.label] = error
            return
        if done.before:
            progress.undoable[target.id] = done.before
        if done.outcome == "changed":
            progress.paused[target.id] = target.label
            return
        progress.asked = before  # someone else has paused it
        if done.outcome == "extended":
            progress.extended[target.id] = target.label

    async def _finish(self, progress: Progress) -> None:
        """Write audit, Undo and message together; only the first process does."""
        incident, failed = progress.incident, tuple(progress.failed)
        done = {**progress.paused, **progress.extended}
        why = progress.why
        if done:
            card = cards.paused(
                incident,
                tuple(progress.paused.values()),
                extended=tuple(progress.extended.values()),
                left=progress.job.payload.get("left", ()),
                failed=failed,
                cut=why if why == TURNED_OFF else "",
            )
            result = f"{', '.join(f'{label} ({name})' for name, label in done.items())} paused"
        else:
            why = why or "Someone else had already paused it."
            card = cards.not_paused(incident, why, failed=bool(failed))
            result = f"failed: {why}"
        entry = AuditEntry(
            at=moment(self.store.database.clock()),
            actor=actor_of(incident),
            workspace=incident.workspace,
            command=f"pause: {incident.sentence}",
            result=result,
            effect="paused" if done else "failed",
            sequences=tuple(done),
            undoable={name: before for name, before in progress.undoable.items() if name in done},
        )
        post = post_of(self._contexts, incident.workspace, f"guard:{incident.id}", card)
        if await self.store.incidents.finish(progress.job, incident, entry, post):
            self._planned()

    def _context(self, about: Claim | Incident) -> CommandContext:
        actor = replace(actor_of(about), channel=place_of(self._contexts, about.workspace))
        return self._contexts.at(self._contexts.settings.workspace(about.workspace), actor)


async def _ending_earlier(context: CommandContext, resumes_at: float | None) -> frozenset[str]:
    """The sequences that are paused, and would resume before the rule's pause ends."""
    end = moment(resumes_at)
    timers = await read_timers(context)
    return frozenset(name for name, timer in timers.items() if ends_earlier(timer, end))


def actor_of(about: Claim | Incident) -> Actor:
    """The name of a rule in the audit."""
    return Actor(name=f"guardrail {about.rule}", face="bot")


def place_of(contexts: CommandContexts, workspace: str) -> str:
    """The channel for the message; empty if there is none."""
    settings = contexts.settings
    return settings.workspace(workspace).alert_channel or settings.routes.fallback or ""


def note_of(contexts: CommandContexts, workspace: str, card: Card) -> str:
    """The card for the store; it names its workspace where there are several."""
    if len(contexts.clients) > 1:
        card = replace(with_workspace(card, workspace=workspace), footer=workspace)
    return write_note(card)


def post_of(contexts: CommandContexts, workspace: str, key: str, card: Card) -> PlannedPost:
    """The message of a guardrail, in the workspace's channel."""
    return PlannedPost(
        dedupe=key,
        channel=place_of(contexts, workspace),
        kind="note",
        urgency=1,
        note=note_of(contexts, workspace, card),
    )
