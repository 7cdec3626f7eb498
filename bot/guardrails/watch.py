"""Evaluates guardrails, and notifies, suggests or pauses once per incident across all processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import structlog

from bot.commands.context import CommandContexts
from bot.guardrails import cards
from bot.guardrails.account import EVERY, Account, AccountReader
from bot.guardrails.acts import GuardrailActs, note_of, place_of, post_of
from shared.api.event_kinds import TROUBLES
from shared.domain.card import Card
from shared.guardrails.activity import HORIZON, Activity
from shared.guardrails.backtest import CLEAR_SECONDS
from shared.guardrails.catalog import NamedRule, catalog
from shared.guardrails.evaluate import Finding, doubt, holding, is_on, measured, spans_of
from shared.guardrails.rule import EVENT_OF, Action, Rule, Scope, subject_key
from shared.guardrails.sentence import parse
from shared.records.guardrails import ALL, Incident, StoredRule
from shared.store import Store
from shared.store.guardrails import HELD_EVERY, Claim
from shared.store.jobs import Again, End, Job
from shared.store.messages import INCIDENT, PlannedPost

DATA = "(data)"
"""Used instead of a rule's name for the incident of incomplete data."""

log = structlog.get_logger("guardrails")
Permitted = Callable[[str, str], Awaitable[bool]]
"""Answers if the person with this Slack id may pause sequences, in this channel."""
Place = tuple[str, str, str]
"""The workspace, rule and subject that an incident is about."""


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
        self._reader = AccountReader(store, self.accounts)
        self._rules: dict[str, tuple[Sequence[StoredRule], dict[str, NamedRule]]] = {}
        # The first sentence loads the grammar, which takes a tenth of a second: do it before the loop serves anyone.
        catalog({}, ())

    async def __call__(self, due: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Evaluate every rule of these workspaces. Raises `RecordsUnavailable`."""
        await self._evaluate({job.workspace.lower() for job in due})
        return {job: Again(after=EVERY, attempts=0) for job in due}

    async def _evaluate(self, due: Collection[str]) -> None:
        stored = await self._store.guardrails.all_rules()
        switches = await self._store.guardrails.all_switches()
        catalogs = {name: self._catalog(name, stored.get(name, ())) for name in self.accounts}
        spans = spans_of(named.rule for rules in catalogs.values() for named in rules.values())
        await self._reader.read(self._now, spans)
        workspaces = [name for name in self.accounts if name.lower() in due]
        open_ = {
            (one.workspace, one.rule, one.subject): one
            for one in await self._store.incidents.open()
            if one.workspace in workspaces
        }
        all_off = any(is_on(one, now=self._now) for one in switches.get(ALL, ()))
        held: set[Place] = set()
        for workspace in workspaces:
            off = {one.rule for one in switches.get(workspace, ()) if is_on(one, now=self._now)}
            rules = {name: one for name, one in catalogs[workspace].items() if not (all_off or name in off)}
            held |= await self._check(workspace, rules, open_)
        await self._hand_over(open_.values())
        await self._repose(open_.values())
        await self._close(open_, held)

    @property
    def _now(self) -> float:
        return self._store.database.clock()

    def _catalog(self, workspace: str, stored: Sequence[StoredRule]) -> dict[str, NamedRule]:
        """The rules of a workspace, parsed again where those that were added have changed."""
        parsed = self._rules.get(workspace)
        if parsed is None or parsed[0] != stored:
            configured = self._contexts.settings.guardrails(workspace)
            self._rules[workspace] = parsed = (stored, catalog(configured, stored))
        return parsed[1]

    async def _check(
        self, workspace: str, rules: Mapping[str, NamedRule], open_: Mapping[Place, Incident]
    ) -> set[Place]:
        """Fire rules whose condition holds and that aren't firing yet; returns those whose condition holds."""
        activity = self.accounts[workspace].activity
        held: set[Place] = set()
        doubts: dict[str, str] = {}
        for name, why, findings in await asyncio.to_thread(_judge, rules, activity, self._now):
            if why:
                doubts[name] = why
            for finding in findings:
                place = (workspace, name, finding.subject)
                held.add(place)
                if place not in open_ and not why:
                    await self._fire(workspace, rules[name], finding)
        if doubts and activity.last_poll(at=self._now) is not None:
            held.add((workspace, DATA, ""))
            if (workspace, DATA, "") not in open_:
                await self._say_waiting(workspace, doubts)
        return held

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
            note=measured(rule.condition, finding),
            per_day=rule.per_day,
        )
        if rule.action is not Action.TELL and await self._is_paused(workspace, rule, finding.subject):
            return
        why = ""
        if rule.action is Action.ACT:
            why = await self._not_permitted(workspace, named) or await self.acts.act(claim, rule)
            if not why:
                return
            claim = replace(claim, action=Action.SUGGEST)
        await self._say(claim, rule, why)

    async def _is_paused(self, workspace: str, rule: Rule, subject: str) -> bool:
        """True where nothing is left to pause: it fires when one of the sequences is sending again."""
        sequences = self.accounts[workspace].sequences
        if rule.scope is Scope.SEQUENCE:
            sequences = [one for one in sequences if subject_key(one.label) == subject]
        elif rule.scope is Scope.DOMAIN:
            seen = await self._store.guardrails.seen_on(workspace, subject, self._now - HORIZON)
            sequences = [one for one in sequences if subject_key(one.label) in seen]
        return bool(sequences) and all(one.status == "paused" for one in sequences)

    async def _not_permitted(self, workspace: str, named: NamedRule) -> str:
        """Why the rule may not act in the name of who added it."""
        if self._permitted is None or not named.added_by:
            return ""
        if await self._permitted(named.added_by, place_of(self._contexts, workspace)):
            return ""
        return f"Only a suggestion: @{named.added_name}, who added the rule, no longer has permission to pause sequences."

    async def _say(self, claim: Claim, rule: Rule, why: str) -> None:
        """Suggest or notify, once."""
        claim = replace(claim, domain=await self._domain_of(claim, rule))
        post = self._post(claim, self._card(claim, rule, why))
        quiet = self._contexts.settings.routes.channel_policy(post.channel).quiet_until(self._now)
        urgency = INCIDENT if claim.domain else post.urgency
        post = replace(post, urgency=urgency, held_until=quiet)
        begun = await self._store.incidents.begin(claim, post, together=self._together)
        if begun.incident:
            log.info("guardrail fired", workspace=claim.workspace, rule=claim.rule, action=str(claim.action))
            self._planned()

    async def _domain_of(self, claim: Claim, rule: Rule) -> str:
        """The domain whose trouble the finding is, which is told once; empty: the finding is told by itself."""
        kind = EVENT_OF.get(rule.condition.metric)
        if rule.action is Action.ACT:  # it says why the rule doesn't pause
            return ""
        if rule.scope is Scope.DOMAIN:
            return claim.subject
        if rule.scope is Scope.INBOX:
            return claim.subject.rpartition("@")[2]
        if rule.scope is not Scope.SEQUENCE or kind not in TROUBLES:
            return ""
        since = self._now - rule.condition.window.total_seconds()
        return await self._store.guardrails.origin(claim.workspace, claim.subject, kind, since)

    def _card(self, about: Claim | Incident, rule: Rule, why: str = "") -> Card:
        if rule.action is Action.TELL:
            return cards.notice(about, rule)
        target = cards.target_of(rule, about.label)
        if rule.scope is Scope.SEQUENCE:
            sequences = self.accounts[about.workspace].sequences
            named = [one for one in sequences if subject_key(one.label) == about.subject]
            target = named[0].id if len(named) == 1 else target
        return cards.suggestion(about, rule, target=target, why=why)

    def _post(self, claim: Claim, card: Card) -> PlannedPost:
        key = f"guard:{claim.workspace}:{claim.rule}:{claim.subject}:{self._now:.0f}"
        return post_of(self._contexts, claim.workspace, key, card)

    def _together(self, told: Sequence[Incident]) -> str:
        """The note of the message that tells of all that was found on one domain."""
        drawn = [(one, self._card(one, parse(one.sentence))) for one in told]
        return note_of(self._contexts, told[0].workspace, cards.together(drawn))

    async def _say_waiting(self, workspace: str, doubts: Mapping[str, str]) -> None:
        why = next(iter(doubts.values()))
        claim = Claim(
            workspace=workspace, rule=DATA, sentence="", action=Action.TELL, subject="", label="", note=why
        )  # fmt: skip
        post = self._post(claim, cards.waiting(tuple(doubts), why))
        if (await self._store.incidents.begin(claim, post)).incident:
            self._planned()

    async def _hand_over(self, open_: Iterable[Incident]) -> None:
        """Leave what a message said of a domain to the card of its pause."""
        for told, incident in {one.told: one for one in open_ if one.told and one.domain}.items():
            note = note_of(self._contexts, incident.workspace, cards.handed_over(incident.domain))
            if await self._store.incidents.hand_over(incident, note):
                log.info("guardrail on the card of a pause", workspace=incident.workspace, message=told)
                self._planned()

    async def _repose(self, open_: Iterable[Incident]) -> None:
        """Take the button from the messages of what is paused by now, and give it back where that has ended."""
        told: dict[tuple[str, str], list[tuple[Incident, Card]]] = {}
        keeps_words = set()
        for incident in open_:
            if not incident.told or incident.rule == DATA:
                continue
            rule, place = parse(incident.sentence), (incident.workspace, incident.told)
            offers = incident.action == Action.SUGGEST or rule.scope is Scope.DOMAIN
            is_paused = offers and await self._is_paused(incident.workspace, rule, incident.subject)
            if rule.action is Action.ACT and not is_paused:
                keeps_words.add(place)  # why the rule only suggests is on its message alone
            card = cards.at_rest(incident, rule) if is_paused else self._card(incident, rule)
            told.setdefault(place, []).append((incident, card))
        for (workspace, message), drawn in told.items():
            note = note_of(self._contexts, workspace, cards.together(drawn))
            if (workspace, message) in keeps_words:
                continue
            if await self._store.incidents.restate(workspace, message, note):
                self._planned()

    async def _close(self, open_: Mapping[Place, Incident], held: Collection[Place]) -> None:
        """Update incidents that still hold, and end those that haven't held for long enough."""
        now = self._now
        still = [one.id for place, one in open_.items() if place in held and now - one.held_at > HELD_EVERY]
        if still:
            await self._store.incidents.held(still)
        for place, incident in open_.items():
            is_quiet = incident.rule == DATA or now - incident.held_at > CLEAR_SECONDS
            if place in held or incident.state == "decided" or not is_quiet:
                continue
            if await self._store.incidents.end(incident, partial(self._over, incident)):
                self._planned()

    def _over(self, ended: Incident, left: Sequence[Incident]) -> str:
        """The note of a message, once one of the incidents of which it told has ended."""
        if left:
            return self._together(left)
        card = cards.trusted_again() if ended.rule == DATA else cards.over(ended)
        return note_of(self._contexts, ended.workspace, card)


def _judge(
    rules: Mapping[str, NamedRule], activity: Activity, now: float
) -> list[tuple[str, str, list[Finding]]]:
    """The reason why each rule must not act, and the subjects for which it holds."""
    judged = []
    for name, named in rules.items():
        why = doubt(named.rule, activity, now=now) if named.rule.action is Action.ACT else ""
        judged.append((name, why, holding(named.rule, activity, now=now)))
    return judged
