"""SPF records: their syntax, and the look-ups that a receiver makes for them (RFC 7208). Pure.

A receiver stops at the first mechanism that matches; the checks go on to the end, as for a mail that none matches.
"""

from __future__ import annotations

import ipaddress
import re

from shared.domain_health.answers import Ask, texts_at
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
_ASKING = frozenset({"include", "a", "mx", "ptr", "exists", "redirect"})
"""The terms for which a receiver looks something up."""
_ALL, _REDIRECT = "all", "redirect"


class SpfProblem(Exception):
    """A receiver answers `permerror` (RFC 7208, 2.6.7)."""

    def __init__(self, code: Code, about: str = "", *, count: int | None = None) -> None:
        self.code, self.about, self.count = code, about, count
        super().__init__(code)


@frozen
class Term:
    """A mechanism, or a modifier that matters."""

    name: str
    qualifier: str = ""
    """Empty for a modifier."""
    domain: str = ""
    """The name that it asks for, in small letters; empty: the domain itself."""
    text: str = ""


def is_spf(text: str) -> bool:
    """True if a TXT record is an SPF record (RFC 7208, 4.5)."""
    return _VERSION.match(text) is not None


def parse(record: str) -> tuple[Term, ...]:
    """The terms of a record up to `all`, behind which nothing counts, and `redirect`. Raises `SpfProblem`."""
    if len(record) > LONGEST:
        raise SpfProblem(Code.SYNTAX)
    terms = tuple(_term(text) for text in record.split(" ")[1:] if text)
    names = [term.name for term in terms]
    for name in (_REDIRECT, "exp"):
        if names.count(name) > 1:
            raise SpfProblem(Code.SYNTAX, name)
    if _ALL in names:  # it also makes a redirect of no effect, wherever that stands (6.1)
        return tuple(term for term in terms[: names.index(_ALL) + 1] if term.name != _REDIRECT)
    # A redirect is followed when no mechanism matches, wherever it stands.
    return tuple(sorted(terms, key=lambda term: term.name == _REDIRECT))


def _term(text: str) -> Term:
    """A mechanism (RFC 7208, section 12), or a modifier; those with another name than two are ignored (section 6)."""
    mechanism = _MECHANISM.fullmatch(text)
    modifier = None if mechanism else _MODIFIER.fullmatch(text)
    macro = _MACRO if mechanism or text.lower().startswith("redirect=") else _MACRO_OF_MODIFIERS
    is_printable = text.isascii() and text.isprintable()
    if is_printable and "%" not in macro.sub("", text):
        if mechanism:
            name, _, value = mechanism[2].lower().partition(":")
            name = name.partition("/")[0]
            if name not in {"ip4", "ip6"}:
                domain = _LENGTHS_AT_END.sub("", value)
                return Term(name=name, qualifier=mechanism[1] or "+", domain=domain, text=text)
            if _is_network(value, version=int(name[-1])):
                return Term(name=name, qualifier=mechanism[1] or "+", text=text)
        elif modifier:
            name, value = modifier[1].lower(), modifier[2].lower()
            if value or name not in {_REDIRECT, "exp"}:
                return Term(name=name, domain=value, text=text)
    raise SpfProblem(Code.SYNTAX, text)


def _is_network(value: str, *, version: int) -> bool:
    try:
        # Python also takes a mask, or a length with zeros before it.
        length = value.partition("/")[2]
        is_plain = not length or str(int(length)) == length
        return is_plain and ipaddress.ip_network(value, strict=False).version == version
    except ValueError:
        return False


class Evaluation:
    """The look-ups of a domain's record, to its end, with their counts."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._chain: list[str] = []
        """The domains whose records include one another, so that a loop is seen."""
        self.lookups = self._voids = 0
        self.final = ""
        """The qualifier of `all`; empty: the record has none."""

    async def follow(self, record: str, domain: str) -> None:
        """Follow a record. Raises `SpfProblem` and `Failed`."""
        self._chain.append(domain)
        for term in parse(record):
            if term.name == _ALL:
                self.final = term.qualifier
            if term.name not in _ASKING:
                continue
            self.lookups += 1
            if self.lookups > MOST_LOOKUPS:
                about = domain if len(self._chain) > 1 else ""
                raise SpfProblem(Code.TOO_MANY_LOOKUPS, about, count=self.lookups)
            if "%" in term.domain:  # the name depends on the mail
                continue
            if term.name in {"include", _REDIRECT}:
                await self._enter(term, term.domain.rstrip("."))
            else:
                await self._look_up(term, term.domain or domain)
        self._chain.pop()

    async def _look_up(self, term: Term, name: str) -> None:
        records = (await self._ask(name, "MX" if term.name == "mx" else "A")).records
        if term.name == "mx" and len(records) > MOST_MX:
            raise SpfProblem(Code.TOO_MANY_LOOKUPS, term.text)
        if not records and term.name in {"a", "ptr"}:
            records = (await self._ask(name, "AAAA")).records
        self._voids += not records
        if self._voids > MOST_VOIDS:
            raise SpfProblem(Code.TOO_MANY_VOIDS, term.text, count=self._voids)

    async def _enter(self, term: Term, name: str) -> None:
        """The record of another domain, which must have exactly one (sections 5.2 and 6.1)."""
        if name in self._chain:
            raise SpfProblem(Code.LOOP, name)
        records = [text for text in await texts_at(self._ask, name) if is_spf(text)]
        if len(records) != 1:  # as fatal as one look-up in vain too many, and more to the point
            raise SpfProblem(Code.BROKEN_INCLUDE, name)
        final = self.final
        try:
            await self.follow(records[0], name)
        except SpfProblem as problem:
            if problem.code is Code.SYNTAX:
                raise SpfProblem(Code.BROKEN_INCLUDE, name) from None
            raise
        if term.name != _REDIRECT:  # the `all` of an include decides nothing here
            self.final = final


def merged(records: tuple[str, ...]) -> str:
    """One record instead of several: their mechanisms, once each; empty if one is invalid or has modifiers."""
    try:
        terms = [term for record in records for term in parse(record)]
    except SpfProblem:
        return ""
    if not all(term.qualifier for term in terms):
        return ""
    finals = {term.qualifier for term in terms if term.name == _ALL}
    mechanisms = dict.fromkeys(term.text for term in terms if term.name != _ALL)
    return " ".join(["v=spf1", *mechanisms, "-all" if finals == {"-"} else "~all"])
