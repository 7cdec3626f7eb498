"""The changes that a new look at a domain brings. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    known = before.of(Check.DKIM) if before else None
    if known is None or known.last_good is None:
        return ()
    waited = known.since is not None and now - known.since >= ACCEPTED_AFTER
    given_up = known.value is Value.PROBLEM and waited and known.keys
    return known.keys if given_up else known.last_good.keys


def to_confirm(before: DomainReport | None, found: Sequence[CheckReport]) -> Collection[Check]:
    """The checks that a second resolver must see as well: problems, and records that have changed."""
    return {
        one.check
        for one in found
        if one.value is Value.PROBLEM or (one.value is Value.GOOD and _is_other(before, one))
    }


def _is_other(before: DomainReport | None, found: CheckReport) -> bool:
    known = before.of(found.check).certain if before else None
    return known is not None and known.value is Value.GOOD and known.records != found.records


def confirm(found: Sequence[CheckReport], second: Mapping[Check, CheckReport]) -> tuple[CheckReport, ...]:
    """The checks of the first resolver, as far as the second one agrees."""
    return tuple(_confirm(one, second.get(one.check)) for one in found)


def _confirm(check: CheckReport, other: CheckReport | None) -> CheckReport:
    if other is None or other.value is Value.UNKNOWN:
        return check
    if check.value is other.value is Value.PROBLEM:
        return replace(check, confirmed=True)
    if check.value is not other.value or check.records != other.records:
        return CheckReport(check=check.check, code=Code.DISAGREEMENT, records=check.records)
    return replace(check, confirmed=True)


def follow(domain: str, before: DomainReport | None, found: Sequence[CheckReport], at: datetime) -> Followed:
    """Put a look at a domain in its history."""
    checks: list[CheckReport] = []
    changes: list[DomainChange] = []
    for one in found:
        known = before.of(one.check) if before and any(c.check is one.check for c in before.checks) else None
        now = _with_history(one, known, at)
        checks.append(now)
        if change := _change(domain, known.certain if known else None, now, at):
            changes.append(change)
    return Followed(report=DomainReport(domain=domain, checks=tuple(checks)), changes=changes)


def _with_history(check: CheckReport, before: CheckReport | None, at: datetime) -> CheckReport:
    settled = before.certain if before else None
    if (
        check.value is Value.PROBLEM
        and settled
        and (settled.value, settled.code) == (check.value, check.code)
    ):
        check = replace(check, confirmed=True)  # it was, and nothing speaks against it
    same = before is not None and (before.value, before.code) == (check.value, check.code)
    good = LastGood(at=at, records=check.records, keys=check.keys) if check.value is Value.GOOD else None
    last_good = good or (before.last_good if before else None)
    now = replace(
        check,
        since=before.since if same and before else at,
        checked_at=at,
        last_good=last_good,
        advice=_restored(check, last_good),
    )
    return now if now.certain is now else replace(now, settled=_bare(settled))


def _bare(settled: CheckReport | None) -> CheckReport | None:
    return replace(settled, settled=None) if settled else None


def _restored(check: CheckReport, last_good: LastGood | None) -> Advice | None:
    """A record that is gone is best put back as it was, and the check that was there before others is kept."""
    advice = check.advice
    if advice is None or last_good is None or not last_good.records:
        return advice
    if check.code is Code.MISSING:
        return replace(advice, action=Action.RESTORE, value=", ".join(map(_whole, last_good.records)))
    if advice.action is Action.KEEP and last_good.records[0] in check.records:
        return replace(advice, value=_whole(last_good.records[0]))
    if check.code is Code.KEY_GONE:
        of_key = (text for text in last_good.records if text.startswith(f"{advice.about}: "))
        return replace(advice, value=_whole(next(of_key, "").removeprefix(f"{advice.about}: ")))
    return advice


def _whole(record: str) -> str:
    """A record as it was kept; empty where that is only its beginning."""
    return "" if record.endswith("…") else record


def _change(domain: str, before: CheckReport | None, now: CheckReport, at: datetime) -> DomainChange | None:
    """The change to tell: a problem, another problem, a recovery, another record. A first look tells only a problem."""
    if now.certain is not now:
        return None
    if before is None:
        return _told(domain, CheckReport(check=now.check), now, at) if now.value is Value.PROBLEM else None
    if (before.value, before.code) != (now.value, now.code) and Value.PROBLEM in {before.value, now.value}:
        return _told(domain, before, now, at)
    if now.value is Value.GOOD and before.records != now.records and now.confirmed:
        return _told(domain, before, now, at)
    return None


def _told(domain: str, before: CheckReport, now: CheckReport, at: datetime) -> DomainChange:
    return DomainChange(domain=domain, check=now.check, at=at, before=_bare(before) or before, after=now)
