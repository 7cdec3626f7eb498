"""The changes that a new look at a domain brings. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

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
from shared.frozen import frozen

ACCEPTED_AFTER = timedelta(days=7)
"""A DKIM key that is gone beside good ones is taken to be gone for good after this time."""


@frozen
class Followed:
    """A domain as it is now, and what that changes."""

    report: DomainReport
    changes: Sequence[DomainChange] = ()


def keys_to_expect(before: DomainReport | None, now: datetime) -> Collection[str]:
    """The selectors whose DKIM key should still be there."""
    last = before.of(Check.DKIM) if before else None
    if last is None or last.last_good is None:
        return ()
    waited = last.since is not None and now - last.since >= ACCEPTED_AFTER
    given_up = last.value is Value.PROBLEM and waited and last.keys
    return last.keys if given_up else last.last_good.keys


def to_confirm(before: DomainReport | None, found: Sequence[CheckReport]) -> Collection[Check]:
    """The checks that a second resolver must see as well: problems, and records that have changed."""
    doubted = set()
    for one in found:
        last = before.of(one.check).certain if before else None
        is_other = last is not None and last.value is Value.GOOD and last.records != one.records
        if one.value is Value.PROBLEM or (one.value is Value.GOOD and is_other):
            doubted.add(one.check)
    return doubted


def confirm(found: Sequence[CheckReport], second: Sequence[CheckReport]) -> Sequence[CheckReport]:
    """The checks of the first resolver, as far as the second one agrees."""
    others = {one.check: one for one in second}
    return [_confirm(one, others.get(one.check)) for one in found]


def _confirm(check: CheckReport, other: CheckReport | None) -> CheckReport:
    if other is None or other.value is Value.UNKNOWN:
        return check
    agree = check.value is other.value and (check.value is Value.PROBLEM or check.records == other.records)
    if agree:
        return replace(check, confirmed=True)
    return CheckReport(check=check.check, code=Code.DISAGREEMENT, records=check.records)


def follow(domain: str, before: DomainReport | None, found: Sequence[CheckReport], at: datetime) -> Followed:
    """Put a look at a domain in its history."""
    checks: list[CheckReport] = []
    changes: list[DomainChange] = []
    for one in found:
        # A check that was never made is unknown since no time, and was never certain.
        last = before.of(one.check) if before else CheckReport(check=one.check)
        now = _with_history(one, last, at)
        checks.append(now)
        settled = last.certain or CheckReport(check=one.check)
        if now.certain is now and _is_news(settled, now):
            was = replace(settled, settled=None)
            changes.append(DomainChange(domain=domain, check=one.check, at=at, before=was, after=now))
    return Followed(report=DomainReport(domain=domain, checks=tuple(checks)), changes=changes)


def _with_history(check: CheckReport, last: CheckReport, at: datetime) -> CheckReport:
    settled = last.certain
    state = (check.value, check.code)
    if check.value is Value.PROBLEM and settled and (settled.value, settled.code) == state:
        check = replace(check, confirmed=True)  # it was, and nothing speaks against it
    last_good = last.last_good
    if check.value is Value.GOOD:
        last_good = LastGood(at=at, records=check.records, keys=check.keys)
    now = replace(
        check,
        since=last.since if last.since and (last.value, last.code) == state else at,
        checked_at=at,
        last_good=last_good,
        advice=_restored(check, last_good),
    )
    if now.certain is now or settled is None:
        return now
    return replace(now, settled=replace(settled, settled=None))


def _restored(check: CheckReport, last_good: LastGood | None) -> Advice | None:
    """A record that is gone is best put back as it was, and the one that was there before others is kept."""
    advice = check.advice
    if advice is None or last_good is None or not last_good.records:
        return advice
    records = last_good.records
    if check.code is Code.MISSING:
        return replace(advice, action=Action.RESTORE, value=", ".join(map(_whole, records)))
    if advice.action is Action.KEEP and records[0] in check.records:
        return replace(advice, value=_whole(records[0]))
    if check.code is Code.KEY_GONE:
        prefix = f"{advice.about}: "
        of_key = [text.removeprefix(prefix) for text in records if text.startswith(prefix)]
        return replace(advice, value=_whole(of_key[0]) if of_key else "")
    return advice


def _whole(record: str) -> str:
    """A record as it was kept; empty where that is only its beginning."""
    return "" if record.endswith("…") else record


def _is_news(before: CheckReport, now: CheckReport) -> bool:
    """True for a problem, another problem, a recovery, another record. A first look tells only a problem."""
    if Value.PROBLEM in {before.value, now.value}:
        return (before.value, before.code) != (now.value, now.code)
    return before.value is Value.GOOD and before.records != now.records and now.confirmed
