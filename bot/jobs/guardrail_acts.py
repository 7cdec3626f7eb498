"""Carries out the pauses of guardrails: decided in the database, and completed there together with their message.

A process can die at any point, and a request's outcome can be unknown. Who has the job next reads the decision and the
sequences' status, and sends the request again, which is safe because pausing twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import structlog

from bot.alerts import guardrail_cards as cards
from bot.alerts import notes
from bot.commands.context import CommandContexts
from shared.api.errors import NotFound, OutreachError, RateLimited, Refused, Unreachable
from shared.api.models import Sequence as Campaign
from shared.commands.hold import RESUME_TIMER, Busy, change_status, read_revisions, target_of
from shared.commands.pause import Target
from shared.commands.run import CommandContext, with_workspace
from shared.domain.card import Card
from shared.domain.wall_clock import moment
from shared.guardrails.activity import HORIZON
from shared.guardrails.evaluate import is_on
from shared.guardrails.rule import Rule, Scope, subject_key
from shared.records.audit import Actor, AuditEntry, Before
from shared.records.guardrails import ALL, Incident
from shared.records.sequence_changes import UNDER_WAY
from shared.store import Store
from shared.store.alerts.incidents import Claim
from shared.store.jobs import Again, Done, End, Job
from shared.store.queue.outbox import PlannedPost

RETRY_SECONDS = 5.0
ATTEMPTS = 20
TOO_LATE = 3600.0
"""Seconds after which a decision that wasn't carried out is void."""
SETTLED = 120.0
"""Seconds after a pause from which a list of sequences was surely read later."""

EMPTY: Mapping[str, str] = MappingProxyType({})
NONE_UNDOABLE: Mapping[str, Before] = MappingProxyType({})
TURNED_OFF = "Guardrails were turned off before it had paused everything."

log = structlog.get_logger("guardrails")


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """The sequences that a rule would pause, and those that its limit leaves."""

    chosen: tuple[Campaign, ...] = ()
    left: tuple[Campaign, ...] = ()
    timed: tuple[Campaign, ...] = ()
    """Those in scope that are paused until earlier."""
    why_none: str = ""


@dataclass(slots=True, kw_only=True)
class Progress:
    """The progress of an act: labels by id of paused sequences, and errors by label of the others."""

    job: Job
    incident: Incident
    paused: dict[str, str] = field(default_factory=dict)
    extended: dict[str, str] = field(default_factory=dict)
    """Those that were paused until earlier."""
    failed: dict[str, OutreachError] = field(default_factory=dict)
    undoable: dict[str, Before] = field(default_factory=dict)
    """How those that it changed were before."""
    resumed: bool = False
    """Somebody has resumed one of them since the incident began."""
    stopped: bool = False
    """It was turned off, or another process has taken over."""


