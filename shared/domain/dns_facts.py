"""The DNS of a domain in words, for cards, pages and `--json`: what is wrong since when, what to do, what is unknown. Pure.

What public DNS says is in them as it was cleaned for the reports: a Card and its renderers take it as plain text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from shared.domain.card import Fact, Tone
from shared.domain_health.report import CheckReport, Code, DomainChange, DomainReport, Value, encode
from shared.text.formats import show_number, show_some, show_span, show_time

OLD = timedelta(days=1)
"""A reading tells nothing about now after this long: the bot checks every few hours."""
_TONES: Mapping[Value, Tone] = {"good": Tone.GOOD, "problem": Tone.BAD, "unknown": Tone.UNKNOWN}
_STATES: Mapping[Code, str] = {
    "fine": "good",
    "not-checked": "not checked yet",
    "timeout": "unknown: the resolver didn't answer",
    "server-failure": "unknown: the resolver couldn't read the zone (SERVFAIL)",
    "refused": "unknown: the request was refused",
    "odd-answer": "unknown: the answer makes no sense",
    "too-large": "unknown: the answer is too large",
    "disagreement": "unknown: two resolvers disagree",
    "no-key-found": "unknown: no key under the selectors that were tried",
    "no-domain": "the domain doesn't exist in DNS",
    "missing": "no record",
    "several": "{count} records, and only one is allowed",
    "syntax": "the record is invalid{in_brackets}",
    "null-mx": "the record says that the domain takes no mail",
    "too-many-lookups": "the record needs more than 10 look-ups{in_brackets}",
    "too-many-voids": "more than 2 of the record's look-ups find nothing{in_brackets}",
    "loop": "the record includes itself{in_brackets}",
    "broken-include": "{about} has no valid SPF record, which breaks this one",
    "allows-all": "the record allows every server to send (+all)",
    "key-gone": "the key of {about} is gone",
    "key-invalid": "the key of {about} is invalid",
    "key-revoked": "the key of {about} is revoked",
    "key-weak": "the key of {about} is too weak",
}
_FEWER_LOOKUPS = "Remove includes that you no longer need from the {record}, or name addresses instead"
_NEW_KEY = "Create a new key of 2,048 bits with your provider, and publish it as the {record}"
_LESS = "Remove or correct {about} in the {record}"
_ADVICE: Mapping[Code, str] = {
    "no-domain": "Ask your registrar whether {place} has expired or lost its name servers",
    "missing": "Add the {record}",
    "several": "Merge them into one {record}",
    "too-many-lookups": _FEWER_LOOKUPS,
    "too-many-voids": _FEWER_LOOKUPS,
    "loop": _LESS,
    "broken-include": _LESS,
    "key-gone": "Restore the {record}",
    "key-invalid": _NEW_KEY,
    "key-revoked": _NEW_KEY,
    "key-weak": _NEW_KEY,
}


def _words(template: str, check: CheckReport) -> str:
    kind = "MX" if check.check == "mx" else "TXT"
    return template.format(
        record=f"{kind} record at {check.place}",
        place=check.place,
        count=check.count,
        about=check.about,
        in_brackets=f" ({check.about})" if check.about else "",
    )


def headline(check: CheckReport) -> str:
    """`SPF: 2 records, and only one is allowed`."""
    return f"{check.check.upper()}: {_words(_STATES[check.code], check)}"


def advice_of(check: CheckReport) -> str:
    """The advice about a problem, with the whole record where it can be known; empty where there is nothing to do."""
    if check.value != "problem" or not check.place:
        return ""
    # A record that was there before is put back as it was.
    code = "key-gone" if check.code == "missing" and check.last_good else check.code
    text = _words(_ADVICE.get(code, "Correct the {record}{in_brackets}"), check)
    return f"{text}: {check.publish}" if check.publish else f"{text}."


def change_of(change: DomainChange) -> str:
    """The change in words: `SPF: 2 records, and only one is allowed`, `SPF: good again`, `DMARC: the record changed`."""
    name = change.check.upper()
    if change.recovered:
        return f"{name}: good again"
    return f"{name}: the record changed" if change.after.value == "good" else headline(change.after)


def _is_old(check: CheckReport, now: datetime) -> bool:
    """Return whether a check says nothing about now."""
    return check.checked_at is None or now - check.checked_at > OLD


def problems_of(report: DomainReport | None, *, now: datetime) -> Sequence[CheckReport]:
    """The problems known now, confirmed by two resolvers."""
    return [problem for problem in report.problems if not _is_old(problem, now)] if report else []


def dns_fact(report: DomainReport | None, *, now: datetime, zone: tzinfo = UTC) -> Fact:
    """The DNS of a domain in one line."""
    if report is None or report.checked_at is None:
        return Fact("DNS", "unknown: not checked yet", tone=Tone.UNKNOWN)
    age = show_span(now - report.checked_at)
    # An old reading proves nothing: neither good nor a problem is claimed of it.
    if now - report.checked_at > OLD:
        return Fact("DNS", f"unknown: last checked {age} ago", tone=Tone.UNKNOWN)
    if report.value == "good":
        return Fact("DNS", f"good, checked {age} ago", tone=Tone.GOOD)
    problems = problems_of(report, now=now)
    checks = problems or [one for one in report.needed if one.value != "good"]
    texts = [check_text(one, now=now, zone=zone) for one in checks]
    return Fact("DNS", "; ".join(texts), tone=Tone.BAD if problems else Tone.UNKNOWN)


def check_text(check: CheckReport, *, now: datetime, zone: tzinfo = UTC) -> str:
    """`SPF: 2 records, and only one is allowed, since 14:02 UTC`."""
    fact = _check_fact(check, now=now, zone=zone)
    return f"{fact.label}: {fact.value}"


def _check_fact(check: CheckReport, *, now: datetime, zone: tzinfo) -> Fact:
    """A check: a problem with its beginning, an unknown one with its last good reading."""
    name, text, tone = check.check.upper(), _words(_STATES[check.code], check), _TONES[check.value]
    if _is_old(check, now):
        age = f": last checked {show_span(now - check.checked_at)} ago" if check.checked_at else ""
        return Fact(name, f"unknown{age}", tone=Tone.UNKNOWN)
    if check.value == "problem" and check.since:
        # What was so at the first check began before.
        begin = "since" if check.last_good else "at least since"
        text += f", {begin} {show_time(check.since, now=now, zone=zone)}"
    if check.value == "problem" and not check.confirmed:
        # One resolver may lie or lag: what it alone says is shown, but colours nothing red.
        text, tone = f"{text} (one resolver says so, not yet confirmed)", Tone.WARN
    if check.value == "unknown" and check.last_good:
        text += f"; last good {show_span(now - check.last_good.at)} ago"
    return Fact(name, text, tone=tone)


def dns_facts(report: DomainReport | None, *, now: datetime, zone: tzinfo = UTC) -> tuple[Fact, ...]:
    """All that a page shows of a domain's DNS: each check, and how old they are."""
    if report is None or report.checked_at is None:
        return (dns_fact(report, now=now, zone=zone),)
    age = Fact("DNS checked", f"{show_span(now - report.checked_at)} ago")
    return (*(_check_fact(check, now=now, zone=zone) for check in report.checks), age)


