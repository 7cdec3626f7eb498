"""DMARC records, and where a domain's may be (RFC 9989, which replaced RFC 7489 in May 2026). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache

from publicsuffixlist import PublicSuffixList

from shared.frozen import frozen

POLICIES = frozenset({"none", "quarantine", "reject"})
MOST_STEPS = 8
"""Names that are asked for a record, at most (RFC 9989, 4.10)."""
LONGEST = 8_192
"""Characters of a record that is read."""
_LOOKS_LIKE = re.compile(r"\s*v\s*=\s*dmarc1", re.IGNORECASE)
_VERSION = re.compile(r"v[ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)")
_TAG = re.compile(r"[a-z][a-z0-9_]*", re.IGNORECASE)


@frozen
class Dmarc:
    """A record, read."""

    tags: Mapping[str, str] = field(default_factory=dict)
    """The tags that are known and well-formed, in small letters but for addresses."""
    is_valid: bool = True

    @property
    def policy(self) -> str:
        """The policy for mail in the domain's own name; without a tag it is none (RFC 9989, 4.7)."""
        return self.tags.get("p", "none")


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # the list in the package: nothing is downloaded


def organizational(domain: str) -> str:
    """The registered domain that a domain is under; itself, where it is a public suffix."""
    return _suffixes().privatesuffix(domain) or domain


def places(domain: str) -> Iterator[str]:
    """The domains whose record may apply, the nearest first: itself, the organizational one, those between.

    RFC 7489 looks at the first two. Where both have none, the tree walk of RFC 9989 finds the others.
    """
    yield domain
    above = organizational(domain)
    if above == domain:
        return
    yield above
    labels = domain.removesuffix(f".{above}").split(".")
    between = [".".join([*labels[start:], above]) for start in range(len(labels) - 1, 0, -1)]
    yield from between[: MOST_STEPS - 2]


def is_dmarc(text: str) -> bool:
    """True if a TXT record counts as one, be it invalid in the rest (RFC 9989, 4.8)."""
    return _VERSION.match(text) is not None


def resembles(text: str) -> bool:
    """True if it was meant as one."""
    return _LOOKS_LIKE.match(text) is not None


def parse(record: str) -> Dmarc:
    """The tags of a record. Values that are wrong are left out; a wrong policy makes it invalid without `rua`."""
    if len(record) > LONGEST or not record.isascii():
        return Dmarc(is_valid=False)
    tags: dict[str, str] = {}
    for part in record.split(";"):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not name and not value:
            continue
        name = name.lower()
        if not sign or not _TAG.fullmatch(name) or name in tags:
            return Dmarc(is_valid=False)
        tags[name] = value if name in {"rua", "ruf"} else value.lower()
    has_reports = any(_is_uri(one) for one in tags.get("rua", "").split(","))
    is_valid = tags.get("p", "none") in POLICIES or has_reports
    return Dmarc(tags={name: one for name, one in tags.items() if _is_right(name, one)}, is_valid=is_valid)


def _is_right(name: str, value: str) -> bool:
    if name in {"p", "sp", "np"}:
        return value in POLICIES
    if name in {"adkim", "aspf"}:
        return value in {"r", "s"}
    return True


def _is_uri(text: str) -> bool:
    return (
        re.fullmatch(r"\s*mailto:[^\s,!@]+@[^\s,!@]+(?:![0-9]+[kmgt]?)?\s*", text, re.IGNORECASE) is not None
    )
