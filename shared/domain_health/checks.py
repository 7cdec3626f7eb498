"""The checks of a domain's DNS: MX, SPF, DMARC and DKIM, each from what it asks. Pure.

Whoever makes the checks brings the resolver, or a zone.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from publicsuffixlist import PublicSuffixList

from shared.domain_health.report import CHECKS, Check, CheckReport, Code
from shared.frozen import frozen
from shared.text.sanitize import visible

MOST_RECORDS, LONGEST_RECORD = 5, 500
"""A report keeps at most so many records, and so many characters of each."""
LONGEST = 16_384
"""Characters of a record that is read; a key of 16,384 bits has 2,700."""


@frozen
class Answer:
    """A resolver's answer: the records of a name and type, none where there are none."""

    records: tuple[bytes, ...] = ()
    """TXT as text, with its strings joined (RFC 7208, 3.3); others as zone files write them."""
    is_gone: bool = False
    """There is no such name; else there may be no records of this type."""

    @property
    def texts(self) -> tuple[str, ...]:
        """The records, bytes beyond ASCII as they are, one character each."""
        return tuple(record.decode("latin-1") for record in self.records)


class Failed(Exception):
    """An answer that a check needs is unknown: what DNS has there was not learned."""

    def __init__(self, code: Code) -> None:
        self.code = code
        super().__init__(code)


Ask = Callable[[str, str], Awaitable[Answer]]
"""Looks a name and type up. Raises `Failed`."""


Found = dict[str, Any]
"""What a check finds, as fields of its report."""


async def judge(
    domain: str,
    ask: Ask,
    *,
    selectors: Sequence[str] = (),
    keys: Collection[str] = (),
    only: Collection[Check] = CHECKS,
) -> tuple[CheckReport, ...]:
    """Make the checks; `keys` are the selectors whose DKIM key was good before: one that is gone is a problem."""
    dkim = partial(_check_dkim, selectors=[*selectors, *SELECTORS], expected=sorted(keys))
    ways: Mapping[Check, Callable[[str, Ask], Awaitable[Found]]] = {
        "mx": _check_mx,
        "spf": _check_spf,
        "dmarc": _check_dmarc,
        "dkim": dkim,
    }
    checks = []
    for check, way in ways.items():
        if check not in only:
            continue
        try:
            found = await way(domain, ask)
        except Failed as failure:  # what wasn't learned is neither good nor a problem
            found = {"code": failure.code}
        checks.append(CheckReport(check=check, **found))
    return tuple(checks)


def _shown(text: str) -> str:
    """A record for people: UTF-8 where it is, without what a terminal obeys, and never long."""
    read = visible(text[: 4 * LONGEST_RECORD].encode("latin-1", "replace").decode("utf-8", "replace"))
    return read if len(read) <= LONGEST_RECORD else f"{read[: LONGEST_RECORD - 1]}…"


def _good(records: Sequence[str], **more: Any) -> Found:
    return {
        "value": "good",
        "code": "fine",
        "records": tuple(map(_shown, records[:MOST_RECORDS])),
        "is_whole": len(records) <= MOST_RECORDS and all(len(text) <= LONGEST_RECORD for text in records),
        "count": len(records),
        **more,
    }


def _problem(
    code: Code,
    place: str,
    records: Sequence[str] = (),
    *,
    publish: str = "",
    about: str = "",
    keys: Sequence[str] = (),
) -> Found:
    """A problem of the record at a place, with the record to publish there."""
    # Published in part, or as it only looks, a record would do harm.
    is_safe = len(publish) <= LONGEST_RECORD and publish.isascii() and publish.isprintable()
    return _good(
        records,
        value="problem",
        code=code,
        place=place,
        publish=publish if is_safe else "",
        about=_shown(about),
        keys=keys,
    )


async def _check_mx(domain: str, ask: Ask) -> Found:
    answer = await ask(domain, "MX")
    if answer.is_gone:
        return _problem("no-domain", domain)
    records = sorted(answer.texts)
    if not records:
        return _problem("missing", domain)
    if not any(map(_host, records)):  # RFC 7505
        return _problem("null-mx", domain, records)
    return _good(records)


def _host(record: str) -> str:
    return record.rpartition(" ")[2].rstrip(".").lower()


# -- SPF (RFC 7208): its syntax, and the look-ups that a receiver makes for it

