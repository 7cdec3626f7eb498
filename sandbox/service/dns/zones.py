"""What the zone of a sending domain holds, in order or changed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, get_args

Change = Literal[
    "no_mx", "no_spf", "second_spf", "invalid_spf", "too_many_lookups", "void_lookups", "include_loop",
    "no_dmarc", "second_dmarc", "dmarc_none", "no_dkim", "weak_dkim", "revoked_dkim", "new_dkim", "gone",
]  # fmt: skip
"""What can be different in a zone."""
CHANGES: tuple[Change, ...] = get_args(Change)

Records = dict[tuple[str, str], list[bytes]]
"""By owner (lower case, no final dot) and type; TXT as its bytes, everything else as text in a zone file."""

# Public keys of RSA pairs whose private halves were never kept: 2,048 bits, and 512 bits.
_KEY = (
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAou+LeqPuv8d57oC4j8aWrf+ZxlDuY+/Lq1liY89+5+BZLGwt4jXUl0vRiriegk7eZbxGRzPbLX"
    "/d/iLqVSCF6SZ0+hzheeRNDfKvpxNK6NbX6wwnktrh/Rcajs429WtKuKLZEEIm2PYTaRrju0OMjyeq1wN1dle4ncaYb3u77WqQkTZN+5h+9PjjvuTpMkOF"
    "RndUtjGMm0ISsLraXldvmFtxjnZ9ePdFDXGuX43vnHxxLpHIcWyAky2ajaWO+6+KjPAu+nFo5H6UNoXWWmNVyHocHqFptmoFndjKY32pugaGyBCg+zQcCW"
    "BGVRQ6KYOUG4p3bCS0VrO+aFU8W7ffuQIDAQAB"
)
_NEW_KEY = (
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA6GEElILeXbZNMJ3tC1qfm5Bz5lKD2feVGyfSV4WTyfTTejHEy+ds2YY/8miMxYZ7uVl17eIXGO"
    "IgTA92vzGqb+wTAdR8VLCbMcLohMMuVDLmDHkOC3WUJY454yrAm2ualn57cvGix2OAav9fWwKe1kZRoRzBX7aGqdOhqwiaKflUbgMP0YpdXKH0Tu0C959f"
    "LAyydWZ2LW2njO2y4qjXCxIrBzLo+d+GWN5P9U1/XTJTY0ar6gr7vzd1nswLozIei7nQAoz/2Tck4N7qa8wxbOys+Q9rV83YglXqCmhYVrPt6YJcW2yGz5"
    "VB0kEIIweHFwbTpqx7vItxMQE6k71/rQIDAQAB"
)
_WEAK_KEY = "MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK8zbkkZt0TJmUGQqWBHRGA3W0LgFfzLis4hhbd4Up0kJ6w54eNDTv5Oqz2zlFOKP463PtD4oufGcZB639a2XXkCAwEAAQ=="
SHARED: Mapping[tuple[str, str], list[bytes]] = MappingProxyType(
    {
        ("_spf.google.com", "TXT"): [
            b"v=spf1 include:_netblocks.google.com include:_netblocks2.google.com ~all"
        ],
        ("_netblocks.google.com", "TXT"): [b"v=spf1 ip4:192.0.2.0/25 ~all"],
        ("_netblocks2.google.com", "TXT"): [b"v=spf1 ip6:2001:db8:100::/40 ~all"],
        ("smtp.google.com", "A"): [b"192.0.2.25"],
        ("smtp.google.com", "AAAA"): [b"2001:db8:100::25"],
        ("spf.protection.outlook.com", "TXT"): [b"v=spf1 ip4:198.51.100.0/24 ip6:2001:db8:200::/48 -all"],
        ("spf.bulk-mailer.example", "TXT"): [b"v=spf1 ip4:203.0.113.0/25 ~all"],
        ("ns1.dns-host.example", "A"): [b"203.0.113.201"],
        ("ns2.dns-host.example", "A"): [b"203.0.113.202"],
    }
)
"""The zones of others that those of the domains refer to; their addresses are reserved for documentation."""
APEXES = ("google.com", "outlook.com", "onmicrosoft.com", "example")
"""What the resolvers know of; anything else they refuse."""


@lru_cache(maxsize=2_048)
def zone(domain: str, *, number: int, changes: tuple[Change, ...] = (), serial: int = 1) -> Records:
    """The records of a domain: every other one has its mail at Google, the rest at Microsoft."""
    records: Records = {
        (domain, "SOA"): [
            f"ns1.dns-host.example. hostmaster.dns-host.example. {serial} 7200 900 1209600 300".encode()
        ],
        (domain, "NS"): [b"ns1.dns-host.example.", b"ns2.dns-host.example."],
        (domain, "A"): [b"203.0.113.80"],
        (f"_dmarc.{domain}", "TXT"): [f"v=DMARC1; p=quarantine; rua=mailto:dmarc@{domain}".encode()],
    }
    records |= _google(domain) if number % 2 else _microsoft(domain)
    for change in changes:
        _APPLY[change](records, domain)
    return records


def _google(domain: str) -> Records:
    return {
        (domain, "MX"): [b"1 smtp.google.com."],
        (domain, "TXT"): [
            b"google-site-verification=8b1f3c0a6e5d4f72",
            b"v=spf1 include:_spf.google.com ~all",
        ],
        (f"google._domainkey.{domain}", "TXT"): [_dkim(_KEY)],
    }


def _microsoft(domain: str) -> Records:
    label = domain.replace(".", "-")
    host = f"{label}.mail.protection.outlook.com"
    records: Records = {
        (domain, "MX"): [f"0 {host}.".encode()],
        (host, "A"): [b"198.51.100.25"],
        (domain, "TXT"): [b"MS=ms71804425", b"v=spf1 include:spf.protection.outlook.com -all"],
    }
    # Microsoft's keys are reached by a CNAME each; the second one is there for the next rotation.
    for selector in ("selector1", "selector2"):
        target = f"{selector}-{label}._domainkey.acme.onmicrosoft.com"
        records[f"{selector}._domainkey.{domain}", "CNAME"] = [f"{target}.".encode()]
        records[target, "TXT"] = [_dkim(_KEY)]
    return records


def _dkim(key: str) -> bytes:
    return f"v=DKIM1; k=rsa; p={key}".encode()


def _is_spf(text: bytes) -> bool:
    return text.startswith(b"v=spf1")


def _spf(records: Records, domain: str, *policies: bytes) -> None:
    """Replace the SPF records, leaving the other texts of the domain."""
    others = [text for text in records.get((domain, "TXT"), []) if not _is_spf(text)]
    records[domain, "TXT"] = [*others, *policies]


def _add_text(records: Records, domain: str, *texts: bytes) -> None:
    records[domain, "TXT"] = [*records.get((domain, "TXT"), []), *texts]


def _with_key(key: str | None) -> Callable[[Records, str], None]:
    """Replace every DKIM key (empty: revoked); None removes them, and what leads to them."""

    def apply(records: Records, domain: str) -> None:
        for owner, kind in [found for found in records if "._domainkey." in found[0]]:
            if key is None:
                del records[owner, kind]
            elif kind == "TXT":
                records[owner, kind] = [_dkim(key)]

    return apply


def _no_mx(records: Records, domain: str) -> None:
    records.pop((domain, "MX"), None)


def _too_many_lookups(records: Records, domain: str) -> None:
    names = [f"_s{number}.{domain}" for number in range(1, 12)]
    _spf(records, domain, b" ".join([b"v=spf1", *(f"include:{name}".encode() for name in names), b"~all"]))
    records |= {(name, "TXT"): [b"v=spf1 ip4:203.0.113.7 ~all"] for name in names}


def _include_loop(records: Records, domain: str) -> None:
    _spf(records, domain, f"v=spf1 include:_loop.{domain} ~all".encode())
    records[f"_loop.{domain}", "TXT"] = [f"v=spf1 include:{domain} ~all".encode()]


def _gone(records: Records, domain: str) -> None:
    """The registration has run out: nothing exists any more."""
    records.clear()


_APPLY: Mapping[Change, Callable[[Records, str], None]] = MappingProxyType(
    {
        "no_mx": _no_mx,
        "no_spf": _spf,
        "second_spf": lambda records, domain: _add_text(
            records, domain, b"v=spf1 include:spf.bulk-mailer.example -all"
        ),
        "invalid_spf": lambda records, domain: _spf(records, domain, b"v=spf1 inclde:_spf.google.com ~all"),
        "too_many_lookups": _too_many_lookups,
        "void_lookups": lambda records, domain: _spf(
            records, domain, f"v=spf1 a:old1.{domain} a:old2.{domain} a:old3.{domain} ~all".encode()
        ),
        "include_loop": _include_loop,
        "no_dmarc": lambda records, domain: records.update({(f"_dmarc.{domain}", "TXT"): []}),
        "second_dmarc": lambda records, domain: _add_text(
            records, f"_dmarc.{domain}", b"v=DMARC1; p=reject; rua=mailto:reports@bulk-mailer.example"
        ),
        "dmarc_none": lambda records, domain: records.update(
            {(f"_dmarc.{domain}", "TXT"): [f"v=DMARC1; p=none; rua=mailto:dmarc@{domain}".encode()]}
        ),
        "no_dkim": _with_key(None),
        "weak_dkim": _with_key(_WEAK_KEY),
        "revoked_dkim": _with_key(""),
        "new_dkim": _with_key(_NEW_KEY),
        "gone": _gone,
    }
)


def find(records: Mapping[tuple[str, str], list[bytes]], name: str, kind: str) -> list[bytes] | None:
    """The values of a name; empty if it exists without any of this type, None if it doesn't exist."""
    # A name exists also where only names below it have records (an empty non-terminal, RFC 8020).
    owners = (owner for (owner, _), values in records.items() if values)
    if any(owner == name or owner.endswith(f".{name}") for owner in owners):
        return records.get((name, kind), [])
    return None
