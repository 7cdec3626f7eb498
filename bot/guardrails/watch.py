"""Evaluates guardrails, and notifies, suggests or pauses once per incident across all processes."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from bot.commands.context import CommandContexts
from bot.guardrails.acts import GuardrailActs, finding_card, over_card, together_card
from shared.api.event_kinds import TROUBLES
from shared.api.models import Sequence as Campaign
from shared.commands.base import ALL as ALL_SEQUENCES
from shared.commands.base import DOMAIN
from shared.commands.rules import load_activity
from shared.domain.card import Card
from shared.guardrails.activity import Activity, domain_of
from shared.guardrails.evaluate import CLEAR_SECONDS, Finding, doubt, holding, is_on, spans_of
from shared.guardrails.rule import EVENT_OF, Action, NamedRule, Rule, Scope, catalog, parse
from shared.records.guardrails import ALL, Incident, RuleFinding
from shared.store import Store
from shared.store.guardrails import HELD_EVERY, Claim
from shared.store.jobs import Again, End, Job
from shared.store.messages import INCIDENT
from shared.text.formats import clip

EVERY = 30.0
"""Seconds between two evaluations."""
RELOAD_SECONDS = 3600.0
"""Seconds between two readings of everything, which also forget what is old."""
OVERLAP_SECONDS = 1800.0
"""Deliveries are read again for so long: some are routed later than they came."""
LATE_SECONDS = 300.0
"""Counts are stored so long after the moment that they are of, at most."""
NEVER = float("-inf")

log = structlog.get_logger("guardrails")
Permitted = Callable[[str, str], Awaitable[bool]]
"""Answers if the person with this Slack id may pause sequences, in this channel."""


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
        account.activity, account.spans = await load_activity(store.records, workspace, now, spans), spans
    if account.activity.heard_since == float("inf"):
        account.activity.heard_since = await guardrails.heard_since(workspace) or float("inf")
    account.read_until = now


class GuardrailWatch:
    """Handles jobs of the kind `evaluate`; each incident is handled and reported once, whoever evaluates."""

    def __init__(
        self,
        store: Store,
        contexts: CommandContexts,
        *,
        planned: Callable[[], None],
        permitted: Permitted | None = None,
    ) -> None:
        self._store, self._contexts, self._planned = store, contexts, planned
        self._permitted = permitted
        self.acts = GuardrailActs(store, contexts, planned=planned)
        self.accounts: Mapping[str, Account] = {name: Account() for name in contexts.clients}
        # The first sentence loads the grammar, which takes a tenth of a second: do it before the loop serves anyone.
        catalog({}, ())

    async def __call__(self, due: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Evaluate every rule of these workspaces. Raises `RecordsUnavailable`."""
        names = {job.workspace.lower() for job in due}
        for workspace in self.accounts:
            if workspace.lower() in names:
                await self._evaluate(workspace)
        return {job: Again(after=EVERY, attempts=0) for job in due}

    async def _evaluate(self, workspace: str) -> None:
        store, account = self._store, self.accounts[workspace]
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
        for named, may_fire, findings in await asyncio.to_thread(_judge, on, account.activity, now):
            for finding in findings:
                place = (named.name, finding.subject)
                held.add(place)
                if may_fire and place not in known:
                    await self._fire(workspace, named, finding)
        await self._settle(workspace, held)

    async def _fire(self, workspace: str, named: NamedRule, finding: Finding) -> None:
        """Pause, suggest or notify, as the rule says and as far as it may."""
        rule = named.rule
        claim = Claim(
            workspace=workspace,
            rule=named.name,
            sentence=str(rule),
            action=rule.action,
            subject=finding.subject,
            label=finding.label,
            note=finding.note,
            per_day=rule.per_day,
        )
        if rule.action is not Action.TELL and (await self._sequences(claim, rule))[1]:
            return  # nothing is left to pause: it fires when one of the sequences is sending again
        if rule.action is Action.ACT:
            why = await self._not_permitted(workspace, named) or await self.acts.act(claim, rule)
            if not why:
                return
            note = f"{claim.note}. Only a suggestion: {why}"
            claim = replace(claim, action=Action.SUGGEST, note=note)
        else:
            claim = replace(claim, domain=await self._domain_of(claim, rule))
        now = self._store.database.clock()
        key = f"guard:{workspace}:{named.name}:{finding.subject}:{now:.0f}"
        post = self.acts.post(workspace, key, await self._card(claim))
        quiet = self._contexts.settings.routes.channel_policy(post.channel).quiet_until(now)
        post = replace(post, urgency=INCIDENT if claim.domain else post.urgency, held_until=quiet)
        if not await self._store.incidents.begin(claim, post):
            log.info("guardrail fired", workspace=workspace, rule=claim.rule, action=str(claim.action))
            self._planned()

    async def _sequences(self, about: RuleFinding, rule: Rule) -> tuple[Sequence[Campaign], bool]:
        """The sequences that a finding is about, and whether all of them are paused."""
        own = await self.acts.sequences_about(about, rule, self.accounts[about.workspace].sequences)
        return own, bool(own) and all(one.status == "paused" for one in own)

    async def _not_permitted(self, workspace: str, named: NamedRule) -> str:
        """Why the rule may not act in the name of who added it."""
        who = named.added_by
        if not (who and self._permitted) or await self._permitted(who, self.acts.place(workspace)):
            return ""
        return f"@{named.added_name}, who added the rule, no longer has permission to pause sequences"

    async def _domain_of(self, claim: Claim, rule: Rule) -> str:
        """The domain whose trouble the finding is, which is told once; empty: the finding is told by itself."""
        kind = EVENT_OF.get(rule.condition.metric)
        if rule.scope is Scope.DOMAIN:
            return claim.subject
        if rule.scope is Scope.INBOX:
            return domain_of(claim.subject)
        if rule.scope is not Scope.SEQUENCE or kind not in TROUBLES:
            return ""
        since = self._store.database.clock() - rule.condition.window.total_seconds()
        senders = await self._store.guardrails.senders(claim.workspace, since, [kind])
        # The one from which at least half of the sequence's came.
        mine = {domain: count for (name, domain), count in senders.items() if name == claim.subject}
        most = max(mine, key=mine.__getitem__, default="")
        return most if mine.get(most, 0) * 2 >= sum(mine.values()) else ""

    async def _card(self, about: RuleFinding) -> Card:
        """The card of a finding, as things stand now."""
        rule = parse(about.sentence)
        own, is_paused = await self._sequences(about, rule)
        named = own[0].id if len(own) == 1 else about.label
        domain = f"{DOMAIN}{about.label.casefold()}"
        target = {Scope.WORKSPACE: ALL_SEQUENCES, Scope.DOMAIN: domain}.get(rule.scope, named)
        offers = rule.action is not Action.TELL or rule.scope is Scope.DOMAIN
        return finding_card(about, rule, target=target, is_paused=offers and is_paused)

    async def _settle(self, workspace: str, held: Collection[tuple[str, str]]) -> None:
        """Note what still holds, have each message say how its findings are now, and end what is over."""
        now, incidents = self._store.database.clock(), self._store.incidents
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
            # The message before the end: a process that dies in between does both again.
            if await self._redraw(about, [one for one in about if one.id not in over]):
                self._planned()
        await incidents.held(noted)
        await incidents.end(over)

    async def _redraw(self, about: Sequence[Incident], left: Sequence[Incident]) -> bool:
        """Have the message of some incidents say what is left of them; returns whether it changed."""
        first, incidents = about[0], self._store.incidents
        pointer = Card(title=f"Guardrails on {clip(first.domain)}: see the card of its pause")
        if first.domain and await incidents.hand_over(first, self.acts.note(first.workspace, pointer)):
            log.info("guardrail on the card of a pause", workspace=first.workspace, message=first.told)
            return True
        card = over_card(about[-1])
        if left:
            card = together_card([(one, await self._card(one)) for one in left])
        return await incidents.restate(first, self.acts.note(first.workspace, card))


def _judge(
    rules: Iterable[NamedRule], activity: Activity, now: float
) -> list[tuple[NamedRule, bool, list[Finding]]]:
    """The subjects for which each rule holds, and whether it may fire: a notice may be wrong, a pause must not be."""
    return [
        (
            named,
            named.rule.action is not Action.ACT or not doubt(named.rule, activity, now=now),
            holding(named.rule, activity, now=now),
        )
        for named in rules
    ]
