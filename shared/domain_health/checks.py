"""The checks of a domain's DNS: MX, SPF, DMARC and DKIM, each from what it asks. Pure."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from publicsuffixlist import PublicSuffixList

from shared.domain_health import spf
from shared.domain_health.answers import Ask, Failed, texts_at
from shared.domain_health.report import Action, Advice, Check, CheckReport, Code, Value
from shared.text.sanitize import visible

MOST_RECORDS, LONGEST_RECORD = 5, 500
"""A report keeps at most so many records, and so many characters of each."""
LONGEST = 16_384
"""Characters of a DMARC or DKIM record that is read; a key of 16,384 bits has 2,700."""
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


async def judge(
    domain: str,
    ask: Ask,
    *,
    selectors: Sequence[str] = (),
    keys: Collection[str] = (),
    only: Collection[Check] = tuple(Check),
) -> tuple[CheckReport, ...]:
    """Make the checks; `keys` are the selectors whose DKIM key was good before: one that is gone is a problem."""
    checks = []
    for check in (one for one in Check if one in only):
        try:
            match check:
                case Check.MX:
                    checks.append(await _check_mx(domain, ask))
                case Check.SPF:
                    checks.append(await _check_spf(domain, ask))
                case Check.DMARC:
                    checks.append(await _check_dmarc(domain, ask))
                case Check.DKIM:
                    checks.append(await _check_dkim(domain, ask, [*selectors, *SELECTORS], sorted(keys)))
        except Failed as failure:  # what wasn't learned is neither good nor a problem
            checks.append(CheckReport(check=check, code=failure.code))
    return tuple(checks)


def _shown(text: str) -> str:
    """A record for people: UTF-8 where it is, without what a terminal obeys, and never long."""
    read = visible(text[: 4 * LONGEST_RECORD].encode("latin-1", "replace").decode("utf-8", "replace"))
    return read if len(read) <= LONGEST_RECORD else f"{read[: LONGEST_RECORD - 1]}…"


def _whole(record: str) -> str:
    """A record to publish; empty where it is too long to be shown whole, or isn't what it looks like."""
    return record if len(record) <= LONGEST_RECORD and record.isascii() and record.isprintable() else ""


def _good(check: Check, records: Sequence[str], code: Code = Code.FINE) -> CheckReport:
    texts = tuple(map(_shown, records[:MOST_RECORDS]))
    return CheckReport(check=check, value=Value.GOOD, code=code, records=texts)


def _problem(check: Check, code: Code, advice: Advice, records: Sequence[str] = ()) -> CheckReport:
    """A problem; what its advice is about is what the code is about."""
    found = _good(check, records, code)
    return replace(found, value=Value.PROBLEM, about=advice.about, advice=advice)


def _no_domain(check: Check, domain: str) -> CheckReport:
    return _problem(check, Code.NO_DOMAIN, Advice(action=Action.RENEW_DOMAIN, name=domain, type=""))


async def _check_mx(domain: str, ask: Ask) -> CheckReport:
    answer = await ask(domain, "MX")
    if answer.is_gone:
        return _no_domain(Check.MX, domain)
    records = sorted(record.decode("latin-1") for record in answer.records)
    if not records:
        return _problem(Check.MX, Code.MISSING, Advice(action=Action.ADD, name=domain, type="MX"))
    if not any(map(_host, records)):  # RFC 7505
        advice = Advice(action=Action.REPLACE, name=domain, type="MX")
        return _problem(Check.MX, Code.NULL_MX, advice, records)
    return _good(Check.MX, records)


def _host(record: str) -> str:
    return record.rpartition(" ")[2].rstrip(".").lower()


async def _check_spf(domain: str, ask: Ask) -> CheckReport:
    if (await ask(domain, "TXT")).is_gone:
        return _no_domain(Check.SPF, domain)
    records = tuple(text for text in await texts_at(ask, domain) if spf.is_spf(text))
    if not records:
        value = await _usual_spf(domain, ask)
        return _problem(Check.SPF, Code.MISSING, Advice(action=Action.ADD, name=domain, value=value))
    if len(records) > 1:
        value = _whole(spf.merged(tuple(dict.fromkeys(records))))
        advice = Advice(action=Action.MERGE, name=domain, value=value)
        return replace(_problem(Check.SPF, Code.SEVERAL, advice, records), count=len(records))
    return await _judge_spf(records[0], domain, ask)