MOST_LOOKUPS, MOST_VOIDS = 10, 2
"""RFC 7208, 4.6.4."""
_VERSION = re.compile(r"v=spf1(?: |$)", re.IGNORECASE)
_LENGTHS = r"(?:/(?:3[0-2]|[12]?\d))?(?://(?:12[0-8]|1[01]\d|[1-9]?\d))?"
_DOMAIN = r":(?:%\{[^}]*\}|[^\s/{}])+"  # a slash within a macro is a delimiter of its own
_MACRO = re.compile(r"%(?:\{[a-z]\d*r?[.\-+,/_=]*\}|%|_|-)", re.IGNORECASE)
_MECHANISM = re.compile(
    rf"([+\-?~]?)(all|(?:include|exists){_DOMAIN}|ptr(?:{_DOMAIN})?|(?:a|mx)(?:{_DOMAIN})?{_LENGTHS}|ip[46]:.+)",
    re.IGNORECASE,
)
_MODIFIER = re.compile(r"([a-z][a-z0-9_.\-]*)=(.*)", re.IGNORECASE | re.DOTALL)
_ASKING = frozenset({"include", "a", "mx", "ptr", "exists", "redirect"})
"""The terms for which a receiver looks something up."""
_ALL, _REDIRECT = "all", "redirect"
_SPF_OF: Mapping[str, str] = {
    "google.com": "include:_spf.google.com",
    "googlemail.com": "include:_spf.google.com",
    "outlook.com": "include:spf.protection.outlook.com",
    "zoho.com": "include:zohomail.com",
    "zoho.eu": "include:zohomail.eu",
    "messagingengine.com": "include:spf.messagingengine.com",
    "protonmail.ch": "include:_spf.protonmail.ch",
}
"""The includes that hosts of mailboxes ask their customers for, by the end of the names of their MX."""


class SpfProblem(Exception):
    """A receiver answers `permerror` (RFC 7208, 2.6.7)."""

    def __init__(self, code: Code, about: str = "") -> None:
        self.code, self.about = code, about
        super().__init__(code)


class Term(NamedTuple):
    """A mechanism, or a modifier, which has no qualifier; an empty domain is the record's own."""

    name: str
    qualifier: str
    domain: str
    text: str


async def _check_spf(domain: str, ask: Ask) -> Found:
    answer = await ask(domain, "TXT")
    if answer.is_gone:
        return _problem("no-domain", domain)
    records = [*filter(_VERSION.match, answer.texts)]
    if not records:
        return _problem("missing", domain, publish=await _usual_spf(domain, ask))
    if len(records) > 1:
        return _problem("several", domain, records, publish=_merged(records))
    (record,) = records
    receiver = _Receiver(ask)
    try:
        await receiver.follow(record, domain)
    except SpfProblem as problem:
        return _problem(problem.code, domain, records, about=problem.about)
    if receiver.final == "+":
        better = re.sub(r"\+?all\b", "~all", record, flags=re.IGNORECASE)
        return _problem("allows-all", domain, records, publish=better, about="+all")
    return _good(records)


async def _usual_spf(domain: str, ask: Ask) -> str:
    """The record that the host of the mailboxes asks for, where the MX tells who that is."""
    try:
        hosts = map(_host, (await ask(domain, "MX")).texts)
    except Failed:
        return ""
    includes = [text for host in hosts for end, text in _SPF_OF.items() if host.endswith(f".{end}")]
    return f"v=spf1 {includes[0]} ~all" if includes else ""


def _merged(records: Sequence[str]) -> str:
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


def parse(record: str) -> list[Term]:
    """The terms of a record up to `all`, behind which nothing counts, and `redirect`. Raises `SpfProblem`."""
    if len(record) > LONGEST:
        raise SpfProblem("syntax")
    terms = [_term(text) for text in record.split(" ")[1:] if text]
    names = [term.name for term in terms]
    if names.count(_REDIRECT) > 1:
        raise SpfProblem("syntax", _REDIRECT)
    if _ALL in names:  # it also makes a redirect of no effect, wherever that stands (6.1)
        return [term for term in terms[: names.index(_ALL) + 1] if term.name != _REDIRECT]
    # A redirect is followed when no mechanism matches, wherever it stands.
    return sorted(terms, key=lambda term: term.name == _REDIRECT)


def _term(text: str) -> Term:
    """A mechanism (RFC 7208, section 12), or a modifier; those with another name than two are ignored (section 6)."""
    mechanism, modifier = _MECHANISM.fullmatch(text), _MODIFIER.fullmatch(text)
    if text.isascii() and text.isprintable() and "%" not in _MACRO.sub("", text):
        if mechanism:
            name, _, value = mechanism[2].lower().partition(":")
            name, domain = name.partition("/")[0], re.sub(f"{_LENGTHS}$", "", value)
            if name not in {"ip4", "ip6"} or _is_network(value, version=int(name[-1])):
                return Term(name, mechanism[1] or "+", domain, text)
        elif modifier and (modifier[2] or modifier[1].lower() != _REDIRECT):
            return Term(modifier[1].lower(), "", modifier[2].lower(), text)
    raise SpfProblem("syntax", text)