def advice(report: DomainReport | None, *, now: datetime) -> tuple[str, ...]:
    """The advice for each problem, with the whole record where it can be known."""
    return tuple(filter(None, map(advice_of, problems_of(report, now=now))))


def dns_overview(
    reports: Mapping[str, DomainReport], domains: Collection[str], *, now: datetime
) -> Fact | None:
    """The DNS of all domains of a workspace in one line; None where it is known to be good."""
    broken = broken_checks({name: reports[name] for name in domains if name in reports}, now=now)
    wrong = [f"{name} ({', '.join(checks).upper()})" for name, checks in broken.items()]
    # What is unknown is counted apart: it is neither good nor a problem.
    unknown = sum(dns_fact(reports.get(name), now=now).tone is Tone.UNKNOWN for name in domains)
    parts = [f"problems of {show_some(wrong, 5)}"] if wrong else []
    if unknown:
        parts.append(f"{show_number(unknown, 'domain')} unknown")
    return Fact("DNS", "; ".join(parts), tone=Tone.BAD if wrong else Tone.UNKNOWN) if parts else None


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
    except UnicodeError:  # no look-up can find it, but its page is shown all the same
        return name


def as_data(report: DomainReport | None, *, now: datetime) -> dict[str, Any]:
    """The report for `--json`, each problem with its advice: what is unknown, or old, is null."""
    data = json.loads(encode(report or DomainReport(domain="")))
    values = {Tone.GOOD: "good", Tone.BAD: "problem"}
    for check, told in zip(report.checks if report else (), data["checks"], strict=True):
        told["advice"] = advice_of(check) or None
        if check.value == "unknown" or _is_old(check, now):
            told["value"] = None
    value, at = values.get(dns_fact(report, now=now).tone), report and report.checked_at
    return {"value": value, "checked_at": at and at.isoformat(), "checks": data["checks"]}