async def _judge_spf(record: str, domain: str, ask: Ask) -> CheckReport:
    evaluation = spf.Evaluation(ask)
    try:
        await evaluation.follow(record, domain)
    except spf.SpfProblem as problem:
        action = {
            Code.TOO_MANY_LOOKUPS: Action.REMOVE_LOOKUPS,
            Code.TOO_MANY_VOIDS: Action.REMOVE_LOOKUPS,
            Code.SYNTAX: Action.REPLACE,
        }.get(problem.code, Action.FIX_INCLUDE)
        advice = Advice(action=action, name=domain, about=_shown(problem.about))
        return replace(_problem(Check.SPF, problem.code, advice, (record,)), count=problem.count)
    if evaluation.final == "+":
        value = _whole(re.sub(r"\+?all\b", "~all", record, flags=re.IGNORECASE))
        advice = Advice(action=Action.REPLACE, name=domain, value=value, about="+all")
        return _problem(Check.SPF, Code.ALLOWS_ALL, advice, (record,))
    code = Code.FINE if evaluation.final in {"-", "~"} else Code.NEUTRAL
    return replace(_good(Check.SPF, (record,), code), count=evaluation.lookups)


async def _usual_spf(domain: str, ask: Ask) -> str:
    """The record that the host of the mailboxes asks for, where the MX tells who that is."""
    try:
        hosts = [_host(record.decode("latin-1")) for record in (await ask(domain, "MX")).records]
    except Failed:
        return ""
    includes = [text for end, text in _SPF_OF.items() for host in hosts if host.endswith(f".{end}")]
    return f"v=spf1 {includes[0]} ~all" if includes else ""


# -- DMARC (RFC 9989, which replaced RFC 7489 in May 2026)

STRICTER = ("none", "quarantine", "reject")
"""The policies, the laxest first."""
MOST_STEPS = 8
"""Names that are asked for a record, at most (RFC 9989, 4.10)."""
_DMARC = re.compile(r"v[ \t]*=[ \t]*DMARC1[ \t]*(?:;|$)")
_LIKE_DMARC = re.compile(r"\s*v\s*=\s*dmarc1", re.IGNORECASE)
_REPORTS = re.compile(r"\s*mailto:[^\s,!@]+@[^\s,!@]+(?:![0-9]+[kmgt]?)?\s*")


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()  # the list in the package: nothing is downloaded


def organizational(domain: str) -> str:
    """The registered domain that a domain is under; itself, where it is a public suffix."""
    return _suffixes().privatesuffix(domain) or domain


def _places(domain: str) -> Iterator[str]:
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


async def _check_dmarc(domain: str, ask: Ask) -> CheckReport:
    for place in _places(domain):
        texts = [text for text in await texts_at(ask, f"_dmarc.{place}") if _LIKE_DMARC.match(text)]
        if texts:
            return _judge_dmarc(texts, name=f"_dmarc.{place}", about="" if place == domain else place)
    name = f"_dmarc.{organizational(domain)}"
    return _problem(Check.DMARC, Code.MISSING, Advice(action=Action.ADD, name=name, value="v=DMARC1; p=none"))


def _judge_dmarc(texts: Sequence[str], *, name: str, about: str) -> CheckReport:
    records = [text for text in texts if _DMARC.match(text)]
    policies = {text: policy for text in records if (policy := _policy(text)) is not None}
    lax = Advice(action=Action.REPLACE, name=name, value="v=DMARC1; p=none", about=about)
    if len(records) > 1:
        # The strictest is kept: a laxer one would be a change of policy that nobody asked for.
        best = max(policies, key=lambda text: STRICTER.index(policies[text] or "none"), default=lax.value)
        advice = replace(lax, action=Action.KEEP, value=_whole(best))
        return replace(_problem(Check.DMARC, Code.SEVERAL, advice, records), count=len(records))
    if not policies:
        return _problem(Check.DMARC, Code.SYNTAX, lax, texts)
    code = Code.FINE if policies[records[0]] else Code.NO_POLICY
    return replace(_good(Check.DMARC, records, code), about=about)


