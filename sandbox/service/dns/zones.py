"""What the zone of a sending domain holds, in order or changed: read from `zones.toml`. Pure."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, Literal, get_args

Change = Literal[
    "no_mx", "no_spf", "second_spf", "invalid_spf", "too_many_lookups", "void_lookups", "include_loop",
    "no_dmarc", "second_dmarc", "dmarc_none", "no_dkim", "weak_dkim", "revoked_dkim", "new_dkim", "gone",
]  # fmt: skip
"""What can be different in a zone."""
CHANGES: tuple[Change, ...] = get_args(Change)
APEXES = ("google.com", "outlook.com", "onmicrosoft.com", "example")
"""What the resolvers know of; anything else they refuse."""

Records = dict[tuple[str, str], list[bytes]]
"""By owner (lower case, no final dot) and type; TXT as its bytes, everything else as text in a zone file."""

_DATA: dict[str, Any] = tomllib.loads(resources.files(__package__).joinpath("zones.toml").read_text("utf-8"))


def _read(entries: Mapping[str, Any], **words: object) -> Records:
    """Entries like `{"_dmarc TXT": ["v=DMARC1; …"]}` as records."""
    records: Records = {}
    for entry, values in entries.items():
        owner, _, kind = entry.partition(" ")
        if kind:
            under = owner if owner.endswith(".") else f"{owner}.{{domain}}".removeprefix("@.")
            name = under.format(**words).rstrip(".")
            records[name, kind] = [value.format(**words).encode() for value in values]
    return records


SHARED = _read(_DATA["shared"])


@lru_cache(maxsize=2_048)
def zone(domain: str, *, number: int, changes: tuple[Change, ...] = (), serial: int = 1) -> Records:
    """The records of a domain: every other one has its mail at Google, the rest at Microsoft."""
    differing = [_DATA["changes"][change] for change in changes]
    key = "usual"
    for different in differing:
        key = different.get("key", key)
    words = {
        "domain": domain,
        "label": domain.replace(".", "-"),
        "serial": serial,
        "key": _DATA["keys"][key],
    }
    host = "google" if number % 2 else "microsoft"
    records = _read(_DATA["all"] | _DATA[host], **words)
    for different in differing:
        records |= _read(different, **words)
        if "spf" in different:
            texts = records.get((domain, "TXT"), [])
            usual = [text for text in texts if text.startswith(b"v=spf1")]
            others = [text for text in texts if text not in usual]
            policies = [policy.format(**words).encode() for policy in different["spf"]]
            added = [text for one in policies for text in (usual if one == b"+" else [one])]
            records[domain, "TXT"] = others + added
        if "without" in different:
            records = {name: found for name, found in records.items() if different["without"] not in name[0]}
    return records


def find(records: Mapping[tuple[str, str], list[bytes]], name: str, kind: str) -> list[bytes] | None:
    """The values of a name; empty if it exists without any of this type, None if it doesn't exist."""
    # A name exists also where only names below it have records (an empty non-terminal, RFC 8020).
    owners = (owner for (owner, _), values in records.items() if values)
    if any(owner == name or owner.endswith(f".{name}") for owner in owners):
        return records.get((name, kind), [])
    return None
