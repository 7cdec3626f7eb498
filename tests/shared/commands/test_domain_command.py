"""`domain`: one page that answers why, and claims nothing that is unknown."""

from __future__ import annotations

from datetime import datetime, timedelta

import httpx
import pytest

from shared.commands import parse
from shared.commands.inboxes import Domain
from shared.domain.card import Tone
from shared.domain.dns_facts import as_data, dns_fact, dns_facts, dns_overview
from shared.domain_health.report import (
    Check,
    CheckReport,
    Code,
    DomainChange,
    DomainReport,
    LastGood,
    Value,
)
from tests.shared.harness import DOWN, NOW, CommandHarness, facts, text

POOR = "poor.com"
MERGED = "v=spf1 include:_spf.google.com include:spf.bulk-mailer.example ~all"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def good(check: Check, at: datetime = NOW) -> CheckReport:
    return CheckReport(
        check=check,
        value=Value.GOOD,
        code=Code.FINE,
        checked_at=at,
        since=at - 9 * DAY,
        last_good=LastGood(at=at),
        confirmed=True,
    )


def second_spf(at: datetime, *, checked_at: datetime = NOW, confirmed: bool = True) -> CheckReport:
    return CheckReport(
        check=Check.SPF,
        value=Value.PROBLEM,
        code=Code.SEVERAL,
        count=2,
        records=("v=spf1 include:_spf.google.com ~all", "v=spf1 include:spf.bulk-mailer.example -all"),
        place=POOR,
        publish=MERGED,
        since=at,
        checked_at=checked_at,
        last_good=LastGood(at=at - HOUR),
        confirmed=confirmed,
    )


def report(*checks: CheckReport, domain: str = POOR) -> DomainReport:
    own = {one.check: one for one in checks}
    every = (Check.MX, Check.SPF, Check.DMARC, Check.DKIM)
    return DomainReport(domain=domain, checks=tuple(own.get(check, good(check)) for check in every))


@pytest.fixture
async def paused(harness: CommandHarness) -> CommandHarness:
    """A domain that the service paused an hour ago."""
    harness.service.inboxes[2]["status"] = "resting"
    harness.service.stats.append({"group": "c@poor.com", "sends": 1_000, "replies": 12})
    # Events are known from the first delivery on: without one a month ago, those of 7 days would be unknown.
    await harness.deliver("sequence.completed", "first@acme.com", ago=30 * DAY)
    for kind, hard, name, count in (
        ("lead.bounced", True, "Q3 Founders", 60),
        ("lead.bounced", False, "Q3 CTO", 30),
        ("lead.unsubscribed", False, "Q3 CTO", 4),
    ):
        leads = [f"{kind}{hard}{n}@x.com" for n in range(count)]
        bounce = {"bounce_type": "hard" if hard else "soft"} if kind == "lead.bounced" else {}
        await harness.deliver(kind, *leads, ago=2 * DAY, sequence=name, inbox="c@poor.com", **bounce)
    await harness.deliver("domain.paused", "", ago=HOUR, domain=POOR, reason="bounce_rate", rate=0.09)
    return harness