class GuardrailActs:
    """`act` decides on a claim; called with jobs of the kind `act`, it carries out what was decided."""

    def __init__(self, store: Store, contexts: CommandContexts, *, planned: Callable[[], None]) -> None:
        self.store, self._contexts, self._planned = store, contexts, planned

    async def act(self, claim: Claim, rule: Rule) -> str:
        """Decide to pause the claim's sequences; returns the reason if a suggestion is due instead."""
        now = self.store.database.clock()
        resumes_at = now + rule.duration.total_seconds() if rule.duration else None
        earlier = await self._ending_earlier(claim.workspace, resumes_at)
        try:
            known = await self._contexts.clients[claim.workspace].list_sequences()
        except OutreachError as error:
            log.warning("nothing paused", workspace=claim.workspace, error=type(error).__name__)
            return ""  # nothing was decided: the next check tries again
        if not known:
            log.warning("nothing paused", workspace=claim.workspace, error="an empty list of sequences")
            return ""
        targets = await self._targets(claim, rule, known, earlier=earlier)
        if not (targets.chosen or targets.timed):
            return targets.why_none
        claim = replace(
            claim,
            sequences=tuple(one.id for one in targets.chosen),
            extended=tuple(one.id for one in targets.timed),
            resumes_at=resumes_at,
            at_once=rule.at_once,
            left=tuple(one.label for one in targets.left),
            paused_now=frozenset(one.id for one in known if one.status == "paused"),
        )
        begun = await self.store.incidents.begin(claim)
        if begun.incident is None:
            return _LIMITS.get(begun.refusal, "").format(rule=rule)
        log.info("guardrail acts", workspace=claim.workspace, rule=claim.rule, sequences=claim.sequences)
        self._planned()
        return ""

    async def _ending_earlier(self, workspace: str, resumes_at: float | None) -> frozenset[str]:
        """The sequences that are paused, and would resume before the rule's pause ends."""
        timers = await self.store.records.timers(workspace, RESUME_TIMER)
        return frozenset(
            timer.key for timer in timers if resumes_at is None or timer.due_at.timestamp() < resumes_at
        )

    async def _targets(
        self, claim: Claim, rule: Rule, known: Sequence[Campaign], *, earlier: frozenset[str]
    ) -> Targets:
        """What is active and, where the rule is about more than one sequence, what is paused until earlier."""
        able = [one for one in known if one.status == "active" and not rule.excepts(one.label)]
        timed = [
            one
            for one in known
            if one.status == "paused" and one.id in earlier and not rule.excepts(one.label)
        ]
        if rule.scope is Scope.SEQUENCE:
            chosen = [one for one in able if subject_key(one.label) == claim.subject]
            if len(chosen) > 1:
                return Targets(why_none="Only a suggestion: several active sequences share this name.")
        elif rule.scope is Scope.DOMAIN:
            chosen, timed = await self._of_domain(claim, able), await self._of_domain(claim, timed)
        else:
            chosen = able
        if not chosen and (not timed or rule.scope is Scope.SEQUENCE):
            return Targets(why_none="Only a suggestion: no active sequence is known to send from there.")
        most = rule.at_once or len(chosen)
        timed = [] if rule.scope is Scope.SEQUENCE else timed
        return Targets(chosen=tuple(chosen[:most]), left=tuple(chosen[most:]), timed=tuple(timed))

    async def _of_domain(self, claim: Claim, able: Sequence[Campaign]) -> list[Campaign]:
        """Those seen on the domain, the ones with most events first: the service does not tell who sends from it."""
        since = self.store.database.clock() - HORIZON
        counts = await self.store.guardrails.seen_on(claim.workspace, claim.subject, since)
        named = [one for one in able if subject_key(one.label) in counts]
        return sorted(named, key=lambda one: -counts[subject_key(one.label)])

    async def __call__(self, decided: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Carry out what was decided, or go on with what was interrupted."""
        return {job: end for job in decided if (end := await self._act_on(job))}

    async def _act_on(self, job: Job) -> End | None:
        """None where the end of the job is written with the outcome of the act, or somebody else has it now."""
        incident = await self.store.incidents.decided(job)
        if incident is None:
            return Done()
        now = self.store.database.clock()
        switches = await self.store.guardrails.switches(incident.workspace)
        if any(one.rule in {incident.rule, ALL} and is_on(one, now=now) for one in switches):
            await self._give_up(job, incident)
        elif incident.state == "decided" and now - incident.began_at > TOO_LATE:
            why = "The bot was down for more than an hour: the decision was too old."
            await self._finish(job, incident, {}, why=why)
        else:
            return await self._carry_out(job, incident)
        return None

    async def _give_up(self, job: Job, incident: Incident) -> None:
        """End an act that was turned off; report what it has already paused, with an Undo."""
        paused: dict[str, str] = {}
        if incident.state == "acting":
            try:
                known = await self._context(incident).client.list_sequences()
            except OutreachError as error:
                log.warning("pause not proven", rule=incident.rule, error=type(error).__name__)
                return await self.store.incidents.postpone(job, incident, seconds=RETRY_SECONDS)
            done = (one for one in known if one.id in incident.requested and one.status == "paused")
            paused = {one.id: one.label for one in done}
        end = incident.resumes_at
        undoable = {name: Before(label=label, status="active", new_end=end) for name, label in paused.items()}
        return await self._finish(job, incident, paused, undoable=undoable, why=TURNED_OFF)

    async def _carry_out(self, job: Job, incident: Incident) -> End | None:
        context = self._context(incident)
        progress = Progress(job=job, incident=incident)
        revisions = await read_revisions(context)
        earlier = await self._ending_earlier(incident.workspace, incident.resumes_at)
        try:
            known = {one.id: one for one in await context.client.list_sequences()}
            if incident.state == "decided":
                # What is paused by now was paused by someone else: it is left to them.
                able = [
                    name
                    for name in incident.sequences
                    if name not in known or known[name].status == "active" or name in earlier
                ]
                if not await self.store.incidents.acting(job, incident, able):
                    return Again(after=RETRY_SECONDS)  # to be given up, unless somebody else has it
                progress.incident = replace(incident, state="acting", sequences=tuple(able))
            await self._pause(progress, known, context, revisions=revisions, earlier=earlier)
        except OutreachError as error:
            progress.failed = {incident.label: error}
        incident, paused, failed = progress.incident, progress.paused, progress.failed
        why = "" if paused or progress.extended else "Someone else had already paused it."
        if why and progress.resumed:
            why = "Someone resumed it after the rule fired."
        if progress.stopped:
            why = TURNED_OFF
        elif failed:
            first = next(iter(failed.values()))
            log.warning("pause not proven", rule=incident.rule, error=type(first).__name__)
            if job.attempts < ATTEMPTS:
                await self.store.incidents.postpone(job, incident, seconds=RETRY_SECONDS)
                return None
            doubt = " `sequences paused` shows what it may have paused." if incident.state == "acting" else ""
            why = f"The service did not confirm the pause: {first}{doubt}"
        await self._finish(
            job,
            incident,
            paused,
            extended=progress.extended,
            undoable=progress.undoable,
            left=job.payload.get("left", ()),
            failed=tuple(failed),
            why=why,
        )
        return None

    async def _pause(
        self,
        progress: Progress,
        known: Mapping[str, Campaign],
        context: CommandContext,
        *,
        revisions: Mapping[str, int] | None,
        earlier: frozenset[str],
    ) -> None:
        """Pause each that is active. One that is paused is the rule's only if the rule asked for it before."""
        resumed = await self._resumed_since(progress.incident)
        for name in progress.incident.sequences:
            if name in resumed:
                progress.resumed = True
                continue
            asked = progress.incident.requested
            if name in known:
                one = target_of(known[name], revisions)
            else:
                # A list without it may be wrong: only the service's 404 says that it is gone.
                label = progress.incident.label if len(progress.incident.sequences) == 1 else name
                one = Target(id=name, label=label, status="active")
            if one.status != "active" and (name in asked or name not in earlier):
                if name in asked:
                    progress.paused[name] = one.label
                    at = None if one.revision == UNDER_WAY else one.revision
                    end = progress.incident.resumes_at
                    progress.undoable[name] = Before(
                        label=one.label, status="active", revision=at, new_end=end
                    )
                continue
            if one.status == "active":
                requested = tuple(dict.fromkeys((*asked, name)))
                progress.incident = replace(progress.incident, requested=requested)
            if not await self.store.incidents.requesting(progress.job, progress.incident):
                progress.stopped = True
                return
            await self._pause_one(progress, one, context, asked=asked)

    async def _resumed_since(self, incident: Incident) -> frozenset[str]:
        """The sequences that somebody has resumed since the incident began: the rule doesn't insist."""
        changes = await self.store.records.last_changes(incident.workspace, incident.sequences)
        began = moment(incident.began_at)
        return frozenset(name for name, one in changes.items() if one.effect == "resumed" and one.at > began)

    async def _pause_one(
        self,
        progress: Progress,
        one: Target,
        context: CommandContext,
        *,
        asked: Sequence[str],
    ) -> None:
        """Pause one, or make its pause longer; `asked` are those that were asked of the service before it."""
        resumes_at, rule = progress.incident.resumes_at, progress.incident.rule
        due = moment(resumes_at)
        before = replace(progress.incident, requested=tuple(asked))
        try:
            done = await change_status(
                one, "paused", until=due, reason=f"guardrail {rule}", context=context, keep_longer=True
            )
        except OutreachError as error:  # the others are still paused
            if isinstance(error, (Refused, RateLimited, Unreachable, Busy)):  # it is not paused by us
                progress.incident = before
            if not isinstance(error, NotFound):
                progress.failed[one.label] = error
            return
        if done.before:
            progress.undoable[one.id] = done.before
        if done.outcome == "changed":
            progress.paused[one.id] = one.label
            return
        progress.incident = before  # somebody else has paused it
        if done.outcome == "extended":
            progress.extended[one.id] = one.label

    async def _finish(
        self,
        job: Job,
        incident: Incident,
        paused: Mapping[str, str],
        *,
        extended: Mapping[str, str] = EMPTY,
        undoable: Mapping[str, Before] = NONE_UNDOABLE,
        left: Sequence[str] = (),
        failed: Sequence[str] = (),
        why: str = "",
    ) -> None:
        """Write audit, Undo and message together; only the first process does."""
        footer = footer_of(self._contexts, incident.workspace)
        names, done = tuple(paused.values()), {**paused, **extended}

        def draw(undo: int) -> PlannedPost:
            if done:
                cut = "" if failed else why
                card = cards.paused(
                    incident,
                    names,
                    extended=tuple(extended.values()),
                    left=left,
                    failed=failed,
                    cut=cut,
                    footer=footer,
                )
            else:
                card = cards.not_paused(incident, why, failed=bool(failed), footer=footer)
            return self._post(incident, card, undo=undo)

        result = f"{', '.join(f'{label} ({name})' for name, label in done.items())} paused"
        entry = AuditEntry(
            at=moment(self.store.database.clock()),
            actor=actor_of(incident),
            workspace=incident.workspace,
            command=f"pause: {incident.sentence}",
            result=result if done else f"failed: {why}",
            effect="paused" if done else "failed",
            sequences=tuple(done),
            undoable={name: undoable[name] for name in done if name in undoable},
        )
        state = "done" if done else "failed"
        if await self.store.incidents.finish(
            job, incident, entry, paused=tuple(paused), extended=tuple(extended), draw=draw, state=state
        ):
            self._planned()

    def _post(self, incident: Incident, card: Card, *, undo: int) -> PlannedPost:
        if len(self._contexts.clients) > 1:
            card = with_workspace(card, workspace=incident.workspace)
        return PlannedPost(
            dedupe=f"guard:{incident.id}",
            channel=place_of(self._contexts, incident.workspace),
            kind="note",
            urgency=1,
            note=notes.write_note(card),
            undo=undo,
        )

    def _context(self, incident: Incident) -> CommandContext:
        actor = replace(actor_of(incident), channel=place_of(self._contexts, incident.workspace))
        return self._contexts.at(self._contexts.settings.workspace(incident.workspace), actor)

    async def release_timers(self, seen: Mapping[str, tuple[float, frozenset[str]]]) -> None:
        """Cancel the timers of pauses whose sequences were seen active: `seen` is when, and which, by workspace."""
        for one in await self.store.incidents.timed():
            at, active = seen.get(one.workspace, (0.0, frozenset()))
            if at < one.began_at + SETTLED:
                continue
            if one.resumes_at is not None:
                names = active.intersection(one.sequences)
                await self.store.timers.release(one.workspace, names, due_at=one.resumes_at)


_LIMITS = {
    "per day": "Only a suggestion: the rule has reached its limit of {rule.per_day} a day.",
    "at once": "Only a suggestion: the rule already keeps as many sequences paused as it may ({rule.at_once}).",
}


def actor_of(incident: Incident) -> Actor:
    return Actor(name=f"guardrail {incident.rule}", face="bot")


def place_of(contexts: CommandContexts, workspace: str) -> str:
    """The channel for the message; empty if there is none."""
    settings = contexts.settings
    return settings.workspace(workspace).alert_channel or settings.routes.fallback or ""


def footer_of(contexts: CommandContexts, workspace: str) -> str:
    return workspace if len(contexts.clients) > 1 else ""
