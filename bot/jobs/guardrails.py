"""Evaluates guardrails, and notifies, suggests or pauses once per incident across all processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from bot.alerts import guardrail_cards as cards
from bot.alerts import notes
from bot.commands.context import CommandContexts
from bot.jobs.guardrail_acts import GuardrailActs, footer_of, place_of
from shared.api.event_kinds import TROUBLES
from shared.api.models import Sequence as Campaign
from shared.commands.run import with_workspace
from shared.domain.card import Card
from shared.guardrails.activity import HORIZON, Activity, days, portions
from shared.guardrails.backtest import CLEAR_SECONDS
from shared.guardrails.catalog import NamedRule, catalog
from shared.guardrails.evaluate import Finding, doubt, holding, is_on, measured, spans_of
from shared.guardrails.rule import EVENT_OF, Action, Rule, Scope, subject_key
from shared.guardrails.sentence import parse
from shared.records.guardrails import ALL, CountSample, Happening, Incident, StoredRule, Switch
from shared.store import Store
from shared.store.alerts.incidents import HELD_EVERY, Claim
from shared.store.jobs import Again, End, Job
from shared.store.queue.outbox import PlannedPost
from shared.store.queue.posts import INCIDENT

EVERY = 30.0
"""Seconds between two evaluations."""
RELOAD_SECONDS = 3600.0
"""How often everything is read again, which also forgets what is old."""
OVERLAP = 1800.0
"""Deliveries are read again for so long: some are routed later than they came."""
DATA = "(data)"
"""Used instead of a rule's name for the incident of incomplete data."""

log = structlog.get_logger("guardrails")
Permitted = Callable[[str, str], Awaitable[bool]]
"""Whether the person with this Slack id may pause sequences, in this channel."""