async def test_a_paused_domain_names_the_record_that_broke_first(paused: CommandHarness) -> None:
    broken = second_spf(NOW - 2 * HOUR)
    before = good(Check.SPF)
    await paused.checked(
        report(broken),
        DomainChange(domain=POOR, check=Check.SPF, at=NOW - 2 * HOUR, before=before, after=broken),
    )
    card = await paused.say(f"domain {POOR}")
    assert (card.title, card.tone) == ("poor.com: paused, its DNS is broken", Tone.BAD)
    assert card.text == (
        "SPF: 2 records, and only one is allowed, since 12:30 UTC, before it was paused.",
        "The service paused it at 13:30 UTC: bounce rate 9.0%.",
        "9.0% of its emails of the last 7 days bounced; above 5%, receivers distrust a domain.",
        f"Next: Merge them into one TXT record at poor.com: {MERGED}",
        (
            "Next: verify the addresses in its sequences before you send more, and remove those that bounce. "
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
        ("13:30 UTC", "Paused by the service: bounce rate 9.0%"),
        ("12:30 UTC", "SPF: 2 records, and only one is allowed"),
    ]
    (data,) = card.data
    assert (data["paused"], data["bounces"], data["bounce_rate"]) == (True, 90, 0.09)
    dns = data["dns"]
    assert dns["value"] == "problem"
    assert {one["check"]: one["value"] for one in dns["checks"]} == {
        "mx": "good", "spf": "problem", "dmarc": "good", "dkim": "good",
    }  # fmt: skip


async def test_a_domain_that_was_never_checked_is_unknown(harness: CommandHarness) -> None:
    harness.service.inboxes[2]["status"] = "resting"
    card = await harness.say(f"domain {POOR}")
    assert card.text[0] == "No cause is known. Unknown: DNS, bounces."
    assert facts(card)["DNS"] == "unknown: not checked yet"
    assert facts(card)["Bounces, 7 days"] == "unknown: no delivery has come yet"
    (data,) = card.data
    assert (data["dns"]["value"], data["bounces"], data["bounce_rate"]) == (None, None, None)


@pytest.mark.parametrize("one", [good(Check.SPF, NOW - 3 * DAY), second_spf(NOW, checked_at=NOW - 3 * DAY)])
def test_what_was_read_long_ago_is_neither_good_nor_a_problem(one: CheckReport) -> None:
    # Records change within hours: what was read three days ago proves neither.
    stale = DomainReport(domain=POOR, checks=(one,))
    assert dns_facts(stale, now=NOW)[0].value == "unknown: last checked 3 days ago"
    assert as_data(stale, now=NOW)["value"] is None
    assert dns_fact(stale, now=NOW).tone is Tone.UNKNOWN


async def test_a_problem_that_one_resolver_shows_is_no_cause(paused: CommandHarness) -> None:
    # One resolver may be stale or lie, so that what it alone sees is shown as such and blamed for nothing.
    await paused.checked(report(second_spf(NOW, confirmed=False)))
    card = await paused.say(f"domain {POOR}")
    assert facts(card)["SPF"].endswith("(one resolver says so, not yet confirmed)")
    assert not [line for line in card.text if line.startswith("SPF")]


async def test_a_part_that_cannot_be_read_hides_no_other(paused: CommandHarness) -> None:
    # Each part is read apart: the inboxes are known although records and counts are not.
    paused.records = DOWN
    paused.service.failing["GET /stats"] = httpx.Response(500)
    shown = facts(await paused.say(f"domain {POOR}"))
    assert shown["Inboxes"] == "1 inbox, paused; lowest health 41"
    for label in ("DNS", "Sends, 7 days", "Bounces, 7 days", "Sequences"):
        assert shown[label].startswith("unknown"), label


async def test_a_healthy_domain_has_no_cause_unless_its_dns_is_broken(harness: CommandHarness) -> None:
    await harness.checked(report(domain="good.com"))
    # Names in DNS have no case, and with a dot at the end they are whole.
    card = await harness.say("domain GOOD.com.")
    assert card.title == "good.com: healthy"
    assert card.text == ()
    await harness.checked(report(second_spf(NOW), domain="good.com"))
    card = await harness.say("domain good.com")
    assert (card.title, card.tone) == ("good.com: healthy, its DNS is broken", Tone.BAD)
    card = await harness.say("domain god.com")
    assert card.title == "No inbox matches “god.com”"
    assert "Did you mean good.com?" in text(card)


@pytest.mark.parametrize("line", ["domain poor.com", "domain Poor.COM.", "domain c@poor.com"])
def test_a_domain_is_named_in_any_case_or_by_an_address(line: str) -> None:
    assert parse(line).arguments == Domain(name=POOR)
    assert parse(parse(line).arguments.line).arguments == Domain(name=POOR)


@pytest.mark.parametrize(
    ("domains", "shown"),
    [
        (
            ("a.com", "b.com", "c.com"),
            ("problems of b.com (SPF); 1 domain unknown", Tone.BAD),
        ),
        (("a.com", "c.com"), ("1 domain unknown", Tone.UNKNOWN)),
        (("a.com",), None),
        ((), None),
    ],
)
def test_the_overview_counts_what_is_unknown_as_neither(
    domains: tuple[str, ...], shown: tuple[str, Tone] | None
) -> None:
    fact = dns_overview({"a.com": report(), "b.com": report(second_spf(NOW))}, domains, now=NOW)
    assert ((fact.value, fact.tone) if fact else None) == shown
