"""SPF records: their syntax, and the look-ups that a receiver makes for them (RFC 7208). Pure.

A receiver stops at the first mechanism that matches; the checks go on to the end, as for a mail that none matches.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from functools import lru_cache

from shared.domain_health.answers import Answers
from shared.domain_health.report import Code
from shared.frozen import frozen

MOST_LOOKUPS, MOST_VOIDS = 10, 2
"""RFC 7208, 4.6.4."""
MOST_MX = 10
"""Hosts of one `mx` (the same section)."""
LONGEST = 16_384
"""Characters of a record that is read; the RFC recommends 450 (3.4)."""

_VERSION = re.compile(r"v=spf1(?: |$)", re.IGNORECASE)
_LENGTHS = r"(?:/(?:3[0-2]|[12]?\d))?(?://(?:12[0-8]|1[01]\d|[1-9]?\d))?"
_DOMAIN = r":(?:%\{[^}]*\}|[^\s/{}])+"  # a slash within a macro is a delimiter of its own
_MACRO = re.compile(r"%(?:\{[slodiphv]\d*r?[.\-+,/_=]*\}|%|_|-)", re.IGNORECASE)
_MACRO_OF_MODIFIERS = re.compile(r"%(?:\{[slodiphcrtv]\d*r?[.\-+,/_=]*\}|%|_|-)", re.IGNORECASE)
_MECHANISM = re.compile(
    rf"([+\-?~]?)(all|(?:include|exists){_DOMAIN}|ptr(?:{_DOMAIN})?|(?:a|mx)(?:{_DOMAIN})?{_LENGTHS}|ip[46]:.+)",
    re.IGNORECASE,
)
_LENGTHS_AT_END = re.compile(rf"{_LENGTHS}$")
_MODIFIER = re.compile(r"([a-z][a-z0-9_.\-]*)=(.*)", re.IGNORECASE | re.DOTALL)
_MECHANISMS = frozenset({"all", "include", "a", "mx", "ptr", "ip4", "ip6", "exists"})
_ASKING = frozenset({"include", "a", "mx", "ptr", "exists", "redirect"})


class SpfProblem(Exception):
    """A receiver answers `permerror` (RFC 7208, 2.6.7)."""

    def __init__(self, code: Code, about: str = "", *, count: int | None = None) -> None:
        self.code, self.about, self.count = code, about, count
        super().__init__(code)


@frozen
class Term:
    """A mechanism, or a modifier that matters."""

    name: str
    qualifier: str = "+"
    domain: str = ""
    """The name that it asks for, in small letters; empty: the domain itself."""
    text: str = ""

    @property
    def asks(self) -> bool:
        """True if a receiver looks something up for it."""
        return self.name in _ASKING

    @property
    def is_macro(self) -> bool:
        """True if the name depends on the mail."""
        return "%" in self.domain


@dataclass(slots=True)
class SpfCount:
    """The counts of an evaluation of a domain's record."""

    lookups: int = 0
    voids: int = 0
    final: str = ""
    """The qualifier of `all`; empty: the record has none."""
    chain: list[str] = field(default_factory=list)


def is_spf(text: str) -> bool:
    """True if a TXT record is an SPF record (RFC 7208, 4.5)."""
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
    terms = tuple(_term(text) for text in record.split(" ")[1:] if text)
    for name in ("redirect", "exp"):
        if sum(term.name == name for term in terms) > 1:
            raise SpfProblem(Code.SYNTAX, name)
    end = next((place for place, term in enumerate(terms) if term.name == "all"), None)
    if end is not None:  # it also makes a redirect of no effect, wherever that stands (6.1)
        return tuple(term for term in terms[: end + 1] if term.name != "redirect")
    # A redirect is followed when no mechanism matches, wherever it stands.
    return tuple(sorted(terms, key=lambda term: term.name == "redirect"))


def _term(text: str) -> Term:
    """A mechanism (RFC 7208, section 12), or a modifier; those with another name than two are ignored (section 6)."""
    mechanism = _MECHANISM.fullmatch(text)
    modifier = None if mechanism else _MODIFIER.fullmatch(text)
    macro = _MACRO if mechanism or text.lower().startswith("redirect=") else _MACRO_OF_MODIFIERS
    is_printable = text.isascii() and text.isprintable()
    if (mechanism or modifier) is None or not is_printable or "%" in macro.sub("", text):
        raise SpfProblem(Code.SYNTAX, text)
    if modifier:
        name, value = modifier[1].lower(), modifier[2]
        if name in {"redirect", "exp"} and not value:
            raise SpfProblem(Code.SYNTAX, text)
        return Term(name=name, domain=value.lower() if name == "redirect" else "", text=text)
    assert mechanism
    name, _, value = mechanism[2].partition(":")
    name = name.partition("/")[0].lower()
    if name in {"ip4", "ip6"}:
        _check_network(text, value, version=int(name[-1]))
        value = ""
    return Term(
        name=name, qualifier=mechanism[1] or "+", domain=_LENGTHS_AT_END.sub("", value).lower(), text=text
    )


def _check_network(text: str, value: str, *, version: int) -> None:
    try:
        # Python also takes a mask, or a length with zeros before it.
        length = value.partition("/")[2]
        is_plain = not length or str(int(length)) == length
        is_network = is_plain and ipaddress.ip_network(value, strict=False).version == version
    except ValueError:
        is_network = False
    if not is_network:
        raise SpfProblem(Code.SYNTAX, text)


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
