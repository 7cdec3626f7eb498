"""SPF records: their syntax, and the look-ups that a receiver makes for them (RFC 7208). Pure.

A receiver stops at the first mechanism that matches; the checks go on to the end, as for a mail that none matches.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from shared.domain_health.answers import Answers
from shared.domain_health.report import Code

MOST_LOOKUPS, MOST_VOIDS = 10, 2
"""RFC 7208, 4.6.4."""
MOST_MX = 10
"""Hosts of one `mx` (the same section)."""
LONGEST = 16_384
"""Characters of a record that is read; the RFC recommends 450 (3.4)."""

_VERSION = re.compile(r"v=spf1(?: |$)", re.IGNORECASE)
_LETTERS = "slodiphcrtv"
_MACRO = re.compile(rf"%(?:\{{[{_LETTERS}]\d*r?[.\-+,/_=]*\}}|%|_|-)", re.IGNORECASE)
_ONLY_IN_EXP = re.compile(r"%\{[crt]", re.IGNORECASE)
_TERM = re.compile(r"([+\-?~]?)([a-z][a-z0-9_.\-]*)(?:([:=/])(.*))?", re.IGNORECASE | re.DOTALL)
_CIDR = re.compile(r"(?:/(0|[1-9]\d?))?(?://(0|[1-9]\d{0,2}))?")
_LENGTH = re.compile(r"0|[1-9]\d{0,2}")
_MECHANISMS = frozenset({"all", "include", "a", "mx", "ptr", "ip4", "ip6", "exists"})
_ASKING = frozenset({"include", "a", "mx", "ptr", "exists", "redirect"})


class SpfProblem(Exception):
    """A receiver answers `permerror` (RFC 7208, 2.6.7)."""

    def __init__(self, code: Code, about: str = "", *, count: int | None = None) -> None:
        self.code, self.about, self.count = code, about, count
        super().__init__(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A mechanism, or a modifier that matters."""

    name: str
    qualifier: str = "+"
    domain: str = ""
    """What it asks for, in small letters; empty: the domain itself."""
    text: str = ""

    @property
    def asks(self) -> bool:
        """Whether a receiver looks something up for it."""
        return self.name in _ASKING

    @property
    def is_macro(self) -> bool:
        """Whether the name depends on the mail."""
        return "%" in self.domain


@dataclass(slots=True)
class SpfCount:
    """What the evaluation of a domain's record has come to."""

    lookups: int = 0
    voids: int = 0
    final: str = ""
    """The qualifier of `all`; empty: the record has none."""
    chain: list[str] = field(default_factory=list)


def is_spf(text: str) -> bool:
    """Whether a TXT record is an SPF record (RFC 7208, 4.5)."""
    return _VERSION.match(text) is not None


def evaluate(record: str, domain: str, answers: Answers) -> SpfCount:
    """Follow a record to the end. Raises `SpfProblem`, and `Unanswered` and `Failed` as `Answers` does."""
    count = SpfCount()
    _follow(record, domain, answers, count)
    return count


@lru_cache(maxsize=64)  # the record of a chain is followed again with each new answer
def parse(record: str) -> tuple[Term, ...]:
    """The terms of a record up to `all`, behind which nothing counts, and `redirect`. Raises `SpfProblem`."""
    if len(record) > LONGEST:
        raise SpfProblem(Code.SYNTAX, count=len(record))
    terms = tuple(_terms(record))
    for name in ("redirect", "exp"):
        if sum(term.name == name for term in terms) > 1:
            raise SpfProblem(Code.SYNTAX, name)
    end = next((place for place, term in enumerate(terms) if term.name == "all"), None)
    if end is not None:  # it also makes a redirect of no effect, wherever that stands (6.1)
        return tuple(term for term in terms[: end + 1] if term.name != "redirect")
    # A redirect is followed when no mechanism matches, wherever it stands.
    return tuple(sorted(terms, key=lambda term: term.name == "redirect"))


def _terms(record: str) -> Iterator[Term]:
    for text in record.split(" ")[1:]:
        if text:
            yield _term(text)


def _term(text: str) -> Term:
    found = _TERM.fullmatch(text)
    if found is None or not text.isascii() or not text.isprintable():
        raise SpfProblem(Code.SYNTAX, text)
    qualifier, name, sign, value = found[1], found[2].lower(), found[3] or "", found[4] or ""
    if sign == "=":
        return _modifier(text, qualifier, name, value)
    if name not in _MECHANISMS or not _fits(name, sign, value):
        raise SpfProblem(Code.SYNTAX, text)
    domain = _domain_of(value) if sign == ":" and name not in {"ip4", "ip6"} else ""
    return Term(name=name, qualifier=qualifier or "+", domain=domain, text=text)