@dataclass(slots=True)
class Account:
    """The data of one workspace."""

    activity: Activity = field(default_factory=Activity)
    sequences: Sequence[Campaign] = ()
    seen_at: float = 0.0
    """When the sequences were read."""
    heard_since: float = float("inf")
    """When the first delivery came."""


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
        self._accounts: dict[str, Account] = {name: Account() for name in contexts.clients}
        self._routed: dict[int, float] = {}
        self._loaded_at, self._read_until = float("-inf"), 0.0
        self._spans: frozenset[float] = frozenset()
        """The ages at which windows of the rules begin: around these, every reading was loaded."""
        self._learned: list[tuple[str, Sequence[CountSample]]] = []
        self._rules: dict[str, tuple[Sequence[StoredRule], dict[str, NamedRule]]] = {}
        # The first sentence loads the grammar, which takes a tenth of a second: do it before the loop serves anyone.
        catalog({}, ())

    def learn(self, workspace: str, samples: Sequence[CountSample]) -> None:
        """Take counts that this process has just stored into the next check."""
        self._learned.append((workspace, samples))

    def saw(self, workspace: str, sequences: Sequence[Campaign], at: float) -> None:
        account = self._accounts[workspace]
        account.sequences, account.seen_at = sequences, at

    async def __call__(self, due: Sequence[Job], _deadline: float) -> Mapping[Job, End]:
        """Evaluate every rule of these workspaces. Raises `RecordsUnavailable`."""
        await self._evaluate({job.workspace.lower() for job in due})
        return {job: Again(after=EVERY, attempts=0) for job in due}

    async def _evaluate(self, due: Collection[str]) -> None:
        stored, switches = (
            await self._store.guardrails.all_rules(),
            await self._store.guardrails.all_switches(),
        )
        await self._read(self._spans_of(stored))
        all_off = any(is_on(one, now=self._now) for one in switches.get(ALL, ()))
        workspaces = [name for name in self._accounts if name.lower() in due]
        open_ = {
            (one.workspace, one.rule, one.subject): one
            for one in await self._store.incidents.open()
            if one.workspace in workspaces
        }
        held: set[tuple[str, str, str]] = set()
        for workspace in workspaces:
            rules = {} if all_off else self._catalog(workspace, stored.get(workspace, ()))
            off = switches.get(workspace, ())
            rules = {name: one for name, one in rules.items() if not _off(name, off, now=self._now)}
            held |= await self._check(workspace, rules, open_)
        await self._hand_over(open_.values())
        await self._close(open_, held)

    @property
    def _now(self) -> float:
        return self._store.database.clock()

    async def _read(self, spans: frozenset[float]) -> None:
        """The events since the last check; once an hour, or where a rule looks further back, all events."""
        now = self._now
        await self._hear()
        # What came while other bots evaluated is read again as far back as deliveries may be routed late.
        recent = 0 <= now - self._read_until < OVERLAP / 2
        if not (recent and 0 <= now - self._loaded_at < RELOAD_SECONDS and spans <= self._spans):
            await self._reload(now, spans)
        else:
            found = await self._store.guardrails.happened(now - OVERLAP)
            happened = [row for row in found if row[0] not in self._routed]
            sampled = await self._store.guardrails.sampled(self._read_until - 60)
            await asyncio.to_thread(self._take, happened, sampled)
            self._routed |= {number: one.at for number, _, one in happened}
        broken = await self._store.domains.all_broken()
        for name, account in self._accounts.items():
            account.activity.saw_broken(now, broken.get(name, {}))
        learned, self._learned = self._learned, []
        for workspace, samples in learned:
            await asyncio.to_thread(self._accounts[workspace].activity.add, (), samples)
        self._read_until = now
        self._routed = {number: at for number, at in self._routed.items() if at > now - 2 * OVERLAP}

    async def _hear(self) -> None:
        """When the first delivery came, to the workspaces where none had."""
        for name, account in self._accounts.items():
            if account.heard_since == float("inf"):
                account.heard_since = await self._store.guardrails.heard_since(name) or float("inf")
            account.activity.heard_since = account.heard_since

    async def _reload(self, now: float, spans: frozenset[float]) -> None:
        """Read everything again, in threads and in portions: of a large account it is millions of rows."""
        self._loaded_at = float("-inf")  # one that fails is begun again before anything is evaluated
        for account in self._accounts.values():
            account.activity = Activity()  # before the new one, so that there is memory for one only
            account.activity.heard_since = account.heard_since
        self._routed = {}
        for start, end in days(now):
            happened = await self._store.guardrails.happened(start, end)
            await asyncio.to_thread(self._take, happened, ())
            self._routed |= {number: one.at for number, _, one in happened if one.at > now - 2 * OVERLAP}
        heard = {one.heard_since for one in self._accounts.values()}
        for start, end, is_edge in portions(now, spans, begins=heard, serves=RELOAD_SECONDS + EVERY):
            sampled = await self._store.guardrails.sampled(start, end, last_only=not is_edge)
            await asyncio.to_thread(self._take, (), sampled)
        self._loaded_at, self._spans = now, spans

    def _take(
        self, happened: Iterable[tuple[int, str, Happening]], sampled: Iterable[tuple[str, CountSample]]
    ) -> None:
        for _, workspace, one in happened:
            if workspace in self._accounts:
                self._accounts[workspace].activity.add((one,))
        for workspace, sample in sampled:
            if workspace in self._accounts:
                self._accounts[workspace].activity.add((), (sample,))

    def _spans_of(self, stored: Mapping[str, Sequence[StoredRule]]) -> frozenset[float]:
        return spans_of(
            named.rule
            for workspace in self._accounts
            for named in self._catalog(workspace, stored.get(workspace, ())).values()
        )

    def _catalog(self, workspace: str, stored: Sequence[StoredRule]) -> dict[str, NamedRule]:
        known = self._rules.get(workspace)
        if known is None or known[0] != stored:
            configured = self._contexts.settings.guardrails(workspace)
            self._rules[workspace] = known = (stored, catalog(configured, stored))
        return known[1]

    async def _check(
        self,
        workspace: str,
        rules: Mapping[str, NamedRule],
        open_: Mapping[tuple[str, str, str], Incident],
    ) -> set[tuple[str, str, str]]:
        """Fire rules whose condition holds and that aren't firing yet; returns those whose condition holds."""
        activity, now = self._accounts[workspace].activity, self._now
        held: set[tuple[str, str, str]] = set()
        doubts: dict[str, str] = {}
        for name, why, found in await asyncio.to_thread(_judge, rules, activity, now):
            named = rules[name]
            if why:
                doubts[name] = why
            for one in found:
                place = (workspace, name, one.subject)
                held.add(place)
                if place not in open_ and not why:
                    await self._fire(workspace, named, one)
        if doubts and activity.last_poll(at=now) is not None:
            held.add((workspace, DATA, ""))
            if (workspace, DATA, "") not in open_:
                await self._say_waiting(workspace, doubts)
        return held

    async def _fire(self, workspace: str, named: NamedRule, one: Finding) -> None:
        rule, note = named.rule, measured(named.rule.condition, one)
        claim = Claim(
            workspace=workspace,
            rule=named.name,
            sentence=str(rule),
            action=rule.action,
            subject=one.subject,
            label=one.label,
            note=note,
            per_day=rule.per_day,
        )
        if rule.action is not Action.TELL and await self._is_paused(workspace, rule, one):
            return
        why = ""
        if rule.action is Action.ACT:
            why = await self._not_permitted(workspace, named)
            why = why or await self.acts.act(claim, rule)
            if not why:
                return
        await self._say(claim, rule, why)

    async def _is_paused(self, workspace: str, rule: Rule, one: Finding) -> bool:
        """Whether there is nothing left to pause: it fires when one of the sequences is active again."""
        known = self._accounts[workspace].sequences
        if rule.scope is Scope.SEQUENCE:
            known = [sequence for sequence in known if subject_key(sequence.label) == one.subject]
        elif rule.scope is Scope.DOMAIN:
            seen = await self._store.guardrails.seen_on(workspace, one.subject, self._now - HORIZON)
            known = [sequence for sequence in known if subject_key(sequence.label) in seen]
        return bool(known) and all(sequence.status == "paused" for sequence in known)

    async def _not_permitted(self, workspace: str, named: NamedRule) -> str:
        """Why the rule may not act in the name of who added it."""
        if self._permitted is None or not named.added_by:
            return ""
        channel = place_of(self._contexts, workspace)
        if await self._permitted(named.added_by, channel):
            return ""
        return f"Only a suggestion: @{named.added_name}, who added the rule, no longer has permission to pause sequences."

    async def _say(self, claim: Claim, rule: Rule, why: str) -> None:
        """Suggest or notify, once."""
        card = self._card(claim, rule, why)
        action = Action.TELL if rule.action is Action.TELL else Action.SUGGEST
        claim = replace(claim, action=action, domain=await self._domain_of(claim, rule))
        key = f"guard:{claim.workspace}:{claim.rule}:{claim.subject}:{self._now:.0f}"
        urgency = INCIDENT if claim.domain else 1
        post = self._post(claim.workspace, key, card, urgency=urgency)
        begun = await self._store.incidents.begin(claim, post, together=self._together)
        if begun.incident:
            log.info("guardrail fired", workspace=claim.workspace, rule=claim.rule, action=str(action))
            self._planned()

    async def _domain_of(self, claim: Claim, rule: Rule) -> str:
        """The domain whose trouble the finding is, which is told once; empty: the finding is told by itself."""
        if rule.action is Action.ACT:  # it says why the rule doesn't pause
            return ""
        if rule.scope is Scope.DOMAIN:
            return claim.subject
        if rule.scope is Scope.INBOX:
            return claim.subject.rpartition("@")[2]
        kind = EVENT_OF.get(rule.condition.metric)
        if rule.scope is not Scope.SEQUENCE or kind not in TROUBLES:
            return ""
        since = self._now - rule.condition.window.total_seconds()
        return await self._store.guardrails.origin(claim.workspace, claim.subject, kind, since)

    def _together(self, told: Sequence[Incident]) -> str:
        """The note of the message that tells of all that was found on one domain."""
        found = [(one, self._card(one, parse(one.sentence), "")) for one in told]
        return self._note(told[0].workspace, cards.together(found))

    async def _hand_over(self, open_: Iterable[Incident]) -> None:
        """Leave to the card of a domain's pause what a message told of it."""
        for told, one in {one.told: one for one in open_ if one.told and one.domain}.items():
            card = cards.handed_over(one.domain)
            if await self._store.incidents.hand_over(one, self._note(one.workspace, card)):
                log.info("guardrail on the card of a pause", workspace=one.workspace, message=told)
                self._planned()

    def _card(self, claim: Claim | Incident, rule: Rule, why: str) -> Card:
        footer = footer_of(self._contexts, claim.workspace)
        if rule.action is Action.TELL:
            return cards.notice(claim.rule, rule, claim.label, claim.note, footer=footer)
        target = cards.target_of(rule, claim.label)
        if rule.scope is Scope.SEQUENCE:
            known = [
                s for s in self._accounts[claim.workspace].sequences if subject_key(s.label) == claim.subject
            ]
            target = known[0].id if len(known) == 1 else target
        return cards.suggestion(
            claim.rule, rule, claim.label, claim.note, target=target, why=why, footer=footer
        )

    def _note(self, workspace: str, card: Card) -> str:
        if len(self._contexts.clients) > 1:
            card = with_workspace(card, workspace=workspace)
        return notes.write_note(card)

    def _post(
        self, workspace: str, key: str, card: Card, *, urgency: int = 1, at_once: bool = False
    ) -> PlannedPost:
        channel = place_of(self._contexts, workspace)
        quiet = self._contexts.settings.routes.channel_policy(channel).quiet_until(self._now)
        return PlannedPost(
            dedupe=key,
            channel=channel,
            kind="note",
            urgency=urgency,
            note=self._note(workspace, card),
            held_until=None if at_once else quiet,
        )

    async def _say_waiting(self, workspace: str, doubts: Mapping[str, str]) -> None:
        why = next(iter(doubts.values()))
        card = cards.waiting(tuple(doubts), why, footer=footer_of(self._contexts, workspace))
        claim = Claim(
            workspace=workspace, rule=DATA, sentence="", action=Action.TELL, subject="", label="", note=why
        )  # fmt: skip
        post = self._post(workspace, f"guard:{workspace}:{DATA}:{self._now:.0f}", card, at_once=True)
        if (await self._store.incidents.begin(claim, post)).incident:
            self._planned()

    async def _close(
        self, open_: Mapping[tuple[str, str, str], Incident], held: Iterable[tuple[str, str, str]]
    ) -> None:
        """Update incidents that still hold, and end those that haven't held for long enough."""
        now, held = self._now, set(held)
        still = [one.id for place, one in open_.items() if place in held and now - one.held_at > HELD_EVERY]
        if still:
            await self._store.incidents.held(still)
        for place, one in open_.items():
            if place in held or one.state not in {"done", "failed"}:
                continue
            if one.rule != DATA and now - one.held_at <= CLEAR_SECONDS:
                continue
            if await self._store.incidents.end(one, partial(self._over, one)):
                self._planned()

    def _over(self, ended: Incident, left: Sequence[Incident]) -> str:
        """The note of a message, once one of the incidents of which it told has ended."""
        if left:
            return self._together(left)
        footer = footer_of(self._contexts, ended.workspace)
        card = cards.trusted_again(footer=footer) if ended.rule == DATA else cards.over(ended, footer=footer)
        return self._note(ended.workspace, card)

    async def release_timers(self) -> None:
        """Delete the timer of a pause that someone has ended, so that their later pause isn't affected."""
        seen = {
            name: (one.seen_at, frozenset(s.id for s in one.sequences if s.status == "active"))
            for name, one in self._accounts.items()
        }
        await self.acts.release_timers(seen)


def _judge(
    rules: Mapping[str, NamedRule], activity: Activity, now: float
) -> list[tuple[str, str, list[Finding]]]:
    """For each rule why it must not act, and the subjects for which it holds."""
    return [
        (
            name,
            doubt(named.rule, activity, now=now) if named.rule.action is Action.ACT else "",
            holding(named.rule, activity, now=now),
        )
        for name, named in rules.items()
    ]


def _off(rule: str, switches: Sequence[Switch], *, now: float) -> bool:
    return any(one.rule == rule and is_on(one, now=now) for one in switches)
