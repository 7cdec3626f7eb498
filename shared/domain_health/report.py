"""The state of a domain's DNS, as the records keep it and every front end shows it, and what a new look changes. Pure.

Texts in it come from public DNS: they are cleaned for screens, and are data in whatever shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Literal, TypeVar, get_args

from pydantic import TypeAdapter, ValidationError

from shared.frozen import frozen

T = TypeVar("T")


Value = Literal["good", "problem", "unknown"]
"""The value of a check: a reading that failed is unknown, never a problem and never good."""
Check = Literal["mx", "spf", "dmarc", "dkim"]
CHECKS: tuple[Check, ...] = get_args(Check)
"""The checks, in the order in which they are shown."""
Code = Literal[
    "fine",
    # unknown
    "not-checked",
    "timeout",
    "server-failure",
    "refused",
    "odd-answer",
    "too-large",
    "disagreement",  # one resolver shows a problem, another doesn't
    "no-key-found",  # none of the selectors that were tried has a DKIM key; the domain may use another one
    # problems
    "no-domain",  # the name doesn't exist in DNS at all
    "missing",
    "several",
    "syntax",
    "null-mx",  # the domain says that it takes no mail (RFC 7505)
    "too-many-lookups",
    "too-many-voids",
    "loop",
    "broken-include",  # a domain that the SPF record includes has no SPF record, or more than one
    "allows-all",  # `+all`: every server may send in its name
    "key-gone",  # a DKIM key that was there before
    "key-invalid",
    "key-revoked",
    "key-weak",
]
"""The reason for the value of a check."""


@frozen
class LastGood:
    """The last good state of a check."""

    at: datetime
    records: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    is_whole: bool = False
    """The records are there from the beginning to the end, so that they can be put back."""


@frozen
class CheckReport:
    """One check of a domain."""

    check: Check
    value: Value = "unknown"
    code: Code = "not-checked"
    about: str = ""
    """The subject of the code, where that is not the domain: an include, selectors."""
    count: int | None = None
    """The number of the records."""
    records: tuple[str, ...] = ()
    """The records in public DNS, cleaned and shortened; DKIM keys each with their selector in front."""
    is_whole: bool = True
    """None of the records was shortened, or left out."""
    keys: tuple[str, ...] = ()
    """The selectors of the DKIM keys that are good."""
    place: str = ""
    """The name of the record with the problem, like `_dmarc.useacme.example`."""
    publish: str = ""
    """The whole record as it should be there; empty where only its owner can know."""
    since: datetime | None = None
    """Since when it has this value and code."""
    checked_at: datetime | None = None
    """The last look, whatever it found."""
    last_good: LastGood | None = None
    confirmed: bool = False
    """Two resolvers said so: only then is anybody alerted to a problem."""
    settled: CheckReport | None = None
    """The last certain state, where it is unknown or unconfirmed now."""

    @property
    def certain(self) -> CheckReport | None:
        """This, or how it was last certain; None: it never was."""
        is_certain = self.value == "good" or (self.value == "problem" and self.confirmed)
        return self if is_certain else self.settled


@frozen
class DomainReport:
    """All checks of a domain, one of each kind that was made, in the order of `Check`."""

    domain: str
    checks: tuple[CheckReport, ...] = ()

    def of(self, check: Check) -> CheckReport:
        """A check; one that wasn't made is unknown."""
        return next((one for one in self.checks if one.check == check), CheckReport(check=check))

    @property
    def problems(self) -> Sequence[CheckReport]:
        """The problems that two resolvers confirm."""
        return [check for check in self.checks if check.value == "problem" and check.confirmed]

    @property
    def needed(self) -> Sequence[CheckReport]:
        """The checks of what all mail depends on; a DKIM key may have a selector that nobody here knows."""
        return [self.of(check) for check in ("mx", "spf", "dmarc")]

    @property
    def value(self) -> Value:
        """The value of the whole: a confirmed problem, else good only where all that mail depends on was read."""
        if self.problems:
            return "problem"
        return "good" if all(one.value == "good" for one in self.needed) else "unknown"

    @property
    def checked_at(self) -> datetime | None:
        return max((check.checked_at for check in self.checks if check.checked_at), default=None)


