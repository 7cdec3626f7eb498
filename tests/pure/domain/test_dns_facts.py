"""The DNS of a domain in words: what is old or unconfirmed is neither good nor a problem."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from shared.domain.card import Tone
from shared.domain.dns_facts import as_data, dns_fact, dns_facts, dns_overview
from shared.domain_health.report import (
    CHECKS,
    Check,
    CheckReport,
    DomainReport,
    LastGood,
)

NOW = datetime(2026, 3, 10, 14, 30, tzinfo=UTC)
POOR = "poor.com"
MERGED = "v=spf1 include:_spf.google.com include:spf.bulk-mailer.example ~all"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def good(check: Check, at: datetime = NOW) -> CheckReport:
    return CheckReport(
        check=check,
        value="good",
        code="fine",
        checked_at=at,
        since=at - 9 * DAY,
        last_good=LastGood(at=at),
        confirmed=True,
    )


def second_spf(at: datetime, *, checked_at: datetime = NOW, confirmed: bool = True) -> CheckReport:
    return CheckReport(
        check="spf",
        value="problem",
        code="several",
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

    return DomainReport(domain=domain, checks=tuple(own.get(check, good(check)) for check in CHECKS))


@pytest.mark.parametrize("one", [good("spf", NOW - 3 * DAY), second_spf(NOW, checked_at=NOW - 3 * DAY)])
def test_what_was_read_long_ago_is_neither_good_nor_a_problem(one: CheckReport) -> None:
    # Records change within hours: what was read three days ago proves neither.
    stale = DomainReport(domain=POOR, checks=(one,))
    assert dns_facts(stale, now=NOW)[0].value == "unknown: last checked 3 days ago"
    assert as_data(stale, now=NOW)["value"] is None
    assert dns_fact(stale, now=NOW).tone is Tone.UNKNOWN


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


def test_a_problem_that_one_resolver_shows_is_called_unconfirmed() -> None:
    # One resolver may be stale or lie.
    facts = {fact.label: fact.value for fact in dns_facts(report(second_spf(NOW, confirmed=False)), now=NOW)}
    assert facts["SPF"].endswith("(one resolver says so, not yet confirmed)")
