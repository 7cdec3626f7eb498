from __future__ import annotations

from shared.domain_health.report import Check, CheckReport, DomainReport, Value

GOOD = tuple(CheckReport(check=check, value=Value.GOOD) for check in (Check.MX, Check.SPF, Check.DMARC))


def test_a_domain_is_good_only_where_everything_mail_depends_on_was_read() -> None:
    assert DomainReport(domain="a.example", checks=GOOD).value is Value.GOOD
    assert DomainReport(domain="a.example", checks=GOOD[:2]).value is Value.UNKNOWN
    assert DomainReport(domain="a.example").value is Value.UNKNOWN


def test_a_problem_counts_once_two_resolvers_said_so() -> None:
    first = CheckReport(check=Check.DKIM, value=Value.PROBLEM)
    second = CheckReport(check=Check.DKIM, value=Value.PROBLEM, confirmed=True)
    assert DomainReport(domain="a.example", checks=(*GOOD, first)).value is Value.GOOD
    assert DomainReport(domain="a.example", checks=(*GOOD, second)).value is Value.PROBLEM


def test_a_check_that_was_not_made_is_unknown() -> None:
    assert DomainReport(domain="a.example").of(Check.SPF).value is Value.UNKNOWN