@frozen
class DomainChange:
    """A check that became another value, or whose records changed, at a time."""

    domain: str
    check: Check
    at: datetime
    before: CheckReport
    after: CheckReport

    @property
    def recovered(self) -> bool:
        return self.before.value == "problem" and self.after.value == "good"


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(TypeAdapter)


def encode(value: object) -> str:
    """The JSON in which the records keep it."""
    return _adapter(type(value)).dump_json(value).decode()


def decode(kind: type[T], stored: str | Mapping[str, Any]) -> T | None:
    """Read an encoded value; None for one that a newer version wrote with codes that this one doesn't know."""
    adapter = _adapter(kind)
    try:
        value: T = (
            adapter.validate_json(stored) if isinstance(stored, str) else adapter.validate_python(stored)
        )
    except ValidationError:
        return None
    return value


ACCEPTED_AFTER = timedelta(days=7)
"""A DKIM key that is gone beside good ones is taken to be gone for good after this time."""


@frozen
class Followed:
    """A domain as it is now, and what that changes."""

    report: DomainReport
    changes: Sequence[DomainChange] = ()


def keys_to_expect(before: DomainReport | None, now: datetime) -> Collection[str]:
    """The selectors whose DKIM key should still be there."""
    last = before.of("dkim") if before else None
    if last is None or last.last_good is None:
        return ()
    waited = last.since is not None and now - last.since >= ACCEPTED_AFTER
    given_up = last.value == "problem" and waited and last.keys
    return last.keys if given_up else last.last_good.keys


def to_confirm(before: DomainReport | None, found: Sequence[CheckReport]) -> Collection[Check]:
    """The checks that a second resolver must see as well: problems, and records that have changed."""
    doubted = set()
    for one in found:
        last = before.of(one.check).certain if before else None
        is_other = last is not None and last.value == "good" and last.records != one.records
        if one.value == "problem" or (one.value == "good" and is_other):
            doubted.add(one.check)
    return doubted


def confirm(found: Sequence[CheckReport], second: Sequence[CheckReport]) -> Sequence[CheckReport]:
    """The checks of the first resolver, as far as the second one agrees."""
    others = {one.check: one for one in second}
    return [_confirm(one, others.get(one.check)) for one in found]


def _confirm(check: CheckReport, other: CheckReport | None) -> CheckReport:
    if other is None or other.value == "unknown":
        return check
    agree = check.value == other.value and (check.value == "problem" or check.records == other.records)
    if agree:
        return replace(check, confirmed=True)
    return CheckReport(check=check.check, code="disagreement", records=check.records)


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
    if check.value == "problem" and settled and (settled.value, settled.code) == state:
        check = replace(check, confirmed=True)  # it was, and nothing speaks against it
    last_good = last.last_good
    if check.value == "good":
        last_good = LastGood(at=at, records=check.records, keys=check.keys, is_whole=check.is_whole)
    now = replace(
        check,
        since=last.since if last.since and (last.value, last.code) == state else at,
        checked_at=at,
        last_good=last_good,
        publish=_restored(check, last_good),
    )
    if now.certain is now or settled is None:
        return now
    return replace(now, settled=replace(settled, settled=None))


def _restored(check: CheckReport, last_good: LastGood | None) -> str:
    """The record to publish: one that is gone is best put back as it was, unless only its beginning was kept."""
    if last_good is None or not last_good.is_whole or check.code not in {"missing", "key-gone"}:
        return check.publish
    selector = f"{check.place.partition('.')[0]}: " if check.code == "key-gone" else ""
    lost = [text.removeprefix(selector) for text in last_good.records if text.startswith(selector)]
    return ", ".join(lost)


def _is_news(before: CheckReport, now: CheckReport) -> bool:
    """True for a problem, another problem, a recovery, another record. A first look tells only a problem."""
    if "problem" in {before.value, now.value}:
        return (before.value, before.code) != (now.value, now.code)
    return before.value == "good" and before.records != now.records and now.confirmed