def _policy(record: str) -> str | None:
    """The policy of a record; empty where it names none, None where it is invalid (RFC 9989, 4.7)."""
    tags = _tags(record.lower()) if record.isascii() else None
    if tags is None:
        return None
    if tags.get("p") in STRICTER:
        return tags["p"]
    # A wrong policy counts as none where reports are asked for, and makes the record invalid otherwise.
    is_valid = "p" not in tags or any(map(_REPORTS.fullmatch, tags.get("rua", "").split(",")))
    return "" if is_valid else None


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
_BETTER = (Code.SYNTAX, Code.KEY_REVOKED, Code.KEY_WEAK, Code.FINE)
"""The codes of a key, the worst first."""
Key = tuple[Code, int | None, str]
"""The code of a key, its bits where they are known, and its record."""


async def _check_dkim(
    domain: str, ask: Ask, selectors: Sequence[str], expected: Sequence[str]
) -> CheckReport:
    keys: dict[str, Key] = {}
    failed: dict[str, Code] = {}
    for selector in dict.fromkeys([*expected, *selectors]):
        try:
            texts = await texts_at(ask, _key_name(selector, domain))
        except Failed as failure:
            failed[selector] = failure.code
            continue
        # A selector should have one key (RFC 6376, 3.6.2.2): of several, the best counts.
        if read := [key for key in map(read_key, texts) if key]:
            keys[selector] = max(read, key=_rank)
    for selector in expected:
        if selector in failed:
            raise Failed(failed[selector])
    lost = [selector for selector in expected if selector not in keys]
    return _judge_keys(domain, keys, lost, expected) or CheckReport(
        check=Check.DKIM, code=next(iter(failed.values()), Code.NO_KEY_FOUND)
    )


def _key_name(selector: str, domain: str) -> str:
    return f"{selector}._domainkey.{domain}"


def _rank(key: Key) -> int:
    return _BETTER.index(key[0])


def _judge_keys(
    domain: str, keys: Mapping[str, Key], lost: Sequence[str], expected: Collection[str]
) -> CheckReport | None:
    """The verdict on what was found; None where there is neither a key nor one that should be there."""
    good = tuple(selector for selector, key in keys.items() if key[0] is Code.FINE)
    records = [f"{selector}: {text}" for selector, (_code, _bits, text) in keys.items()]
    # A bad key beside a good one is a problem if it was good before: some sender signs with it.
    bad = [selector for selector in keys if selector not in good and (selector in expected or not good)]
    if lost:
        advice = Advice(action=Action.RESTORE, name=_key_name(lost[0], domain), about=lost[0])
        found = _problem(Check.DKIM, Code.KEY_GONE, advice, records)
        return replace(found, about=", ".join(lost), keys=good)
    if bad:
        selector = max(bad, key=lambda name: _rank(keys[name]))
        advice = Advice(action=Action.NEW_KEY, name=_key_name(selector, domain), about=selector)
        found = _problem(Check.DKIM, keys[selector][0], advice, records)
        return replace(found, keys=good, count=keys[selector][1])
    if good:
        known_bits = [bits for _code, bits, _text in keys.values() if bits]
        return replace(_good(Check.DKIM, records), keys=good, count=min(known_bits, default=None))
    return None


def read_key(record: str) -> Key | None:
    """A DKIM key; None for a text that is none."""
    tags = _tags(record)
    if tags is None or "p" not in tags or tags.get("v", "DKIM1") != "DKIM1":
        return None
    value = "".join(tags["p"].split())
    hashes = [name.strip().lower() for name in tags.get("h", "").split(":")]
    code, bits = (Code.KEY_REVOKED, None) if not value else _strength(value, tags.get("k", "rsa").lower())
    if code is Code.FINE and hashes != [""] and "sha256" not in hashes:
        code = Code.KEY_WEAK  # SHA-1 alone (RFC 8301, 3.1)
    return code, bits, record


def _strength(value: str, kind: str) -> tuple[Code, int | None]:
    """The code and the bits of a key's data; one of an algorithm that isn't known here may be good."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    try:
        data = base64.b64decode(value, validate=True)
        # A SubjectPublicKeyInfo, or a bare RSAPublicKey, which some publish.
        key = load_der_public_key(data) if kind == "rsa" else None
    except (binascii.Error, ValueError, UnsupportedAlgorithm):  # also of fewer than 512 bits
        return Code.SYNTAX, None
    if kind == "ed25519" and len(data) != 32:
        return Code.SYNTAX, None
    if kind != "rsa":
        return Code.FINE, None
    if not isinstance(key, RSAPublicKey):
        return Code.SYNTAX, None
    return Code.KEY_WEAK if key.key_size < FEWEST_BITS else Code.FINE, key.key_size