def _is_network(value: str, *, version: int) -> bool:
    try:
        # Python also takes a mask, or a length with zeros before it.
        length = value.partition("/")[2]
        is_plain = not length or str(int(length)) == length
        return is_plain and ipaddress.ip_network(value, strict=False).version == version
    except ValueError:
        return False


class _Receiver:
    """Follows a record as a receiver does for a mail that none of its mechanisms matches: to its end."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._chain: list[str] = []
        """The domains whose records include one another, so that a loop is seen."""
        self._lookups = self._voids = 0
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
            self._lookups += 1
            if self._lookups > MOST_LOOKUPS:
                raise SpfProblem("too-many-lookups", domain if len(self._chain) > 1 else "")
            if "%" in term.domain:  # the name depends on the mail
                continue
            if term.name in {"include", _REDIRECT}:
                await self._enter(term, term.domain.rstrip("."))
            else:
                await self._look_up(term, term.domain or domain)
        self._chain.pop()

    async def _look_up(self, term: Term, name: str) -> None:
        records = (await self._ask(name, "MX" if term.name == "mx" else "A")).records
        if not records and term.name in {"a", "ptr"}:
            records = (await self._ask(name, "AAAA")).records
        self._voids += not records
        if self._voids > MOST_VOIDS:
            raise SpfProblem("too-many-voids", term.text)

    async def _enter(self, term: Term, name: str) -> None:
        """Follow the record of another domain, which must have exactly one (sections 5.2 and 6.1)."""
        if name in self._chain:
            raise SpfProblem("loop", name)
        records = [*filter(_VERSION.match, (await self._ask(name, "TXT")).texts)]
        if len(records) != 1:  # as fatal as one look-up too many, and more to the point
            raise SpfProblem("broken-include", name)
        final = self.final
        try:
            await self.follow(records[0], name)
        except SpfProblem as problem:
            if problem.code == "syntax":
                raise SpfProblem("broken-include", name) from None
            raise
        if term.name != _REDIRECT:  # the `all` of an include decides nothing here
            self.final = final


# -- DMARC (RFC 9989, which replaced RFC 7489 in May 2026)

STRICTER = ("none", "quarantine", "reject")
"""The policies, the laxest first."""
MOST_STEPS = 8
"""Names that are asked for a record, at most (RFC 9989, 4.10)."""
_DMARC = re.compile(r"v[ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)")
_LIKE_DMARC = re.compile(r"\s*v\s*=\s*dmarc1", re.IGNORECASE)
_REPORTS = re.compile(r"(?:^|,)\s*mailto:[^\s,!@]+@[^\s,!@]+")
_LAX = "v=DMARC1; p=none"


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # the list in the package: nothing is downloaded


def organizational(domain: str) -> str:
    """The registered domain that a domain is under; itself, where it is a public suffix."""
    return _suffixes().privatesuffix(domain) or domain


def _places(domain: str) -> Iterator[str]:
    """The domains whose record may apply: itself, the organizational one, and from there on down those between."""
    top = organizational(domain)
    labels = domain.removesuffix(top).rstrip(".").split(".")
    below = (".".join([*labels[start:], top]) for start in range(len(labels) - 1, 0, -1))
    yield from [*dict.fromkeys([domain, top, *below])][:MOST_STEPS]


async def _check_dmarc(domain: str, ask: Ask) -> Found:
    for owner in _places(domain):
        place = f"_dmarc.{owner}"
        texts = [text for text in (await ask(place, "TXT")).texts if _LIKE_DMARC.match(text)]
        if not texts:
            continue
        about = "" if owner == domain else owner
        policies = {text: policy for text in texts if (policy := _policy(text))}
        if len(policies) > 1:
            # The strictest is kept: a laxer one would be a change of policy that nobody asked for.
            best = max(policies, key=lambda text: STRICTER.index(policies[text]))
            return _problem("several", place, texts, publish=best, about=about)
        if not policies:
            return _problem("syntax", place, texts, publish=_LAX, about=about)
        return _good([*policies], about=about)
    return _problem("missing", f"_dmarc.{organizational(domain)}", publish=_LAX)


def _policy(record: str) -> str:
    """The policy of a record; empty where the record is invalid (RFC 9989, 4.7)."""
    tags = _tags(record.lower()) if _DMARC.match(record) and record.isascii() else None
    if tags is None:
        return ""
    # Without a policy it counts as none; with a wrong one only where reports are asked for.
    policy = tags.get("p", "none")
    return policy if policy in STRICTER else "none" if _REPORTS.search(tags.get("rua", "")) else ""


def _tags(record: str) -> dict[str, str] | None:
    """The tags of a DMARC or DKIM record; None where it isn't a list of them, each there once."""
    tags: dict[str, str] = {}
    for part in filter(str.strip, record[:LONGEST].split(";")):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or name in tags:
            return None
        tags[name] = value
    return tags


