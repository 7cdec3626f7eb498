"""What a new look changes: values that are unknown in between, confirmations, recoveries."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from shared.domain.dns_facts import advice_of
from shared.domain_health.report import (
    CheckReport,
    Code,
    DomainReport,
    Followed,
    confirm,
    follow,
    keys_to_expect,
    to_confirm,
)

DOMAIN = "acme.example"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
RECORD = "v=spf1 -all"
GOOD = CheckReport(check="spf", value="good", code="fine", records=(RECORD,))
MISSING = CheckReport(
    check="spf",
    value="problem",
    code="missing",
    place=DOMAIN,
    confirmed=True,
)
TWICE = replace(MISSING, code="several", count=2, records=(RECORD, RECORD))
SILENT = CheckReport(check="spf", code="timeout")


def looks(*found: CheckReport) -> list[Followed]:
    """One look after another, an hour apart."""
    before: DomainReport | None = None
    all_: list[Followed] = []
    for hour, one in enumerate(found):
        all_.append(follow(DOMAIN, before, [one], NOON + timedelta(hours=hour)))
        before = all_[-1].report
    return all_


def told(*found: CheckReport) -> list[tuple[int, Code, Code]]:
    """In which look what was told: the code before and after."""
    return [
        (hour, change.before.code, change.after.code)
        for hour, one in enumerate(looks(*found))
        for change in one.changes
    ]


def test_another_problem_is_told() -> None:
    assert told(GOOD, MISSING, TWICE) == [(1, "fine", "missing"), (2, "missing", "several")]


def test_silence_in_between_tells_nothing_and_forgets_nothing() -> None:
    # No answer proves nothing: no problem ends by it, and none begins.
    assert told(GOOD, SILENT, GOOD) == []
    assert told(MISSING, SILENT, SILENT, MISSING) == [(0, "not-checked", "missing")]
    assert told(MISSING, SILENT, GOOD)[1:] == [(2, "missing", "fine")]
    assert told(GOOD, SILENT, MISSING) == [(2, "fine", "missing")]


def test_what_is_unknown_is_neither_good_nor_a_problem_and_keeps_the_last_good_answer() -> None:
    *_, last = looks(GOOD, SILENT, SILENT)
    found = last.report.of("spf")
    assert (found.value, found.code) == ("unknown", "timeout")
    assert (found.since, found.checked_at) == (NOON + timedelta(hours=1), NOON + timedelta(hours=2))
    assert found.last_good
    assert (found.last_good.at, found.last_good.records) == (NOON, (RECORD,))


def test_a_missing_record_is_advised_to_be_restored() -> None:
    # A record written from nothing would lose what the old one allowed.
    lost = looks(GOOD, MISSING)[-1].report.of("spf")
    assert advice_of(lost) == f"Restore the TXT record at {DOMAIN}: {RECORD}"
    long = looks(replace(GOOD, records=("v=spf1 …",), is_whole=False), MISSING)[-1].report.of("spf")
    assert advice_of(long) == f"Restore the TXT record at {DOMAIN}."


def test_another_good_record_is_told_when_two_resolvers_have_it() -> None:
    other = replace(GOOD, records=("v=spf1 mx -all",))
    assert told(GOOD, replace(other, confirmed=True)) == [(1, "fine", "fine")]
    assert told(GOOD, other) == []


def test_problems_and_other_records_are_confirmed_and_nothing_else() -> None:
    before = looks(GOOD)[0].report
    assert to_confirm(before, [GOOD]) == set()
    assert to_confirm(before, [replace(GOOD, records=("v=spf1 mx -all",))]) == {"spf"}
    assert to_confirm(before, [MISSING]) == {"spf"}
    assert to_confirm(before, [SILENT]) == set()


def test_a_second_resolver_confirms_contradicts_or_is_silent() -> None:
    alone = replace(MISSING, confirmed=False)
    assert confirm([alone], [TWICE])[0].confirmed
    assert confirm([alone], [GOOD])[0].code == "disagreement"
    assert confirm([alone], [SILENT]) == [alone]
    assert confirm([GOOD], []) == [GOOD]


def test_a_key_that_is_gone_is_expected_for_a_week() -> None:
    two = CheckReport(check="dkim", value="good", code="fine", keys=("a", "b"))
    one = replace(two, value="problem", code="key-gone", keys=("b",), about="a", confirmed=True)
    good = follow(DOMAIN, None, [two], NOON).report
    gone = follow(DOMAIN, good, [one], NOON + timedelta(hours=6)).report
    assert keys_to_expect(None, NOON) == ()
    key = replace(two, records=("a: p=AAAA", "b: p=BBBB"))
    named = replace(one, place=f"a._domainkey.{DOMAIN}")
    lost = follow(DOMAIN, follow(DOMAIN, None, [key], NOON).report, [named], NOON).report.of("dkim")
    assert advice_of(lost) == f"Restore the TXT record at a._domainkey.{DOMAIN}: p=AAAA"
    assert set(keys_to_expect(gone, NOON + timedelta(days=7))) == {"a", "b"}
    # After a week beside a good key, it is taken to be gone on purpose.
    assert keys_to_expect(gone, NOON + timedelta(days=7, hours=6)) == ("b",)
