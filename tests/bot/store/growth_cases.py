"""What each repository method is tried with on skewed data, and how it may grow with that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bot.alerts.routing import Routes
from shared.api.models import Subscription as WebhookSubscription
from shared.domain.wall_clock import moment
from shared.domain_health.report import DomainReport
from shared.records.audit import Actor, AuditEntry
from shared.records.guardrails import CountSample, Incident, StoredRule, Switch
from shared.records.records import Subscription
from shared.records.sequence_changes import ChangeResult, SequenceChange, Timer
from shared.store import Store
from shared.store.alerts import AlertChange, ReminderTimes, ReminderWords, Trace
from shared.store.deliveries import Arrival
from shared.store.domains import Checked, DueDomain
from shared.store.erasure import Traces
from shared.store.guardrails import Claim
from shared.store.jobs import ACT, DIGEST, EVALUATE, KINDS, RELEASE, REMIND, RESUME, Again, Job
from shared.store.messages import PlannedPost, Post
from shared.store.people import Candidates
from shared.store.posting import ChannelLease, Look, Sent
from shared.store.subscriptions import DueDigest
from shared.store.webhooks import WebhookSubscriptions
from tests.bot.due import claim_lookups, claim_paints, claim_turns, due_domain
from tests.bot.harness import interested
from tests.bot.store.skewed_data import (
    CALM,
    DAY,
    EMAIL,
    HOUR,
    REFUSED,
    SENTENCE,
    SHARED,
    STALE,
    UNCERTAIN,
    WORKSPACE,
)

ANN, BEN = Actor(name="ann", id="U1", face="slack"), Actor(name="ben", id="U2", face="slack")
CANDIDATES = Candidates(rota="routes", people=("U1", "U2"), pass_after=600.0)
NOTE = PlannedPost(dedupe="note", channel="C9", kind="note", note="{}")


@dataclass(frozen=True, kw_only=True)
class Skewed:
    """A store with skewed data, and the repositories that are made with more than a database."""

    store: Store
    webhooks: WebhookSubscriptions
    count: int
    workspace: str = WORKSPACE

    @property
    def now(self) -> float:
        return self.store.database.clock()


Act = Callable[[Skewed, Any], Awaitable[object]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """How a method is called. `lists`: why it may read in proportion to what there is; empty: it may not."""

    act: Act
    lists: str = ""
    given: Callable[[Skewed], Awaitable[object]] | None = None
    """What is done before, and not counted; the act takes its result."""
    commits: bool = False
    """It writes in transactions of its own, and again what is there."""


def flat(act: Callable[[Skewed], Awaitable[object]], **more: Any) -> Case:
    return Case(act=lambda one, _given: act(one), **more)


def lists(why: str, act: Callable[[Skewed], Awaitable[object]], **more: Any) -> Case:
    return Case(act=lambda one, _given: act(one), lists=why, **more)


def _no_card(*_: object) -> PlannedPost:
    return NOTE


def _trace(*_: object) -> Trace:
    return Trace(note="{}")


def _post(number: int, channel: str, **values: Any) -> Post:
    given = {
        "id": number, "dedupe": "x", "workspace": WORKSPACE, "channel": channel, "kind": "alert", "alert_id": "al_open0",
        "note": "", "bundle": "", "thread_ts": "", "ts": "5.0", "version": 0, "attempts": 0, "lookups": 0,
        "tried_until": None, "created_at": 0.0,
    }  # fmt: skip
    return Post(**{**given, **values})


def _entry(one: Skewed, *sequences: str) -> AuditEntry:
    return AuditEntry(
        at=moment(one.now),
        actor=ANN,
        workspace=one.workspace,
        command="pause",
        result="",
        sequences=sequences,
    )


def _claim(one: Skewed) -> Claim:
    return Claim(
        workspace=one.workspace, rule="rule1", sentence=SENTENCE, action="tell", subject="new", label="", note="", per_day=5
    )  # fmt: skip


async def _act(one: Skewed) -> tuple[Job, Incident]:
    """One that is to act."""
    begun = await one.store.incidents.begin(_claim(one))
    assert begun.incident
    return await _job(one, ACT), begun.incident


async def _incident(one: Skewed) -> Incident:
    return (await _act(one))[1]


async def _paint(one: Skewed) -> Job:
    return (await claim_paints(one.store, limit=1))[0]


async def _job(one: Skewed, kind: str = RESUME) -> Job:
    (job,) = await one.store.jobs.claim(kind, lease=10.0, limit=1, workspaces=[one.workspace])
    return job


def _words(times: ReminderTimes) -> ReminderWords:
    return ReminderWords(
        times=times,
        due=lambda _due, _now: (),
        passed=lambda _passed, _now: (),
        candidates=lambda _alert, _now: CANDIDATES,
    )


NO_WORDS = _words(ReminderTimes())
SOON = _words(ReminderTimes(remind=60.0, escalate=120.0, unfinished=60.0))


async def _acts(one: Skewed) -> None:
    """Every act on a reply, one after the other."""
    alerts, until = one.store.alerts, one.now + HOUR
    acts: Sequence[Callable[[], Awaitable[AlertChange | None]]] = (
        lambda: alerts.act("al_open1", "snooze", ANN, until=until),
        lambda: alerts.act("al_open1", "wake", ANN),
        lambda: alerts.act("al_open1", "claim", ANN),
        lambda: alerts.act("al_open1", "remind", ANN, until=until),
        lambda: alerts.act("al_open1", "takeover", BEN, instead_of="U1", trace=_trace),
        lambda: alerts.act("al_open1", "release", BEN, trace=_trace),
        lambda: alerts.act("al_open1", "assign", ANN, person=BEN, trace=_trace),
        lambda: alerts.act("al_open1", "done", BEN),
        lambda: alerts.act("al_open1", "reopen", ANN),
    )
    for act in acts:
        change = await act()
        assert change
        assert change.changed


async def _lease(one: Skewed) -> ChannelLease:
    (turn,) = await claim_turns(one.store, limit=1)
    assert turn.channel == CALM
    return turn


async def _change(one: Skewed) -> SequenceChange:
    change = await one.store.changes.begin(one.workspace, "sq1", status="paused")
    assert change
    return change


async def _lookup(one: Skewed) -> Any:
    (lookup,) = await claim_lookups(one.store, limit=1)
    assert lookup.channel == UNCERTAIN
    return lookup


async def _prune(one: Skewed) -> None:
    while (await one.store.retention.prune(bodies_after=5 * DAY, hashes_after=8 * DAY)).more:
        pass


def _month(one: Skewed) -> tuple[datetime, datetime]:
    return moment(one.now) - timedelta(days=30), moment(one.now)


LISTED = "it returns them"
DUE = "all are due"
SINCE = "it reads what was changed since"
OF_CHANNEL = "it is about all posts of the channel"


def _routes() -> Routes:
    return Routes(alert_channels={WORKSPACE: CALM})


ALERTS: Mapping[str, Case] = {
    "Alerts.act": flat(_acts),
    "Alerts.acknowledge": flat(lambda one: one.store.alerts.acknowledge("al_domain1", ANN)),
    "Alerts.channels": flat(lambda one: one.store.alerts.channels("al_open1")),
    "Alerts.expect_visit": flat(lambda one: one.store.alerts.expect_visit("al_mine1", ANN)),
    "Alerts.take_visit": flat(lambda one: one.store.alerts.take_visit("al_mine1")),
    "Alerts.find": flat(lambda one: one.store.alerts.find("al_open1")),
    "Alerts.claimed_by": flat(lambda one: one.store.alerts.claimed_by("U1")),
    "Alerts.in_message": flat(lambda one: one.store.alerts.in_message([STALE], "5.1")),
    "Alerts.messages": flat(lambda one: one.store.alerts.messages(["al_open1", "al_open2"])),
    "Turns.leave": lists("it looks at each turn that goes on", lambda one: one.store.turns.leave(ANN, until=None)),
    "Turns.come_back": flat(lambda one: one.store.turns.come_back("U1")),
    "Alerts.remind": Case(
        given=lambda one: one.store.jobs.claim(REMIND, lease=10.0, limit=16, workspaces=[]),
        act=lambda one, claimed: one.store.alerts.remind(claimed, SOON),
    ),
    "Alerts.note_times": lists(
        "it wakes them all", lambda one: one.store.alerts.note_times(ReminderTimes(remind=1.0))
    ),
    "Confirmations.ask": flat(
        lambda one: one.store.confirmations.ask("{}", person="U1", workspace=one.workspace, seconds=60)
    ),
    "Confirmations.look": flat(lambda one: one.store.confirmations.look("q1", "U1")),
    "Confirmations.take": flat(lambda one: one.store.confirmations.take("q1")),
    "Confirmations.settle": flat(lambda one: one.store.confirmations.settle("q1", "done")),
    "SequenceChanges.revisions": lists(LISTED, lambda one: one.store.changes.revisions(one.workspace)),
    "SequenceChanges.begin": flat(_change),
    "SequenceChanges.renew": Case(given=_change, act=lambda one, change: one.store.changes.renew(change)),
    "SequenceChanges.end": Case(
        given=_change,
        act=lambda one, change: one.store.changes.end(change, ChangeResult(outcome="confirmed", keep_timer=True)),
    ),
    "SequenceChanges.doubts": flat(lambda one: one.store.changes.doubts(one.workspace, ["sq1", "sq2"])),
    "Jobs.claim": flat(
        lambda one: one.store.jobs.claim(RESUME, lease=10.0, limit=16, workspaces=[one.workspace])
    ),
    "Jobs.waits": flat(lambda one: one.store.jobs.waits(KINDS, [one.workspace])),
    "Jobs.unknown_kinds": flat(lambda one: one.store.jobs.unknown_kinds()),
    "Jobs.renew": Case(given=_job, act=lambda one, job: one.store.jobs.renew([job], lease=10.0)),
    "Jobs.end": Case(
        given=_job, act=lambda one, job: one.store.jobs.end({job: Again(after=9.0)})
    ),
    "Jobs.sweep": flat(lambda one: one.store.jobs.sweep(dict.fromkeys(KINDS, (10.0, 7_200.0)))),
    "Jobs.keep_going": flat(lambda one: one.store.jobs.keep_going(EVALUATE, [one.workspace])),
    "Jobs.take_over": lists("it frees them all", lambda one: one.store.jobs.take_over()),
    "Jobs.forget_orphans": lists(DUE, lambda one: one.store.jobs.forget_orphans(["other"])),
    "Timers.finish": Case(
        given=_job, act=lambda one, job: one.store.timers.finish([job], lambda _: (_entry(one), NOTE))
    ),
    "Timers.release": flat(lambda one: one.store.timers.release(one.workspace, ["sq1"], due_at=one.now)),
    "Alerts.with_subjects": lists("it looks at paused domains", lambda one: one.store.alerts.with_subjects()),
    "Alerts.sequences": flat(lambda one: one.store.alerts.sequences(one.workspace)),
    "Alerts.turn": flat(lambda one: one.store.alerts.turn(one.workspace, "S1", shown="", state="{}")),
    "Alerts.paused_domains": lists(LISTED, lambda one: one.store.alerts.paused_domains(one.workspace)),
    "Alerts.update": flat(lambda one: one.store.alerts.update("al_open1", "{}", note=NOTE)),
    "Alerts.take_dns": flat(lambda one: one.store.alerts.take_dns(one.workspace, "d0.example")),
}  # fmt: skip

GUARDRAILS: Mapping[str, Case] = {
    "Guardrails.add_rule": flat(
        lambda one: one.store.guardrails.add_rule(one.workspace, StoredRule(name="new", sentence=SENTENCE))
    ),
    "Guardrails.remove_rule": flat(lambda one: one.store.guardrails.remove_rule(one.workspace, "rule1")),
    "Guardrails.switch_off": flat(
        lambda one: one.store.guardrails.switch_off(one.workspace, Switch(rule="rule1", by="", at=one.now))
    ),
    "Guardrails.switch_on": flat(lambda one: one.store.guardrails.switch_on(one.workspace, "off1")),
    "Guardrails.rest_undone": flat(lambda one: one.store.guardrails.rest_undone(1, "ann")),
    "Guardrails.incidents": lists(LISTED, lambda one: one.store.guardrails.incidents(one.workspace, 0.0)),
    "Guardrails.happenings": lists(LISTED, lambda one: one.store.guardrails.happenings(one.workspace, 0.0)),
    "Guardrails.seen_on": lists("it counts them", lambda one: one.store.guardrails.seen_on(one.workspace, "d0.example", 0.0)),
    "Guardrails.origin": lists(
        "it counts them", lambda one: one.store.guardrails.origin(one.workspace, "q3", "lead.bounced", 0.0)
    ),
    "Guardrails.happened": lists(LISTED, lambda one: one.store.guardrails.happened(0.0)),
    "Guardrails.heard_since": flat(lambda one: one.store.guardrails.heard_since(one.workspace)),
    "Guardrails.samples": lists(LISTED, lambda one: one.store.guardrails.samples(one.workspace, 0.0)),
    "Guardrails.sampled": lists(LISTED, lambda one: one.store.guardrails.sampled(0.0, last_only=True)),
    "Guardrails.closed_days": lists(
        "it looks through the counts of the workspace", lambda one: one.store.guardrails.closed_days(one.workspace)
    ),
    "Guardrails.keep": flat(
        lambda one: one.store.guardrails.keep(
            one.workspace, [CountSample(scope="inbox", key="sam0@d0.example", day=int(one.now // DAY), at=one.now)]
        )
    ),
    "Guardrails.prune": lists(DUE, lambda one: one.store.guardrails.prune()),
    "Incidents.begin": lists("the limits of its rule count thirty days", lambda one: one.store.incidents.begin(_claim(one), NOTE)),
    "Incidents.open": lists(LISTED, lambda one: one.store.incidents.open()),
    "Incidents.restate": lists(
        "it reads the open incidents of a message", lambda one: one.store.incidents.restate(one.workspace, "n1", "{}")
    ),
    "Incidents.timed": lists(LISTED, lambda one: one.store.incidents.timed()),
    "Incidents.decided": Case(given=_act, act=lambda one, given: one.store.incidents.decided(given[0])),
    "Incidents.asking": Case(given=_act, act=lambda one, given: one.store.incidents.asking(given[0], given[1], ["sq1"])),
    "Incidents.finish": Case(
        given=_act, act=lambda one, given: one.store.incidents.finish(given[0], given[1], _entry(one), NOTE)
    ),
    "Incidents.held": flat(lambda one: one.store.incidents.held([1, 2])),
    "Incidents.end": Case(given=_incident, act=lambda one, incident: one.store.incidents.end(incident, lambda _left: "{}")),
    "Incidents.hand_over": Case(
        given=_incident,
        act=lambda one, incident: one.store.incidents.hand_over(replace(incident, domain="d1.example", told="n1"), "{}"),
        lists="it looks at every domain that is paused now",
    ),
}  # fmt: skip

QUEUE: Mapping[str, Case] = {
    "Arrivals.append": flat(
        lambda one: one.store.arrivals.append(
            [Arrival(workspace=one.workspace, body=interested(7), at=one.now)]
        )
    ),
    "Arrivals.check": flat(lambda one: one.store.arrivals.check()),
    "Arrivals.try_out": flat(lambda one: one.store.arrivals.try_out(100)),
    "FoundLeads.has_begun": flat(lambda one: one.store.found_leads.has_begun(one.workspace)),
    "FoundLeads.remember": flat(lambda one: one.store.found_leads.remember(one.workspace, ["new@acme.example"])),
    "FoundLeads.compare": lists("it reads the alerts of the leads",
        lambda one: one.store.found_leads.compare(one.workspace, {EMAIL: b"{}", "new@acme.example": b"{}"}, grace=120.0)
    ),
    "Deliveries.route": lists(
        "at most a portion is routed, and compared with the lead's replies of the hour",
        lambda one: one.store.deliveries.route(_routes().decide, limit=10),
    ),
    "Deliveries.oldest_unrouted_age": flat(lambda one: one.store.deliveries.oldest_unrouted_age()),
    "DeadLetters.revive": lists(DUE, lambda one: one.store.dead_letters.revive()),
    "ChannelLeases.turn": flat(_lease),
    "ChannelLeases.broken": lists(LISTED, lambda one: one.store.leases.broken()),
    "DeadLetters.take_over": lists("it frees them all", lambda one: one.store.dead_letters.take_over()),
    "Outcomes.settle": Case(given=_lease, act=lambda one, turn: one.store.outcomes.settle(turn, Sent(ts="8.8"))),
    "Outcomes.close_channel": lists(OF_CHANNEL,
        lambda one: one.store.outcomes.close_channel(SHARED, "is_archived", report=_no_card, used=True)
    ),
    "Outcomes.forget_unused_channels": lists(
        "it gives up each of them",
        lambda one: one.store.outcomes.forget_unused_channels([CALM], errors=["not_in_channel"]),
    ),
    "Outcomes.open_channel": lists(
        OF_CHANNEL, lambda one: one.store.outcomes.open_channel(REFUSED, report=_no_card)
    ),
    "Lookups.place": lists("it looks for a portion", _lookup),
    "Lookups.counts": lists("it counts them", lambda one: one.store.lookups.counts()),
    "Lookups.settle": Case(
        given=_lookup,
        lists="all of them were looked for",
        act=lambda one, lookup: one.store.lookups.settle(lookup, Look(complete=True, pages=1)),
    ),
    "Outbox.plan": flat(lambda one: one.store.outbox.plan(one.workspace, NOTE)),
    "Outbox.release": Case(
        given=lambda one: _job(one, RELEASE),
        act=lambda one, job: one.store.outbox.release(job),
        lists="it lets go of a portion",
    ),
    "Outbox.reaches": flat(lambda one: one.store.outbox.reaches(CALM)),
    "Alerts.standings": lists(
        "it counts what is unclaimed", lambda one: one.store.alerts.standings(one.workspace, most=15)
    ),
    "Alerts.candidates": lists(
        LISTED, lambda one: one.store.alerts.candidates(one.workspace, "U1", done=False)
    ),
    "Alerts.with_words": flat(lambda one: one.store.alerts.with_words(["al_open1"])),
    "Repaints.message": Case(given=_paint, act=lambda one, job: one.store.repaints.message(job)),
    "Repaints.done": Case(given=_paint, act=lambda one, job: one.store.repaints.done(job, [_post(2, STALE)])),
    "Repaints.refused": Case(given=_paint, act=lambda one, job: one.store.repaints.refused(job, [_post(2, STALE)])),
    "Repaints.throttled": Case(given=_paint, act=lambda one, job: one.store.repaints.throttled(job, seconds=1.0)),
    "Repaints.failed": Case(
        given=_paint,
        act=lambda one, job: one.store.repaints.failed(job, STALE, channel_refuses=True),
        lists=OF_CHANNEL,
    ),
    "Repaints.request": flat(lambda one: one.store.repaints.request([STALE], "5.1")),
    "Repaints.shows": flat(lambda one: one.store.repaints.shows(1)),
    "Repaints.covers": flat(lambda one: one.store.repaints.covers([STALE], "5.1")),
    "Retention.prune": lists(DUE, _prune),
    "SlackEvents.take": flat(lambda one: one.store.slack_events.take("Ev_new")),
    "SlackEvents.is_new": flat(lambda one: one.store.slack_events.is_new("Ev1")),
}  # fmt: skip


RECORDS: Mapping[str, Case] = {
    "Digests.due": Case(
        given=lambda one: _job(one, DIGEST), act=lambda one, job: one.store.digests.due(job)
    ),
    "Digests.give": Case(
        given=lambda one: _job(one, DIGEST),
        act=lambda one, job: one.store.digests.give(
            job,
            DueDigest(
                workspace=one.workspace, channel="C101", every="day", due_at=one.now + 1.0, days=1
            ),
            "{}",
        ),
    ),
    "Erasure.find": lists("it reads every row with text", lambda one: one.store.erasure.find(EMAIL)),
    "Erasure.erase": lists(
        "it erases them all",
        lambda one: one.store.erasure.erase(
            Traces(
                email=EMAIL,
                alerts=tuple(f"al_old{n}" for n in range(one.count)),
                deliveries=tuple(range(1, 1 + one.count)),
                posts=tuple(range(2, 2 + one.count)),
                questions=("q1",),
                jobs=(1,),
                audit=(1,),
            )
        ),
    ),
    "Erasure.redraw": lists(
        "it draws them all", lambda one: one.store.erasure.redraw(range(1, 1 + one.count))
    ),
    "Records.summary": lists("it counts what is open", lambda one: one.store.records.summary(one.workspace)),
    "Records.backlogs": lists("it counts what is open", lambda one: one.store.records.backlogs()),
    "Records.open_replies": lists(
        "it counts them", lambda one: one.store.records.open_replies(one.workspace, most=15)
    ),
    "Records.interested_replies": lists(LISTED, lambda one: one.store.records.interested_replies(one.workspace)),
    "Records.last_reply": lists(
        "it sorts the replies of the lead", lambda one: one.store.records.last_reply(one.workspace, EMAIL)
    ),
    "Records.own_replies": flat(lambda one: one.store.records.own_replies("U1")),
    "Records.claim_counts": lists(
        "it counts claims", lambda one: one.store.records.claim_counts(one.workspace, _month(one)[0])
    ),
    "Records.claim_times": lists(
        "it finds their median",
        lambda one: one.store.records.claim_times(one.workspace, *_month(one), by="person", late=300.0),
    ),
    "Records.done_counts": lists(
        "it counts them", lambda one: one.store.records.done_counts(one.workspace, *_month(one))
    ),
    "Records.domain_counts": lists(
        "it counts what the domain had", lambda one: one.store.records.domain_counts(one.workspace, "d0.example", 0.0)
    ),
    "Records.domain_sequences": lists(
        "it counts what the domain had",
        lambda one: one.store.records.domain_sequences(one.workspace, "d0.example", moment(one.now) - timedelta(days=30)),
    ),
    "Records.domain_past": lists(
        "it counts what the domain had",
        lambda one: one.store.records.domain_past(one.workspace, "d0.example", moment(one.now) - timedelta(days=30)),
    ),
    "AuditLog.last_changes": lists(
        "it reads the audit of the workspace", lambda one: one.store.records.last_changes(one.workspace, ["sq1"])
    ),
    "Records.arrivals": lists(
        "it counts them",
        lambda one: one.store.records.arrivals(one.workspace, moment(one.now) - timedelta(days=1), moment(one.now)),
    ),
    "Records.period": lists(
        "it finds their median", lambda one: one.store.records.period(one.workspace, *_month(one), late=300.0)
    ),
    "Records.positive_replies": flat(
        lambda one: one.store.records.positive_replies(one.workspace, *_month(one), most=20, named=True)
    ),
    "Subscriptions.restate": lists(
        "it looks through the answers", lambda one: one.store.records.restate(one.workspace, "digest C1", "Off")
    ),
    "Subscriptions.subscribe": flat(
        lambda one: one.store.records.subscribe(one.workspace, [Subscription(channel=CALM, event="domain.paused")])
    ),
    "Subscriptions.unsubscribe": flat(
        lambda one: one.store.records.unsubscribe(
            one.workspace, [Subscription(channel=CALM, event="lead.bounced", sequence="S1")]
        )
    ),
    "Subscriptions.digest_at": flat(lambda one: one.store.records.digest_at(one.workspace, "C101")),
    "Subscriptions.set_digest": flat(lambda one: one.store.records.set_digest(one.workspace, "C101", "09:00")),
    "Subscriptions.give_up_channel": lists(OF_CHANNEL, lambda one: one.store.records.give_up_channel(REFUSED)),
    "AuditLog.audit": flat(lambda one: one.store.records.audit(one.workspace)),
    "AuditLog.assistant_calls": flat(lambda one: one.store.records.assistant_calls(one.workspace)),
    "AuditLog.record": lists(
        "it compares the sequence's open Undos", lambda one: one.store.records.record(_entry(one, "sq1"))
    ),
    "AuditLog.last_undoable": lists(
        SINCE,
        lambda one: one.store.records.last_undoable(one.workspace, Actor(name="ann", id="U1"), moment(one.now - 600)),
    ),
    "AuditLog.undoable": lists(SINCE, lambda one: one.store.records.undoable(one.workspace, 1)),
    "AuditLog.change_with_number": flat(lambda one: one.store.records.change_with_number(1)),
    "AuditLog.take_undo": flat(lambda one: one.store.records.take_undo(1, "ann")),
    "AuditLog.give_back_undo": flat(lambda one: one.store.records.give_back_undo(1)),
    "Timers.set_timer": flat(
        lambda one: one.store.records.set_timer(
            one.workspace, Timer(kind="resume", key="sq1", due_at=moment(one.now))
        )
    ),
    "Records.refusals": lists("it looks at all that Slack refused", lambda one: one.store.records.refusals()),
    "Timers.timers": lists(LISTED, lambda one: one.store.records.timers(one.workspace, "resume")),
    "Instance.id": flat(lambda one: one.store.instance.id()),
    "Instance.known_id": flat(lambda one: one.store.instance.known_id()),
    "Instance.leave": flat(lambda one: one.store.instance.leave("bot1")),
    "WebhookSubscriptions.add": flat(
        lambda one: one.webhooks.add(
            {one.workspace: [WebhookSubscription(id="new", url="https://bot.example", events=(), secret="s")]}
        )
    ),
}  # fmt: skip


async def _due_domain(one: Skewed) -> DueDomain:
    """One that this process is to check."""
    await one.store.domains.watch(one.workspace, {"new.example": 10.0})
    due = await due_domain(one.store)
    assert due
    return due


async def _finish(one: Skewed, due: DueDomain) -> None:
    assert await one.store.domains.finish(
        due, Checked(report=DomainReport(domain=due.domain), due_at=one.now + DAY)
    )


DOMAINS: Mapping[str, Case] = {
    "Domains.watch": lists(
        "it compares the domains of the workspace",
        lambda one: one.store.domains.watch(one.workspace, {"dns0.example": 90.0}),
    ),
    "Domains.due": Case(
        given=_due_domain, act=lambda one, due: one.store.domains.due(due.job), lists="it looks at each sender"
    ),
    "Domains.finish": Case(act=_finish, given=_due_domain),
    "Domains.changes": flat(lambda one: one.store.domains.changes(["dns1.example"], moment(one.now - 2 * DAY))),
    "Domains.broken_since": lists(
        LISTED, lambda one: one.store.domains.broken_since(one.workspace, moment(one.now - 2 * DAY))
    ),
    "Domains.prune": lists(
        "it looks whether each domain has a sender", lambda one: one.store.domains.prune(changes_after=DAY)
    ),
}  # fmt: skip

CASES = {**ALERTS, **DOMAINS, **GUARDRAILS, **QUEUE, **RECORDS}

FACTS = frozenset(
    [
        "Turns.absences",
        "Guardrails.rules",
        "Guardrails.all_rules",
        "Guardrails.switches",
        "Guardrails.all_switches",
        "Instance.beat",
        "Instance.last_seen",
        "Records.bot_is_running",
        "WebhookSubscriptions.import_file",
        "WebhookSubscriptions.forget",
        "WebhookSubscriptions.ends",
        "WebhookSubscriptions.list",
        "WebhookSubscriptions.secrets",
        "WebhookSubscriptions.encrypt_all",
        "Subscriptions.subscriptions",
        "Domains.all_broken",
        "Domains.reports",
        "Domains.broken",
        "SlackEvents.forget_old",
    ]
)
"""They read facts and the like, of which there are few."""
AUDIT = "the audit has no index by workspace: people write it, and it is pruned"
SHARES: Mapping[str, str] = {
    "Subscriptions.restate": "an answer is found by the beginning of its name",
    "AuditLog.audit": AUDIT,
    "AuditLog.last_changes": AUDIT,
    "Records.last_reply": "the lead's replies are found by address",
    "Records.summary": "what is not posted yet is found by channel",
}
"""Why another workspace's data may cost these something; the others it may not."""