def _modifier(text: str, qualifier: str, name: str, value: str) -> Term:
    """Those with another name are ignored (section 6), but for their syntax."""
    if qualifier or not _is_macro_string(value, in_exp=name != "redirect"):
        raise SpfProblem(Code.SYNTAX, text)
    if name in {"redirect", "exp"} and not value:
        raise SpfProblem(Code.SYNTAX, text)
    return Term(name=name, domain=value.lower() if name == "redirect" else "", text=text)


def _fits(name: str, sign: str, value: str) -> bool:
    """Whether a mechanism has a value of its syntax (section 12)."""
    if name == "all":
        return not sign
    if name in {"ip4", "ip6"}:
        return sign == ":" and _is_network(value, version=4 if name == "ip4" else 6)
    if name in {"include", "exists"}:
        return sign == ":" and bool(value) and _is_macro_string(value)
    if name == "ptr":
        return not sign or (sign == ":" and bool(value) and _is_macro_string(value))
    if not sign:
        return True
    domain, length = _split_cidr(value) if sign == ":" else ("", f"/{value}")
    return _is_cidr(length) and (sign == "/" or bool(domain)) and _is_macro_string(domain)


def _domain_of(value: str) -> str:
    return _split_cidr(value)[0].lower()


def _split_cidr(value: str) -> tuple[str, str]:
    """A domain and the lengths behind it; a slash within the braces of a macro is a delimiter."""
    bare = re.sub(r"\{[^}]*\}", lambda found: "." * len(found[0]), value)
    place = bare.find("/")
    return (value, "") if place < 0 else (value[:place], value[place:])


def _is_cidr(text: str) -> bool:
    found = _CIDR.fullmatch(text)
    return found is not None and int(found[1] or 0) <= 32 and int(found[2] or 0) <= 128


def _is_network(value: str, *, version: int) -> bool:
    _address, slash, length = value.partition("/")
    if slash and not _LENGTH.fullmatch(length):
        return False
    try:
        return ipaddress.ip_network(value, strict=False).version == version
    except ValueError:
        return False


def _is_macro_string(text: str, *, in_exp: bool = False) -> bool:
    """Whether the macros in a text are whole, and allowed there (section 7)."""
    if not in_exp and _ONLY_IN_EXP.search(text):
        return False
    return "%" not in _MACRO.sub("", text)


def _follow(record: str, domain: str, answers: Answers, count: SpfCount) -> None:
    count.chain.append(domain)
    for term in parse(record):
        if term.name == "all":
            count.final = term.qualifier
        if not term.asks:
            continue
        count.lookups += 1
        if count.lookups > MOST_LOOKUPS:
            raise SpfProblem(
                Code.TOO_MANY_LOOKUPS, domain if len(count.chain) > 1 else "", count=count.lookups
            )
        if not term.is_macro:
            _look_up(term, term.domain or domain, answers, count)
    count.chain.pop()


def _look_up(term: Term, name: str, answers: Answers, count: SpfCount) -> None:
    if term.name in {"include", "redirect"}:
        _enter(term, name.rstrip("."), answers, count)
        return
    is_empty = not answers.known(name, "MX" if term.name == "mx" else "A").records
    if is_empty and term.name in {"a", "ptr"}:
        is_empty = not answers.known(name, "AAAA").records
    if term.name == "mx" and len(answers.known(name, "MX").records) > MOST_MX:
        raise SpfProblem(Code.TOO_MANY_LOOKUPS, term.text)
    if is_empty:
        _count_void(term.text, count)


def _enter(term: Term, name: str, answers: Answers, count: SpfCount) -> None:
    """The record of another domain, which must have exactly one (sections 5.2 and 6.1)."""
    if name in count.chain:
        raise SpfProblem(Code.LOOP, name)
    _answer, texts = answers.texts(name)
    records = [text for text in texts if is_spf(text)]
    if len(records) != 1:  # as fatal as one look-up in vain too many, and more to the point
        raise SpfProblem(Code.BROKEN_INCLUDE, name)
    final = count.final
    try:
        _follow(records[0], name, answers, count)
    except SpfProblem as problem:
        if problem.code is Code.SYNTAX:
            raise SpfProblem(Code.BROKEN_INCLUDE, name) from None
        raise
    if term.name == "include":  # its own `all` decides nothing here
        count.final = final


def _count_void(text: str, count: SpfCount) -> None:
    count.voids += 1
    if count.voids > MOST_VOIDS:
        raise SpfProblem(Code.TOO_MANY_VOIDS, text, count=count.voids)


def merged(records: tuple[str, ...]) -> str:
    """One record instead of several: their mechanisms, once each; empty if one is invalid."""
    mechanisms: dict[str, None] = {}
    finals: list[str] = []
    try:
        for record in records:
            for term in parse(record):
                if term.name == "all":
                    finals.append(term.qualifier)
                elif term.name in _MECHANISMS:
                    mechanisms[term.text] = None
                else:
                    return ""
    except SpfProblem:
        return ""
    final = "-" if finals and set(finals) == {"-"} else "~"
    return " ".join(["v=spf1", *mechanisms, f"{final}all"])
