"""The campaign: pops what happens next from the account's agenda, in order, and puts there what follows from it.

Everything happens at its own moment and every dice has a key of its own, so the course doesn't depend on how often time
advances. The past is the same run, begun weeks earlier.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, NamedTuple

from sandbox.service import rules
from sandbox.service.account import COLUMN, Account, Domain, Event, Inbox, Lead, Sequence
from sandbox.service.dice import roll
from sandbox.service.errors import NotFound
from sandbox.service.moments import DAY, HOUR, date_of, day_of
from sandbox.service.rules import Counts
from sandbox.service.scenarios import Scenario, ScheduledEvent

PAUSE, REVIEW, REFILL, WAKE, SLOT, RESPONSE, ACT = range(7)
"""The entries of the agenda; at the same moment they happen in this order."""
_RECENT_DAYS = 5
_JUDGED_DAYS = 6
_ENTRIES_A_LOOK = 64
"""The campaign does so many entries between two looks at the clock."""

CAUSES = {
    "lead.replied": "reply",
    "reply.interested": "interested",
    "reply.ooo": "ooo",
    "lead.bounced": "bounce_hard",
    "lead.unsubscribed": "unsubscribe",
    "sequence.completed": "completed",
}
"""Each event on demand or of a scenario, with the response that causes it."""


class Response(NamedTuple):
    """The response of a lead, or its mail server, to a step."""

    lead: int
    step: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRequest:
    """An event on demand, or of a scenario: what happens, how often, about whom, and what its body says otherwise."""

    kind: str
    workspace: int
    count: int = 1
    sequence: int | None = None
    lead: int | None = None
    domain: int | None = None
    payload: dict[str, Any] = field(default_factory=dict)


class Campaign:
    """Lets the account live; `publish` is called with each event."""

    def __init__(
        self, account: Account, scenario: Scenario, *, publish: Callable[[Event], None] | None = None
    ) -> None:
        self.account = account
        self._scenario = scenario
        self._publish_to = publish
        # In the order of the ranks; each takes the number and the rest of its entry.
        self._handlers: tuple[Callable[[int, Any], None], ...] = (
            self._pause_as_planned,
            self._review,
            self._refill,
            self._wake,
            self._use_slot,
            self._respond,
            self._act,
        )

    @property
    def now(self) -> float:
        """The moment of the entry that is done."""
        return self.account.now

    def run(self, until: float, *, seconds: float = math.inf) -> bool:
        """Let everything up to `until` happen; False when `seconds` of real time were not enough for all of it."""
        account, agenda = self.account, self.account.agenda
        ends = time.monotonic() + seconds
        done = 0
        while agenda and agenda[0][0] <= until:
            account.now, rank, number, what = heappop(agenda)
            self._handlers[rank](number, what)
            done += 1
            if done % _ENTRIES_A_LOOK == 0 and time.monotonic() > ends:
                return False
        account.now = max(account.now, until)
        return True

    def schedule(self, at: float, rank: int, number: int = 0, what: Any = None) -> None:
        heappush(self.account.agenda, (at, rank, number, what))

    def schedule_inbox(self, inbox: Inbox) -> None:
        """Plan the inbox's next slot; a slot that was planned before is void."""
        plan, now = self.account.sequences[inbox.sequence].plan, self.now
        key, day = (self.account.seed, inbox.number), day_of(now)
        inbox.slots.clear()
        for ahead in range(9):
            slots = plan.slots_of_day(day + ahead, limit=inbox.daily_limit, key=key)
            inbox.slots = [slot for slot in reversed(slots) if slot > now]
            if inbox.slots:
                self.schedule(inbox.slots[-1], SLOT, inbox.number)
                return

    def trigger(self, request: EventRequest) -> int:
        """Let an event happen now, and return how many times it did. Leads that run out are replaced by strangers.

        Raises `NotFound`: there is no such lead or domain, or nothing in the workspace to send from.
        """
        if request.kind == "domain.paused":
            return self._pause_on_demand(request)
        cause = CAUSES[request.kind]
        if request.lead is None:
            reached = self._choose(request, key=(self.now, request.kind, self.account.events))
        else:
            reached = [self._named(request)]
        for lead in reached:
            self._respond(0, Response(lead.number, lead.step, cause), request.payload)
        strangers = 0 if request.lead is not None else request.count - len(reached)
        for _ in range(strangers):
            self._tell_of_a_stranger(request, cause)
        return len(reached) + strangers

    # --- sending

    def _use_slot(self, number: int, _: Any) -> None:
        inbox = self.account.inboxes[number]
        if not inbox.slots or inbox.slots[-1] != self.now:
            return  # planned again since
        inbox.slots.pop()
        sequence = self.account.sequences[inbox.sequence]
        if sequence.status == "active" and inbox.status != "resting":
            lead = self._follow_up(inbox) or self._fresh(sequence)
            if lead is not None:
                self._send(lead, inbox, sequence)
        if inbox.slots:
            self.schedule(inbox.slots[-1], SLOT, number)
        else:
            self.schedule_inbox(inbox)

    def _follow_up(self, inbox: Inbox) -> Lead | None:
        while inbox.waiting and inbox.waiting[0][0] <= self.now:
            due_at, number = heappop(inbox.waiting)
            lead = self.account.leads[number]
            # Removed, settled, or put off since it was put on the heap.
            if lead is not None and lead.due_at == due_at:
                return lead
        return None

    def _fresh(self, sequence: Sequence) -> Lead | None:
        while sequence.queue:
            lead = self.account.leads[sequence.queue.popleft()]
            if lead is not None and lead.step == 0 and lead.due_at is not None:
                return lead
        return None

    def _send(self, lead: Lead, inbox: Inbox, sequence: Sequence) -> None:
        """Send the lead its next step; its follow-ups come from the same inbox."""
        account, step, now = self.account, lead.step + 1, self.now
        day = day_of(now)
        self._count(("sends",), lead, inbox, step=step)
        reaction = rules.outcome(
            seed=account.seed,
            lead=lead.number,
            step=step,
            day=day,
            health=inbox.health,
            appeal=sequence.plan.appeal * rules.mood(seed=account.seed, sequence=sequence.number, day=day),
            conditions=self._scenario.conditions(
                now - account.founded_at,
                domain=account.domains[inbox.domain].name,
            ),
        )
        due_at = None
        if reaction is not None:
            self._expect(reaction.delay, Response(lead.number, step, reaction.kind))
        elif step < sequence.plan.steps:
            due_at = now + rules.step_gap(step)
            heappush(inbox.waiting, (due_at, lead.number))
        else:
            self._expect(rules.FINISH_AFTER, Response(lead.number, step, "completed"))
        account.leads[lead.number] = lead.moved(now, lead.status, step, inbox.number, due_at)

    def _count(self, what: Iterable[str], lead: Lead, inbox: Inbox, *, step: int) -> None:
        """Count in every grouping alike, so that their totals agree."""
        workspace, day = self.account.workspaces[lead.workspace], day_of(self.now)
        for name in what:
            column = COLUMN[name]
            inbox.tally.add(day, column)
            workspace.tally("step", str(step)).add(day, column)
            workspace.tally("variant", rules.variant_of(lead=lead.number, step=step)).add(day, column)

    def _refill(self, _: int, __: Any) -> None:
        """Customers import new leads before a sequence runs dry: half a day's worth at a time."""
        account = self.account
        for sequence in account.sequences.values():
            if sequence.status != "active":
                continue
            wanted = sum(account.inboxes[number].daily_limit for number in sequence.inboxes) // 2
            if len(sequence.queue) < wanted // 2:
                for _ in range(wanted):
                    account.add_lead(sequence, None, at=self.now)
        self.schedule(self.now + HOUR, REFILL)

    def _pause_as_planned(self, number: int, _: Any) -> None:
        self.account.sequences[number].status = "paused"

    # --- responses

    def _expect(self, delay: float, response: Response) -> None:
        self.account.entries += 1
        self.schedule(self.now + delay, RESPONSE, self.account.entries, response)

    def _respond(self, _: int, response: Response, payload: dict[str, Any] | None = None) -> None:
        """Let a response take effect, unless its lead has been removed or is past it."""
        account = self.account
        lead = account.leads[response.lead]
        effect = rules.EFFECTS[response.kind]
        # It may have been settled since the response was on its way.
        if lead is None or lead.status not in effect.to:
            return
        inbox = account.inboxes[lead.inbox]
        self._count(effect.counts, lead, inbox, step=response.step)
        away = 0
        if response.kind == "ooo":
            away = rules.days_away(seed=account.seed, lead=lead.number, step=response.step)
        settled = self._settle(lead, response, away=away)
        for event in effect.events:
            self._tell(event, settled, response, away=away, payload=payload or {})
        if effect.harms:
            self._judge(account.domains[inbox.domain])

    def _settle(self, lead: Lead, response: Response, *, away: int) -> Lead:
        """Return the lead as it is after the response, and plan what it sends later."""
        account, kind, step = self.account, response.kind, response.step
        effect, dice = rules.EFFECTS[kind], {"seed": account.seed, "lead": lead.number, "step": step}
        due_at, now_at = None, step
        if kind == "bounce_soft":  # sent again a day later
            due_at, now_at = self.now + DAY, step - 1
        elif kind == "ooo" and step < account.sequences[lead.sequence].plan.steps:
            due_at = self.now + away * DAY
        elif kind == "ooo":
            self._expect(rules.FINISH_AFTER, response._replace(kind="completed"))
        if due_at is not None:
            heappush(account.inboxes[lead.inbox].waiting, (due_at, lead.number))
        if effect.blocks:
            account.workspaces[lead.workspace].blocklist.add(lead.who.email.lower())
        again = rules.writes_again(kind, **dice)
        if again is not None:
            self._expect(again.delay, response._replace(kind=again.kind))
        delay = rules.books_meeting(**dice) if kind in {"interested", "turned"} else None
        if delay is not None:
            self._expect(delay, response._replace(kind="meeting"))
        settled = lead.moved(self.now, effect.status or lead.status, now_at, lead.inbox, due_at)
        account.leads[lead.number] = settled
        return settled

    def _tell(self, kind: str, lead: Lead, response: Response, *, away: int, payload: dict[str, Any]) -> None:
        if self._publish_to is None:  # of the past nobody is told
            self.account.events += 1
            return
        event = Event(
            kind=kind,
            at=self.now,
            workspace=lead.workspace,
            cause=response.kind,
            lead=lead,
            sequence=self.account.sequences[lead.sequence].plan.name,
            step=response.step,
            inbox=self.account.inboxes[lead.inbox].email,
            returns=date_of(self.now + away * DAY),
            payload=payload,
        )
        self._publish(event)

    def _publish(self, event: Event) -> None:
        self.account.events += 1
        if self._publish_to is not None:
            self._publish_to(event)

    # --- health of inboxes and domains

    def _review(self, _: int, __: Any) -> None:
        """The daily review at the start of a UTC day: scores follow the last days, warm-up raises limits."""
        account, day = self.account, day_of(self.now)
        for inbox in account.inboxes.values():
            counts = inbox.tally.between(day - _RECENT_DAYS, day - 1)
            key = (account.seed, inbox.number, day)
            inbox.health = rules.health_tomorrow(inbox.health, counts, key=key)
            if inbox.status == "warming":
                limit = rules.limit_tomorrow(inbox.daily_limit, inbox.full_limit, health=inbox.health)
                self._warm_up(inbox, limit)
        for domain in account.domains.values():
            statuses = {account.inboxes[number].status for number in domain.inboxes}
            if domain.state == "warming" and statuses == {"active"}:
                domain.state = "healthy"
        self.schedule(self.now + DAY, REVIEW)

    def _warm_up(self, inbox: Inbox, limit: int) -> None:
        """Let the inbox send so many a day; with its full number it is warm."""
        inbox.daily_limit = limit
        inbox.status = "active" if limit >= inbox.full_limit else "warming"
        self.schedule_inbox(inbox)

    def _judge(self, domain: Domain) -> None:
        """Pause a domain whose last days deserve it (document: domain.paused)."""
        # In the past nothing is judged: the plan says how the account stands on its first day. A domain that is
        # warming up is watched by people already.
        if not self.account.founded_at or domain.state != "healthy":
            return
        today, counts = day_of(self.now), Counts()
        # Two days, or as many as have enough sends: on a Sunday that goes back to Friday.
        for first in range(today - 1, today - _JUDGED_DAYS - 1, -1):
            counts = self.account.counts(domain.inboxes, first, today)
            if counts.sends >= rules.ENOUGH_SENDS:
                break
        reason = rules.reason_to_pause(counts)
        if reason is not None:
            self._pause_domain(domain, reason=reason, counts=counts, payload={})

    def _pause_domain(self, domain: Domain, *, reason: str, counts: Counts, payload: dict[str, Any]) -> None:
        """Auto-pause: the domain's inboxes rest, and subscribers are notified."""
        inboxes = [self.account.inboxes[number] for number in domain.inboxes]
        for inbox in inboxes:
            inbox.status = "resting"
            inbox.slots.clear()
        domain.state, domain.paused_at = "paused", self.now
        self.schedule(self.now + rules.REST, WAKE, domain.number, self.now)
        rate = counts.rate(counts.bounces if reason == "bounce_rate" else counts.complaints)
        told = {
            "domain": domain.name,
            "reason": reason,
            "rate": round(rate, 4),
            "inboxes": sorted(inbox.email for inbox in inboxes),
        }
        self._publish(Event("domain.paused", self.now, domain.workspace, reason, payload=told | payload))

    def _wake(self, number: int, paused_at: float) -> None:
        """Let a domain that has rested long enough warm up."""
        domain = self.account.domains[number]
        if domain.paused_at != paused_at:
            return  # paused once more since
        domain.state = "warming"
        for inbox in (self.account.inboxes[number] for number in domain.inboxes):
            self._warm_up(inbox, rules.limit_after_rest(inbox.full_limit))

    # --- events of scenarios and on demand

    def _act(self, _: int, what: tuple[int, ScheduledEvent]) -> None:
        """Carry out a scenario's event, in the first workspace if it names no domain."""
        account, (turn, event) = self.account, what
        domain = account.domain_named(event.domain) if event.domain else None
        request = EventRequest(
            kind=event.kind,
            workspace=domain.workspace if domain else 1,
            count=event.count,
            domain=domain.number if domain else None,
        )
        bounces = event.kind == "lead.bounced"
        for lead in self._choose(request, key=(event.at + turn * event.every, event.kind), sending=bounces):
            step = lead.step
            if bounces:  # of mail that goes out now: what isn't sent can't bounce
                step = min(step + 1, account.sequences[lead.sequence].plan.steps)
                self._count(("sends",), lead, account.inboxes[lead.inbox], step=step)
            self._respond(0, Response(lead.number, step, CAUSES[event.kind]))

    def _choose(self, request: EventRequest, *, key: tuple[object, ...], sending: bool = False) -> list[Lead]:
        """Leads that have been written to and have not answered, from a place in the list that the key decides.

        `sending`: only of active sequences, and of inboxes that aren't resting.
        """
        account, found = self.account, list[Lead]()
        start = int(len(account.leads) * roll("choose", account.seed, *key))
        for lead in (*account.leads[start:], *account.leads[:start]):
            if lead is None or not self._is_reached(lead, request):
                continue
            inbox = account.inboxes[lead.inbox]
            is_sending = account.sequences[lead.sequence].status == "active" and inbox.status != "resting"
            if request.domain in {None, inbox.domain} and (is_sending or not sending):
                found.append(lead)
            if len(found) == request.count:
                break
        return found

    def _is_reached(self, lead: Lead, request: EventRequest) -> bool:
        """Return True for a lead of the request's workspace and sequence that was written to and hasn't answered."""
        is_meant = lead.workspace == request.workspace and request.sequence in {None, lead.sequence}
        return is_meant and lead.status == "active" and lead.step >= 1

    def _named(self, request: EventRequest) -> Lead:
        lead = self.account.lead(request.lead)
        if lead is None or not self._is_reached(lead, request):
            raise NotFound("No lead matches that was contacted and hasn't replied yet.")
        return lead

    def _tell_of_a_stranger(self, request: EventRequest, cause: str) -> None:
        """Tell an event about someone who isn't a lead: the account doesn't change."""
        account = self.account
        for inbox in account.inboxes.values():
            if inbox.workspace == request.workspace and request.sequence in {None, inbox.sequence}:
                break
        else:
            raise NotFound("The workspace has no sequence with an inbox that can receive a reply.")
        account.entries += 1
        # A lead's number is positive, so no lead ever has this one's name.
        number = -account.entries
        person = (account.seed, number)
        stranger = Lead(number, request.workspace, inbox.sequence, self.now, person, inbox=inbox.number)
        self._tell(request.kind, stranger, Response(number, 1, cause), away=7, payload=request.payload)

    def _pause_on_demand(self, request: EventRequest) -> int:
        mine = [
            one
            for one in self.account.domains.values()
            if one.workspace == request.workspace and request.domain in {None, one.number}
        ]
        if not mine:
            raise NotFound("This domain doesn't exist in this workspace.")
        mine.sort(key=lambda domain: domain.state == "paused")
        counts = Counts(sends=100, bounces=8, complaints=1)
        chosen = mine[: request.count]
        for domain in chosen:
            self._pause_domain(domain, reason="bounce_rate", counts=counts, payload=request.payload)
        return len(chosen)
