"""The state of a domain's DNS, as the records keep it and every front end shows it. Pure.

Texts in it come from public DNS: they are cleaned for screens, and are data in whatever shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from shared.frozen import frozen

T = TypeVar("T")


class Value(StrEnum):
    """The value of a check: a reading that failed is unknown, never a problem and never good."""

    GOOD = "good"
    PROBLEM = "problem"
    UNKNOWN = "unknown"


class Check(StrEnum):
    """The checks, in the order in which they are shown."""

    MX = "mx"
    SPF = "spf"
    DMARC = "dmarc"
    DKIM = "dkim"


class Code(StrEnum):
    """The reason for the value of a check."""

    FINE = "fine"
    # unknown
    NOT_CHECKED = "not-checked"
    TIMEOUT = "timeout"
    SERVER_FAILURE = "server-failure"
    REFUSED = "refused"
    ODD_ANSWER = "odd-answer"
    TOO_LARGE = "too-large"
    DISAGREEMENT = "disagreement"
    """One resolver shows a problem, another doesn't."""
    NO_KEY_FOUND = "no-key-found"
    """None of the selectors that were tried has a DKIM key; the domain may use another one."""
    # problems
    NO_DOMAIN = "no-domain"
    """The name doesn't exist in DNS at all."""
    MISSING = "missing"
    SEVERAL = "several"
    SYNTAX = "syntax"
    NULL_MX = "null-mx"
    """The domain says that it takes no mail (RFC 7505)."""
    NEUTRAL = "neutral"
    """Good, but the SPF record says nothing of other servers: it ends in `?all`, or without `all`."""
    NO_POLICY = "no-policy"
    """Good, but the DMARC record has no `p`, which receivers of before RFC 9989 ask for."""
    TOO_MANY_LOOKUPS = "too-many-lookups"
    TOO_MANY_VOIDS = "too-many-voids"
    LOOP = "loop"
    BROKEN_INCLUDE = "broken-include"
    """A domain that the SPF record includes has no SPF record, or more than one."""
    ALLOWS_ALL = "allows-all"
    """`+all`: every server may send in its name."""
    KEY_GONE = "key-gone"
    """A DKIM key that was there before."""
    KEY_REVOKED = "key-revoked"
    KEY_WEAK = "key-weak"


class Action(StrEnum):
    """The cure of a problem."""

    ADD = "add"
    MERGE = "merge"
    """Several records into one."""
    KEEP = "keep"
    """One of several records."""
    REPLACE = "replace"
    REMOVE_LOOKUPS = "remove-lookups"
    FIX_INCLUDE = "fix-include"
    RESTORE = "restore"
    """A record that was there before."""
    NEW_KEY = "new-key"
    RENEW_DOMAIN = "renew-domain"


@frozen
class Advice:
    """The advice about a problem, as data; `shared.domain.dns_facts` makes a sentence of it."""

    action: Action
    name: str
    """The place of the record, like `_dmarc.useacme.example`."""
    type: str = "TXT"
    value: str = ""
    """The whole record as it should be; empty where only its owner can know."""
    about: str = ""
    """The part with the problem: an include, a selector."""


@frozen
class LastGood:
    """The last good state of a check."""

    at: datetime
    records: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


@frozen
class CheckReport:
    """One check of a domain."""

    check: Check
    value: Value = Value.UNKNOWN
    code: Code = Code.NOT_CHECKED
    about: str = ""
    """The subject of the code, where that is not the domain: an include, selectors."""
    count: int | None = None
    """The number that the code or the check counts: look-ups, records, bits of a key."""
    records: tuple[str, ...] = ()
    """The records in public DNS, cleaned and shortened; DKIM keys each with their selector in front."""
    keys: tuple[str, ...] = ()
    """The selectors of the DKIM keys that are good."""
    advice: Advice | None = None
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
        is_certain = self.value is Value.GOOD or (self.value is Value.PROBLEM and self.confirmed)
        return self if is_certain else self.settled


@frozen
class DomainReport:
    """All checks of a domain, one of each kind that was made, in the order of `Check`."""

    domain: str
    checks: tuple[CheckReport, ...] = ()

    def of(self, check: Check) -> CheckReport:
        """A check; one that wasn't made is unknown."""
        return next((one for one in self.checks if one.check is check), CheckReport(check=check))

    @property
    def problems(self) -> Sequence[CheckReport]:
        """The problems that two resolvers confirm."""
        return [check for check in self.checks if check.value is Value.PROBLEM and check.confirmed]

    @property
    def needed(self) -> Sequence[CheckReport]:
        """The checks of what all mail depends on; a DKIM key may have a selector that nobody here knows."""
        return [self.of(check) for check in (Check.MX, Check.SPF, Check.DMARC)]

    @property
    def value(self) -> Value:
        """The value of the whole: a confirmed problem, else good only where all that mail depends on was read."""
        if self.problems:
            return Value.PROBLEM
        return Value.GOOD if all(one.value is Value.GOOD for one in self.needed) else Value.UNKNOWN

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
        return self.before.value is Value.PROBLEM and self.after.value is Value.GOOD


_ADAPTERS: dict[object, TypeAdapter[Any]] = {kind: TypeAdapter(kind) for kind in (DomainReport, DomainChange)}


def encode(value: DomainReport | DomainChange) -> str:
    """The JSON in which the records keep it."""
    return _ADAPTERS[type(value)].dump_json(value).decode()


def decode(kind: type[T], text: str) -> T | None:
    """Read an encoded value; None for one that a newer version wrote with codes that this one doesn't know."""
    try:
        value: T = _ADAPTERS[kind].validate_json(text)
    except ValidationError:
        return None
    return value
