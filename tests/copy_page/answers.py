"""The answer of every command in its main states, from the commands themselves over the doubles."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import timedelta

import httpx

from bot.blockkit.channel_names import changed
from shared.commands import Role, UsageError
from shared.domain.card import Card
from shared.domain.wall_clock import DAY
from shared.operations import error_card
from shared.records.audit import Actor, AuditEntry
from shared.records.guardrails import Happening, Incident, Switch
from shared.records.records import AlertsSummary, Subscription
from shared.records.replies import LeadReply, OpenReply
from tests.shared.doubles import NOW, CommandHarness, MemoryRecords, open_harness
from tests.shared.waits import Claim

Arrange = Callable[[CommandHarness, MemoryRecords], None]
RULE = "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"


@dataclass(frozen=True, slots=True)
class Scene:
    """A line, and what is true when it is run."""

    line: str
    state: str = ""
    arrange: Arrange = lambda _harness, _records: None


def answers() -> dict[str, Card]:
    """The card of each scene, by its line and state."""
    return asyncio.run(_run_all())


async def _run_all() -> dict[str, Card]:
    return {name: card async for name, card in _each()}


async def _each() -> AsyncIterator[tuple[str, Card]]:
    for scene in SCENES:
        harness, records = open_harness(), MemoryRecords()
        harness.records = records
        _usual(harness)
        scene.arrange(harness, records)
        try:
            card: Card = await harness.say(scene.line)
        except Exception as error:  # noqa: BLE001 # every failure is a card, as in the faces
            card = error_card(error, "" if isinstance(error, UsageError) else "ref-8f2c")
        await harness.client.aclose()
        yield f"{scene.line}{f' ({scene.state})' if scene.state else ''}", changed(card, _name_channels)


def _name_channels(text: str) -> str:
    """As every front end shows them."""
    return re.sub(r"<#C1>|\bC1\b", "#sales", text).replace("C0123", "#launch")


def _usual(harness: CommandHarness) -> None:
    """Leads as a salesperson has them."""
    people = (
        ("Ada", "Lovelace", "Analytical Engines"),
        ("Grace", "Hopper", "Univac"),
        ("Alan", "Kay", "Parc"),
    )
    status = ("interested", "replied", "active")
    harness.service.leads = [
        {"id": f"ld_{n + 1}", "email": f"{first.lower()}@{company.lower().replace(' ', '')}.example",
         "status": status[n], "first_name": first, "last_name": last, "company": company, "sequence_id": "sq_1"}
        for n, (first, last, company) in enumerate(people)
    ]  # fmt: skip


def _both(*arranges: Arrange) -> Arrange:
    def arrange(harness: CommandHarness, records: MemoryRecords) -> None:
        for one in arranges:
            one(harness, records)

    return arrange


def _failing(*endpoints: str, status: int = 500) -> Arrange:
    def arrange(harness: CommandHarness, _records: MemoryRecords) -> None:
        for endpoint in endpoints:
            harness.service.failing[endpoint] = httpx.Response(
                status, json={"error": {"code": {401: "unauthorized", 429: "rate_limited"}.get(status, "internal")}}
            )  # fmt: skip

    return arrange


def _unreachable(harness: CommandHarness, _records: MemoryRecords) -> None:
    for endpoint in ("GET /sequences", "GET /inboxes", "GET /stats", "PATCH /sequences"):
        harness.service.failing[endpoint] = httpx.ConnectError("Connection refused")


def _empty(harness: CommandHarness, _records: MemoryRecords) -> None:
    service = harness.service
    service.sequences, service.inboxes, service.leads, service.stats = [], [], [], []


def _by_step(harness: CommandHarness, _records: MemoryRecords) -> None:
    harness.service.stats = [
        {**row, "group": str(step)} for step, row in enumerate(harness.service.stats, start=1)
    ]


def _no_records(harness: CommandHarness, _records: MemoryRecords) -> None:
    harness.records = None


def _broken_records(_harness: CommandHarness, records: MemoryRecords) -> None:
    records.broken = True


def _no_bot(_harness: CommandHarness, records: MemoryRecords) -> None:
    records.bot_runs = False


def _confirmed(harness: CommandHarness, _records: MemoryRecords) -> None:
    harness.confirmed = True


def _reader(harness: CommandHarness, _records: MemoryRecords) -> None:
    harness.role = Role.READER


def _in_shell(harness: CommandHarness, _records: MemoryRecords) -> None:
    harness.actor = Actor(name="ann", face="shell", channel="")


def _busy(_harness: CommandHarness, records: MemoryRecords) -> None:
    records.alerts = AlertsSummary(
        waiting=2, oldest_waiting_at=NOW - timedelta(seconds=40), unclaimed=3, dead=1, held=1, unreadable=2,
        oldest_unclaimed_at=NOW - timedelta(minutes=12), last_delivery_at=NOW - timedelta(minutes=3),
        broken_channels={"C0123": "is_archived"},
    )  # fmt: skip
    records.replies = [
        OpenReply(alert_id=f"al_{n}", received_at=NOW - timedelta(minutes=minutes), lead=lead,
                  email=f"{lead.split()[0].lower()}@{company.lower()}.example", company=company,
                  sequence="Q3 Founders")
        for n, (minutes, lead, company) in enumerate(((2, "Ada Lovelace", "Acme"), (75, "Alan Kay", "Parc")))
    ]  # fmt: skip
    records.answered = {
        "ada@analyticalengines.example": LeadReply(
            alert_id="al_1", received_at=NOW - timedelta(minutes=2), sequence="Q3 Founders", step=2,
            text="Yes, call me on Tuesday.", lead="Ada Lovelace", company="Acme", status="unclaimed")
    }  # fmt: skip
    records.claims = [
        Claim(name=name, sequence="Spring", waited=timedelta(minutes=minutes), at=NOW - timedelta(hours=3))
        for name, minutes in (("ann", 2), ("ann", 4), ("ben", 19))
    ]  # fmt: skip
    records.done = [("ann", NOW - timedelta(hours=1))]
    records.senders = {"good.com": ["Q3 Founders", "Spring"]}
    records.entries = [
        AuditEntry(at=NOW - timedelta(hours=5), actor=Actor(name="ben", face="slack", channel="#sales"),
                   workspace="default", command="pause sq_2 reason bounces are high", result="Q3 CTO is paused",
                   effect="paused", sequences=("sq_2",)),
        AuditEntry(at=NOW - timedelta(hours=1), actor=Actor(name="eve", face="slack", channel="#sales"),
                   workspace="default", command="pause sq_1", result="refused: role", effect="refused"),
    ]  # fmt: skip


def _subscribed(_harness: CommandHarness, records: MemoryRecords) -> None:
    records.routes = {
        Subscription(channel="C1", event="reply.interested"),
        Subscription(channel="C1", event="lead.bounced", sequence="Q3 Founders", condensed=True),
    }
    records.digests = {"C1": "09:00 Europe/Berlin and mondays 08:30"}


def _guarded(_harness: CommandHarness, records: MemoryRecords) -> None:
    guard, day = records.guardrails, int(NOW.timestamp() // DAY) - 3
    guard.off["health"] = Switch(
        rule="health", at=NOW.timestamp() - 3600, by="ann", until=NOW.timestamp() + 3600
    )
    guard.fired.append(
        Incident(id=1, workspace="default", rule="bounces-5", subject="sequence:q3 founders", label="Q3 Founders",
                 action="suggest", began_at=NOW.timestamp() - 7200, held_at=NOW.timestamp() - 3600, note="bounces 9 of 100 (9.0%)", sentence=RULE)
    )  # fmt: skip
    guard.came += [
        Happening(at=day * DAY + 9 * 3600 + n, kind="lead.bounced", sequence="Q3 Founders") for n in range(10)
    ]


def _duplicate(harness: CommandHarness, _records: MemoryRecords) -> None:
    harness.service.leads[0]["email"] = "ada@acme.example"


SCENES = (
    Scene("help"),
    Scene("help", "a reader", _reader),
    Scene("help pause"),
    Scene("status"),
    Scene("status", "alerts waiting", _busy),
    Scene("status", "empty account", _empty),
    Scene("status", "inboxes can't be read", _failing("GET /inboxes")),
    Scene("status", "key revoked", _failing("GET /sequences", "GET /inboxes", "GET /stats", status=401)),
    Scene("status", "service unreachable", _unreachable),
    Scene("status", "no bot", _no_bot),
    Scene("status", "bot's database gone", _broken_records),
    Scene("sequences"),
    Scene("sequences active"),
    Scene("sequences paused", "", _busy),
    Scene("sequences", "empty account", _empty),
    Scene("sequences", "server error", _failing("GET /sequences")),
    Scene("sequences", "rate limited", _failing("GET /sequences", status=429)),
    Scene("pause sq_1"),
    Scene("pause sq_1 for 2h reason bounces are high"),
    Scene("pause sq_1 for 2h", "no bot", _no_bot),
    Scene("pause sq_1 for 2h", "no database", _no_records),
    Scene("pause sq_1 until 09:00"),
    Scene("pause sq_2", "already paused"),
    Scene("pause Q3", "several match"),
    Scene("pause Quarter", "no match"),
    Scene("pause sq_1", "server error", _failing("PATCH /sequences")),
    Scene("pause sq_1", "service unreachable", _unreachable),
    Scene("pause all"),
    Scene("pause all", "confirmed", _confirmed),
    Scene("pause all", "confirmed, server error", _both(_confirmed, _failing("PATCH /sequences"))),
    Scene("pause domain:good.com", "", _busy),
    Scene("pause domain:new.com", "never seen", _busy),
    Scene("resume sq_2"),
    Scene("resume sq_1", "already active"),
    Scene("resume all", "confirmed", _confirmed),
    Scene("pause", "no sequence named"),
    Scene("pause sq_1 for soon", "not understood, so nothing is paused"),
    Scene("inboxes"),
    Scene("inboxes unhealthy"),
    Scene("inboxes good.com"),
    Scene("inboxes goood.com", "no match"),
    Scene("inboxes", "empty account", _empty),
    Scene("stats"),
    Scene("stats by step 7d", arrange=_by_step),
    Scene("stats by person last week"),
    Scene("stats by person today", "", _busy),
    Scene("stats yesterday", "nothing sent", _empty),
    Scene("stats by color", "unknown grouping"),
    Scene("stats 2026-03-09..2026-03-01", "dates swapped"),
    Scene("leads"),
    Scene("leads interested"),
    Scene("leads sq_1 replied"),
    Scene("leads", "empty account", _empty),
    Scene("lead ada@analyticalengines.example", "", _busy),
    Scene("lead grace hopper"),
    Scene("lead zoe@nowhere.example", "no match"),
    Scene("add zoe@acme.example to sq_1 first_name=Zoe"),
    Scene("add ada@acme.example to sq_1", "already there", _duplicate),
    Scene("add zoe@acme.example to Q3", "several match"),
    Scene("add zoe to sq_1", "no address"),
    Scene("remove ada@analyticalengines.example"),
    Scene("remove ada@analyticalengines.example", "confirmed", _confirmed),
    Scene("remove zoe@nowhere.example", "no match"),
    Scene("replies"),
    Scene("replies", "two unclaimed", _busy),
    Scene("replies", "no bot", _no_bot),
    Scene("replies 9", "no such page", _busy),
    Scene("subscribe interested, bounces here"),
    Scene("subscribe lead.bounced sequence=Spring here condensed", "", _subscribed),
    Scene("subscribe lead.bounced here", "in a shell", _in_shell),
    Scene("subscribe lead.opened here", "unknown event"),
    Scene("unsubscribe reply.interested here", "", _subscribed),
    Scene("unsubscribe lead.unsubscribed here", "not subscribed", _subscribed),
    Scene("unsubscribe all here", "", _subscribed),
    Scene("subscriptions"),
    Scene("subscriptions", "two, with a digest", _subscribed),
    Scene("digest now"),
    Scene("digest today", "", _busy),
    Scene("digest now", "nothing happened", _empty),
    Scene("digest at 09:00 Europe/Berlin"),
    Scene("digest weekdays at 08:30"),
    Scene("digest off", "", _subscribed),
    Scene("digest off", "none scheduled"),
    Scene("digest at 25:00", "wrong time"),
    Scene("guardrails"),
    Scene("guardrails", "one snoozed, one fired", _guarded),
    Scene(f"guardrails add {RULE} as bounces", "", _guarded),
    Scene(f"guardrails add {RULE} as bounces", "confirmed", _both(_guarded, _confirmed)),
    Scene("guardrails add suggest pausing domain when opt-outs > 1% in 7d as quiet"),
    Scene("guardrails add when bounces are high", "not a rule"),
    Scene("guardrails test bounces-5", "", _guarded),
    Scene("guardrails test health", "nothing recorded"),
    Scene("guardrails test nothing", "unknown rule"),
    Scene("guardrails off"),
    Scene("guardrails off", "confirmed", _confirmed),
    Scene("guardrails on", "", _guarded),
    Scene("guardrails off bounces-5", "confirmed", _confirmed),
    Scene("guardrails remove bounces-5", "confirmed", _confirmed),
    Scene("report last month", "", _busy),
    Scene("report", "empty account", _empty),
    Scene("undo"),
    Scene("audit"),
    Scene("audit", "one change, one refusal", _busy),
    Scene("audit", "bot's database gone", _broken_records),
    Scene("whoami"),
    Scene("whoami", "a reader", _reader),
    Scene("paus west coast", "unknown command"),
    Scene("frobnicate", "unknown command"),
    Scene("status now", "too many words"),
    Scene("status @globex", "unknown workspace"),
)  # fmt: skip
