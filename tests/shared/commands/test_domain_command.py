"""`domain`: one page that answers why, and claims nothing that is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest

from shared.commands import parse
from shared.commands.domain import Domain
from shared.commands.run import run
from shared.domain.card import Tone
from shared.domain.dns_facts import as_data, dns_fact, dns_overview
from shared.domain_health.report import (
    Action,
    Advice,
    Check,
    CheckReport,
    Code,
    DomainChange,
    DomainReport,
    LastGood,
    Value,
)
from shared.records.audit import Actor, AuditEntry
from shared.records.domains import DomainPast, DomainPause
from tests.shared.doubles import NOW, CommandHarness, MemoryRecords, facts, result_of, text

POOR = "poor.com"
MERGED = "v=spf1 include:_spf.google.com include:spf.bulk-mailer.example ~all"


def good(check: Check, at: datetime = NOW) -> CheckReport:
    return CheckReport(
        check=check,
        value=Value.GOOD,
        code=Code.FINE,
        checked_at=at,
        since=at - timedelta(days=9),
        last_good=LastGood(at=at),
        confirmed=True,
    )


def second_spf(at: datetime, *, confirmed: bool = True) -> CheckReport:
    return CheckReport(
        check=Check.SPF,
        value=Value.PROBLEM,
        code=Code.SEVERAL,
        count=2,
        records=("v=spf1 include:_spf.google.com ~all", "v=spf1 include:spf.bulk-mailer.example -all"),
        advice=Advice(action=Action.MERGE, name=POOR, value=MERGED),
        since=at,
        checked_at=NOW,
        last_good=LastGood(at=at - timedelta(hours=1)),
        confirmed=confirmed,
    )


def report(*checks: CheckReport) -> DomainReport:
    own = {one.check: one for one in checks}
    every = (Check.MX, Check.SPF, Check.DMARC, Check.DKIM)
    return DomainReport(domain=POOR, checks=tuple(own.get(check, good(check)) for check in every))


@pytest.fixture
def records(harness: CommandHarness) -> MemoryRecords:
    """A domain that the service paused an hour ago."""
    assert harness.records is not None
    harness.service.inboxes[2]["status"] = "resting"
    harness.service.stats.append({"group": "c@poor.com", "sends": 1_000, "replies": 12})
    harness.records.past[POOR] = DomainPast(
        reason="bounce rate",
        bounced=90,
        hard=60,
        opted_out=4,
        sequences=("Q3 Founders", "Q3 CTO"),
        known_from=NOW - timedelta(days=30),
        pauses=(
            DomainPause(
                at=NOW - timedelta(hours=1), reason="bounce rate (9.0% of its sends, says the service)"
            ),
        ),
    )
    return harness.records


async def rows(harness: CommandHarness, line: str) -> dict[str, Any]:
    [row] = result_of(await run(parse(line), harness.context)).rows
    return dict(row)


async def test_a_paused_domain_names_the_record_that_broke_first(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    broke = NOW - timedelta(hours=2)
    broken = second_spf(broke)
    records.domains.known[POOR] = report(broken)
    records.domains.changed = [
        DomainChange(domain=POOR, check=Check.SPF, at=broke, before=good(Check.SPF), after=broken)
    ]
    records.entries.append(
        AuditEntry(
            at=NOW - timedelta(minutes=9),
            actor=Actor(name="ann", face="slack"),
            workspace="default",
            command="pause sq_1",
            result="",
            effect="paused",
            sequences=("sq_1",),
        )
    )
    card = await harness.say(f"domain {POOR}")
    assert (card.title, card.tone) == ("poor.com is paused", Tone.BAD)
    assert card.text == (
        "SPF: 2 records, and only one is allowed, since 12:30 UTC, before it was paused.",
        "The service paused it 13:30 UTC: bounce rate (9.0% of its sends, says the service).",
        "9.0% of its emails of the last 7 days bounced; above 5%, receivers distrust a domain.",
        f"Next: Merge them into one TXT record at poor.com: {MERGED}",
        (
            "Next: Verify the addresses in its sequences before you send more, and remove those that bounce. "
            "Let the inboxes rest: each restarts with a small daily limit."
        ),
    )
    shown = facts(card)
    assert shown["SPF"] == "2 records, and only one is allowed, since 12:30 UTC"
    assert (shown["MX"], shown["DMARC"], shown["DKIM"]) == ("good", "good", "good")
    assert shown["Bounces, 7 days"] == "90 bounces (60 hard), 4 opt-outs; 9.0% of its sends bounced"
    assert shown["Sequences"] == "Q3 Founders · Q3 CTO (paused)"
    assert card.table is not None
    assert [row.cells for row in card.table.rows] == [
        ("14:21 UTC", "@ann paused Q3 Founders"),
        ("13:30 UTC", "Paused by the service: bounce rate (9.0% of its sends, says the service)"),
        ("12:30 UTC", "SPF: 2 records, and only one is allowed"),
    ]


async def test_the_page_as_data(harness: CommandHarness, records: MemoryRecords) -> None:
    records.domains.known[POOR] = report(second_spf(NOW - timedelta(hours=2)))
    data = await rows(harness, f"domain {POOR}")
    assert (data["paused"], data["bounces"], data["bounce_rate"]) == (True, 90, 0.09)
    dns = data["dns"]
    assert dns["value"] == "problem"
    assert [(one["check"], one["value"]) for one in dns["checks"]] == [
        ("mx", "good"),
        ("spf", "problem"),
        ("dmarc", "good"),
        ("dkim", "good"),
    ]


async def test_a_domain_that_was_never_checked_is_unknown(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    records.past.clear()
    card = await harness.say(f"domain {POOR}")
    assert card.text[0] == "No cause is known. Unknown: DNS, bounces."
    assert facts(card)["DNS"] == "unknown: not checked yet"
    assert facts(card)["Bounces, 7 days"] == "unknown: no delivery has come yet"
    data = await rows(harness, f"domain {POOR}")
    assert (data["dns"]["value"], data["bounces"], data["bounce_rate"]) == (None, None, None)


async def test_what_was_read_long_ago_is_neither_good_nor_a_problem(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    old = NOW - timedelta(days=3)
    for one in (good(Check.SPF, old), second_spf(old)):
        stale = DomainReport(
            domain=POOR,
            checks=tuple(
                CheckReport(
                    check=check, value=one.value, code=one.code, count=2, checked_at=old, confirmed=True
                )
                for check in (Check.MX, Check.SPF, Check.DMARC)
            ),
        )
        records.domains.known[POOR] = stale
        card = await harness.say(f"domain {POOR}")
        assert facts(card)["SPF"] == "unknown: last checked 3 days ago"
        assert "SPF" not in " ".join(card.text)
        assert as_data(stale, now=NOW)["value"] is None
        assert dns_fact(stale, now=NOW).tone is Tone.UNKNOWN


async def test_an_unread_check_shows_the_age_of_its_last_good_reading(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    silent = CheckReport(
        check=Check.DMARC,
        value=Value.UNKNOWN,
        code=Code.TIMEOUT,
        checked_at=NOW,
        last_good=LastGood(at=NOW - timedelta(hours=3)),
    )
    records.domains.known[POOR] = report(silent)
    card = await harness.say(f"domain {POOR}")
    assert facts(card)["DMARC"] == "unknown: the resolver didn't answer; last good 3 h ago"
    fact = dns_fact(report(silent), now=NOW)
    assert (fact.tone, fact.value) == (
        Tone.UNKNOWN,
        "DMARC: unknown: the resolver didn't answer; last good 3 h ago",
    )


async def test_a_problem_that_one_resolver_shows_is_no_cause(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    records.domains.known[POOR] = report(second_spf(NOW, confirmed=False))
    card = await harness.say(f"domain {POOR}")
    assert facts(card)["SPF"].endswith("(one resolver says so, not yet confirmed)")
    assert not [line for line in card.text if line.startswith("SPF")]


async def test_a_part_that_cannot_be_read_hides_no_other(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    records.broken = True
    harness.service.failing["GET /stats"] = httpx.Response(500)
    shown = facts(await harness.say(f"domain {POOR}"))
    assert shown["Inboxes"] == "1 inbox, paused; lowest health 41"
    for label in ("DNS", "Sends, 7 days", "Bounces, 7 days", "Sequences"):
        assert shown[label].startswith("unknown"), label


async def test_a_healthy_domain_with_good_dns_has_no_cause(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    records.domains.known["good.com"] = report()
    card = await harness.say("domain GOOD.com.")
    assert card.title == "good.com is healthy"
    assert card.text == ()


async def test_a_healthy_domain_with_broken_dns_says_so(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    records.domains.known["good.com"] = report(second_spf(NOW))
    card = await harness.say("domain good.com")
    assert (card.title, card.tone) == ("good.com is healthy, but its DNS is broken", Tone.BAD)


async def test_another_domain_is_refused_with_the_nearest(harness: CommandHarness) -> None:
    card = await harness.say("domain por.com")
    assert card.title == "No inboxes send from por.com"
    assert "Did you mean poor.com?" in text(card)


async def test_readers_without_the_audit_see_no_names(
    harness: CommandHarness, records: MemoryRecords
) -> None:
    records.entries.append(
        AuditEntry(
            at=NOW,
            actor=Actor(name="ann", face="slack"),
            workspace="default",
            command="pause sq_1",
            result="",
            effect="paused",
            sequences=("sq_1",),
        )
    )
    context = replace(harness.context, permits=lambda command: command.name != "audit")
    card = (await run(parse(f"domain {POOR}"), context)).card
    assert card.table is not None
    assert not [row for row in card.table.rows if "ann" in str(row.cells)]


@pytest.mark.parametrize("line", ["domain poor.com", "domain Poor.COM.", "domain c@poor.com"])
def test_a_domain_is_named_in_any_case_or_by_an_address(line: str) -> None:
    assert parse(line).arguments == Domain(name=POOR)
    assert parse(parse(line).arguments.line).arguments == Domain(name=POOR)


def test_the_overview_counts_what_is_unknown_as_neither() -> None:
    known = {"a.com": report(), "b.com": report(second_spf(NOW))}

    def shown(*domains: str) -> tuple[str, Tone] | None:
        fact = dns_overview(known, domains, now=NOW)
        return (fact.value, fact.tone) if fact else None

    every: Sequence[str] = ("a.com", "b.com", "c.com")
    assert shown(*every) == ("problems of b.com (SPF); 1 domain unknown; 1 domain good", Tone.BAD)
    assert shown("a.com", "c.com") == ("1 domain unknown; 1 domain good", Tone.UNKNOWN)
    assert shown("a.com") == ("1 domain good", Tone.GOOD)
    assert shown() is None


async def test_domains_are_a_line_each_the_worst_first(harness: CommandHarness) -> None:
    assert harness.records is not None
    day_ago = NOW - timedelta(days=1)
    harness.records.past = {
        POOR: DomainPast(bounced=12, known_from=day_ago),
        "good.com": DomainPast(bounced=1, known_from=day_ago + timedelta(seconds=1)),
    }
    for line in ("domains", "bounces"):
        card = await harness.say(line)
        data = {row["domain"]: row for row in card.data or ()}
        assert set(data[POOR]) == {"domain", "state", "lowest_health", "bounces_24h"}
        assert data[POOR]["bounces_24h"] == 12
        assert data["good.com"]["state"] == "healthy"
        assert data["good.com"]["bounces_24h"] is None, "less than a day is recorded"
        assert list(data).index(POOR) < list(data).index("good.com")
        assert card.table is not None
        assert [row.cells[0] for row in card.table.rows] == list(data)
    harness.records = None
    unknown = await harness.say("domains")
    assert {row["bounces_24h"] for row in unknown.data or ()} == {None}
