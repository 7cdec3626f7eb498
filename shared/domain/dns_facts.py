"""A domain's DNS for cards and pages: what is wrong since when, and what is unknown for how long. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from shared.domain.card import Fact, Tone
from shared.domain_health.report import Check, CheckReport, DomainReport, Value
from shared.domain_health.wording import advice_of, headline, name_of, state_of
from shared.text.formats import show_number, show_some, show_span, show_time

OLD = timedelta(days=1)
"""A reading tells nothing about now after this long: the bot checks every few hours."""
TONES: Mapping[Value, Tone] = {Value.GOOD: Tone.GOOD, Value.PROBLEM: Tone.BAD, Value.UNKNOWN: Tone.UNKNOWN}
NOT_CHECKED = "not checked yet"


def is_old(check: CheckReport, now: datetime) -> bool:
    """True if a check says nothing about now."""
    return check.checked_at is None or now - check.checked_at > OLD


def problems_of(report: DomainReport | None, *, now: datetime) -> Sequence[CheckReport]:
    """The problems known now, confirmed by two resolvers."""
    return [problem for problem in report.problems if not is_old(problem, now)] if report else []


def problem_text(check: CheckReport, *, now: datetime, zone: tzinfo = UTC) -> str:
    """`SPF: 2 records, and only one is allowed, since 14:02 UTC`."""
    return f"{headline(check)}{_since(check, now=now, zone=zone)}"


def _since(check: CheckReport, *, now: datetime, zone: tzinfo) -> str:
    """Since when it is known: what was so at the first check began before."""
    known = "since" if check.last_good else "at least since"
    return f", {known} {show_time(check.since, now=now, zone=zone)}" if check.since else ""


def dns_fact(report: DomainReport | None, *, now: datetime, zone: tzinfo = UTC) -> Fact:
    """The DNS of a domain in one line."""
    problems = problems_of(report, now=now)
    if problems:
        text = "; ".join(problem_text(problem, now=now, zone=zone) for problem in problems)
        return Fact("DNS", text, tone=Tone.BAD)
    if report is None or report.checked_at is None:
        return Fact("DNS", f"unknown: {NOT_CHECKED}", tone=Tone.UNKNOWN)
    age = show_span(now - report.checked_at)
    # An old reading proves nothing: neither good nor a problem is claimed of it.
    if now - report.checked_at > OLD:
        return Fact("DNS", f"unknown: last checked {age} ago", tone=Tone.UNKNOWN)
    if report.value is Value.GOOD:
        return Fact("DNS", f"good, checked {age} ago", tone=Tone.GOOD)
    unread = [
        one for one in map(report.of, (Check.MX, Check.SPF, Check.DMARC)) if one.value is not Value.GOOD
    ]
    text = "; ".join(f"{name_of(one.check)}: {check_text(one, now=now, zone=zone)}" for one in unread)
    return Fact("DNS", text, tone=Tone.UNKNOWN)


def check_text(check: CheckReport, *, now: datetime, zone: tzinfo = UTC) -> str:
    """A check's state without its name: a problem with its beginning, an unknown one with its last good reading."""
    if check.checked_at is not None and is_old(check, now):
        return f"unknown: last checked {show_span(now - check.checked_at)} ago"
    if check.value is Value.PROBLEM:
        unsure = "" if check.confirmed else " (one resolver says so, not yet confirmed)"
        return f"{state_of(check)}{_since(check, now=now, zone=zone)}{unsure}"
    if check.value is Value.UNKNOWN:
        good = check.last_good
        return f"{state_of(check)}; last good {show_span(now - good.at)} ago" if good else state_of(check)
    return state_of(check)


def check_tone(check: CheckReport, *, now: datetime) -> Tone:
    if is_old(check, now):
        return Tone.UNKNOWN
    return Tone.WARN if check.value is Value.PROBLEM and not check.confirmed else TONES[check.value]


def check_facts(report: DomainReport, *, now: datetime, zone: tzinfo = UTC) -> tuple[Fact, ...]:
    """A line for each check."""
    return tuple(
        Fact(name_of(check.check), check_text(check, now=now, zone=zone), tone=check_tone(check, now=now))
        for check in report.checks
    )


def dns_facts(report: DomainReport | None, *, now: datetime, zone: tzinfo = UTC) -> tuple[Fact, ...]:
    """All that a page shows of a domain's DNS: each check, and how old they are."""
    if report is None or report.checked_at is None:
        return (dns_fact(report, now=now, zone=zone),)
    age = Fact("DNS checked", f"{show_span(now - report.checked_at)} ago")
    return (*check_facts(report, now=now, zone=zone), age)


def advice(report: DomainReport | None, *, now: datetime) -> tuple[str, ...]:
    """The advice for each problem, with the whole record where it can be known."""
    return tuple(filter(None, map(advice_of, problems_of(report, now=now))))


def dns_overview(
    reports: Mapping[str, DomainReport], domains: Collection[str], *, now: datetime
) -> Fact | None:
    """The DNS of all domains of a workspace in one line; None where it has none."""
    if not domains:
        return None
    broken = {name: problems_of(reports.get(name), now=now) for name in sorted(domains)}
    wrong = [
        f"{name} ({', '.join(name_of(problem.check) for problem in problems)})"
        for name, problems in broken.items()
        if problems
    ]
    tones = [dns_fact(reports.get(name), now=now).tone for name in domains if not broken[name]]
    unknown = tones.count(Tone.UNKNOWN)
    good = len(tones) - unknown
    parts = (
        f"problems of {show_some(wrong, 5)}" if wrong else "",
        f"{show_number(unknown, 'domain')} unknown" if unknown else "",
        f"{show_number(good, 'domain')} good" if good else "",
    )
    tone = Tone.BAD if wrong else Tone.UNKNOWN if unknown else Tone.GOOD
    return Fact("DNS", "; ".join(filter(None, parts)), tone=tone)


def broken_checks(reports: Mapping[str, DomainReport], *, now: datetime) -> dict[str, list[str]]:
    """The checks that are known to be broken now, by domain."""
    broken = {
        name: [str(problem.check) for problem in problems_of(report, now=now)]
        for name, report in sorted(reports.items())
    }
    return {name: checks for name, checks in broken.items() if checks}


def in_dns(name: str) -> str:
    """A domain as DNS and the records have it: `müller.example` is `xn--mller-kva.example`."""
    try:
        return name.encode("idna").decode().lower()
    except UnicodeError:
        return name


def as_data(report: DomainReport | None, *, now: datetime) -> dict[str, object]:
    """For `--json`: what is unknown is null."""
    if report is None:
        return {"value": None, "checked_at": None, "checks": []}
    return {
        "value": _value(report, now),
        "checked_at": _iso(report.checked_at),
        "checks": [
            {
                "check": str(check.check),
                "value": None if is_old(check, now) or check.value is Value.UNKNOWN else str(check.value),
                "confirmed": check.confirmed,
                "code": str(check.code),
                "about": check.about or None,
                "records": list(check.records),
                "since": _iso(check.since),
                "checked_at": _iso(check.checked_at),
                "last_good_at": _iso(check.last_good.at if check.last_good else None),
                "advice": advice_of(check) or None,
            }
            for check in report.checks
        ],
    }


def _value(report: DomainReport, now: datetime) -> str | None:
    tone = dns_fact(report, now=now).tone
    return next(
        (str(value) for value, own in TONES.items() if own is tone and value is not Value.UNKNOWN), None
    )


def _iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
