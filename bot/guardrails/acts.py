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
from shared.commands.hold import Busy, change_status, read_revisions, target_of
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
    "per day": "the rule has reached its limit of {rule.per_day} a day",
    "at once": "the rule already keeps as many sequences paused as it may ({rule.at_once})",
}

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


async def sequences_about(
    store: Store, workspace: str, rule: Rule, subject: str, sequences: Sequence[Campaign]
) -> Sequence[Campaign]:
    """The sequences that a rule's finding is about; of a domain those with most events first."""
    if rule.scope is Scope.SEQUENCE:
        return [one for one in sequences if subject_key(one.label) == subject]
    if rule.scope is not Scope.DOMAIN:
        return sequences
    # The service does not tell who sends from a domain: those are, whose deliveries named it.
    counts = await store.guardrails.seen_on(workspace, subject, store.database.clock() - HORIZON)
    named = [one for one in sequences if subject_key(one.label) in counts]
    return sorted(named, key=lambda one: -counts[subject_key(one.label)])


class GuardrailActs:
    """`act` decides on a claim; called with jobs of the kind `act`, it carries out what was decided."""

    def __init__(self, store: Store, contexts: CommandContexts, *, planned: Callable[[], None]) -> None:
        self.store, self._contexts, self._planned = store, contexts, planned

    async def act(self, claim: Claim, rule: Rule) -> str:
        """Decide to pause the claim's sequences; returns the reason if a suggestion is due instead."""
        try:
            listed = await self._context(claim).client.list_sequences()
        except OutreachError as error:
            log.warning("nothing paused", workspace=claim.workspace, error=type(error).__name__)
            return ""  # nothing was decided: the next check tries again
        if not listed:  # one empty list is no fact
            log.warning("nothing paused", workspace=claim.workspace, error="an empty list of sequences")
            return ""
        about = await sequences_about(self.store, claim.workspace, rule, claim.subject, listed)
        active = [one for one in about if one.status == "active" and not rule.excepts(one.label)]
        if rule.scope is Scope.SEQUENCE and len(active) > 1:
            return "several active sequences share this name"
        if not active:
            which = "has this name" if rule.scope is Scope.SEQUENCE else "is known to send from there"
            return f"no active sequence {which}"
        now, most = self.store.database.clock(), rule.at_once or len(active)
        claim = replace(
            claim,
            sequences=tuple(one.id for one in active[:most]),
            resumes_at=now + rule.duration.total_seconds() if rule.duration else None,
            at_once=rule.at_once,
            left=tuple(one.label for one in active[most:]),
            paused_now=frozenset(one.id for one in listed if one.status == "paused"),
        )
        if refusal := await self.store.incidents.begin(claim):
            return _LIMITS.get(refusal, "").format(rule=rule)
        log.info("guardrail acts", workspace=claim.workspace, rule=claim.rule, sequences=claim.sequences)
        self._planned()
        return ""

    async def __call__(self, decided: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Carry out what was decided, or go on with what was interrupted."""
        return {job: end for job in decided if (end := await self._carry_out(job))}

    async def _carry_out(self, job: Job) -> End | None:
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
        incident, store = progress.incident, self.store
        context = self._context(incident)
        revisions = await read_revisions(context)
        listed = {one.id: one for one in await context.client.list_sequences()}
        changes = await store.records.last_changes(incident.workspace, incident.sequences)
        began = moment(incident.began_at)
        resumed = {name for name, one in changes.items() if one.effect == "resumed" and one.at > began}
        for name in incident.sequences:
            if name in resumed:  # the rule doesn't insist
                continue
            # A list without it may be wrong: only the service's 404 says that it is gone.
            label = incident.label if len(incident.sequences) == 1 else name
            target = Target(id=name, label=label, status="active")
            if name in listed:
                target = target_of(listed[name], revisions)
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
        before, incident = progress.asked, progress.incident
        if not await self.store.incidents.asking(progress.job, incident, [*before, target.id]):
            progress.why = TURNED_OFF
            return
        progress.asked = [*before, target.id]
        end, reason = moment(incident.resumes_at), f"guardrail {incident.rule}"
        try:
            done = await change_status(
                target, "paused", until=end, reason=reason, context=context, keep_longer=True
            )
        except OutreachError as error:  # the others are still paused
            if isinstance(error, (Refused, RateLimited, Unreachable, Busy)):  # it is not paused by us
                progress.asked = before
            if not isinstance(error, NotFound):
                progress.failed[target.label] = error
            return
        if done.before:
            progress.paused[target.id] = done.before
        else:  # someone else has paused it
            progress.asked = before

    async def _finish(self, progress: Progress) -> None:
        """Write audit, Undo and message together; only the first process does."""
        incident, paused, why = progress.incident, progress.paused, progress.why
        if paused:
            labels = [before.label for before in paused.values()]
            left, failed = progress.job.payload.get("left", ()), tuple(progress.failed)
            cut = why if why == TURNED_OFF else ""
            card = cards.paused(incident, labels, left=left, failed=failed, cut=cut)
            result = f"{', '.join(f'{before.label} ({name})' for name, before in paused.items())} paused"
        else:
            why = why or "Someone else had already paused it."
            card = cards.not_paused(incident, why, failed=bool(progress.failed))
            result = f"failed: {why}"
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
        post = post_of(self._contexts, incident.workspace, f"guard:{incident.id}", card)
        if await self.store.incidents.finish(progress.job, incident, entry, post):
            self._planned()

    def _context(self, about: Claim | Incident) -> CommandContext:
        actor = replace(actor_of(about), channel=place_of(self._contexts, about.workspace))
        return self._contexts.at(self._contexts.settings.workspace(about.workspace), actor)


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