# -- DKIM (RFC 6376), the strength of its keys (RFC 8301), and where the big senders have them

SELECTORS = (
    "google",  # Google Workspace
    "selector1",  # Microsoft 365
    "selector2",
    "s1",  # SendGrid, and many that copied it
    "s2",
    "k1",  # Mailchimp, Mailgun
    "k2",
    "k3",
    "mandrill",
    "smtp",  # Mailgun
    "mx",
    "krs",
    "pm",  # Postmark
    "mail",  # Brevo
    "brevo1",
    "brevo2",
    "mailjet",
    "zoho",  # Zoho Mail
    "zmail",
    "protonmail",
    "protonmail2",
    "protonmail3",
    "fm1",  # Fastmail
    "fm2",
    "fm3",
    "sig1",  # iCloud
    "hs1",  # HubSpot
    "hs2",
    "default",
    "dkim",
)
FEWEST_BITS = 1024
"""Bits of an RSA key; receivers must not accept shorter ones (RFC 8301, 3.2)."""
_BETTER = ("key-invalid", "key-revoked", "key-weak", "fine")
"""The codes of a key, the worst first."""


async def _check_dkim(domain: str, ask: Ask, selectors: Sequence[str], expected: Sequence[str]) -> Found:
    keys: dict[str, tuple[Code, str]] = {}
    failure: Code = "no-key-found"
    for selector in dict.fromkeys([*expected, *selectors]):
        try:
            texts = (await ask(_key_name(selector, domain), "TXT")).texts
        except Failed as failed:
            if selector in expected:
                raise
            failure = failed.code
            continue
        # A selector should have one key (RFC 6376, 3.6.2.2): of several, the best counts.
        read = [(code, text) for text in texts if (code := read_key(text))]
        if read:
            keys[selector] = max(read, key=lambda key: _BETTER.index(key[0]))
    good = tuple(selector for selector, (code, _) in keys.items() if code == "fine")
    records = [f"{selector}: {text}" for selector, (_, text) in keys.items()]
    # A bad key beside a good one is a problem if it was good before: some sender signs with it.
    lost = [selector for selector in expected if selector not in keys]
    bad = [selector for selector in keys if selector not in good and (selector in expected or not good)]
    if lost or bad:
        wrong, code = (lost[0], "key-gone") if lost else (bad[0], keys[bad[0]][0])
        about = ", ".join(lost) or wrong
        return _problem(code, _key_name(wrong, domain), records, about=about, keys=good)
    if not good:
        raise Failed(failure)
    return _good(records, keys=good)


def _key_name(selector: str, domain: str) -> str:
    return f"{selector}._domainkey.{domain}"


def read_key(record: str) -> Code | None:
    """The code of a DKIM key; None for a text that is none. One of an algorithm that isn't known here may be good."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    tags = _tags(record)
    if tags is None or "p" not in tags or tags.get("v", "DKIM1") != "DKIM1":
        return None
    value, kind = "".join(tags["p"].split()), tags.get("k", "rsa").lower()
    if not value:
        return "key-revoked"
    try:
        data = base64.b64decode(value, validate=True)
        # A SubjectPublicKeyInfo, or a bare RSAPublicKey, which some publish.
        key = load_der_public_key(data) if kind == "rsa" else None
    except (binascii.Error, ValueError, UnsupportedAlgorithm):  # also of fewer than 512 bits
        return "key-invalid"
    is_rsa = isinstance(key, RSAPublicKey)
    if (kind == "rsa" and not is_rsa) or (kind == "ed25519" and len(data) != 32):
        return "key-invalid"
    hashes = [name.strip().lower() for name in tags.get("h", "sha256").split(":")]
    is_short = isinstance(key, RSAPublicKey) and key.key_size < FEWEST_BITS
    # SHA-1 alone is as weak (RFC 8301, 3.1).
    return "key-weak" if is_short or "sha256" not in hashes else "fine"
