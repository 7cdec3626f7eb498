"""The zones of the account's domains over time, from `zones.toml`: what the scenario changes, and what tests change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from sandbox.data import read_toml
from sandbox.service.errors import BadRequest

Change = Literal[
    "no_mx", "no_spf", "second_spf", "invalid_spf", "too_many_lookups", "void_lookups", "include_loop",
    "no_dmarc", "second_dmarc", "dmarc_none", "no_dkim", "weak_dkim", "revoked_dkim", "new_dkim", "gone",
]  # fmt: skip
"""The changes that can be made in a zone."""
CHANGES: tuple[Change, ...] = get_args(Change)
APEXES = ("google.com", "outlook.com", "onmicrosoft.com", "example")
"""The zones beside those of the account; anything else the resolvers refuse."""

Records = dict[tuple[str, str], list[bytes]]
"""Values by owner (lower case, no final dot) and type; TXT as its bytes, everything else as text in a zone file."""

_DATA: dict[str, Any] = read_toml(__file__, "zones.toml")


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
def zone(domain: str, *, number: int, changes: tuple[Change, ...] = ()) -> Records:
    """The records of a domain: every other one has its mail at Google, the rest at Microsoft."""
    differing = [_DATA["changes"][change] for change in changes]
    key = "usual"
    for different in differing:
        key = different.get("key", key)
    words = {
        "domain": domain,
        "label": domain.replace(".", "-"),
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


_TTL_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneChange:
    """Something that is different in the zone of a domain, from a moment of service time until another."""

    domain: str
    change: Change
    start: float
    end: float = float("inf")


class AccountZones:
    """The zones from which the resolvers answer.

    Args:
        now: service time, in seconds of the Unix epoch.
        speed: service seconds per real second.
    """

    def __init__(self, *, now: Callable[[], float], speed: Callable[[], float]) -> None:
        self._now = now
        self._speed = speed
        self.start((), scheduled=())

    def start(self, domains: Sequence[str], *, scheduled: Sequence[ZoneChange]) -> None:
        """Begin with the zones of these domains as they are when the account is created."""
        self._domains = {name: number for number, name in enumerate(domains, start=1)}
        # Microsoft names a customer's hosts after the domain, with hyphens.
        self._by_label = {name.replace(".", "-"): name for name in domains}
        self._scheduled = scheduled
        self.reset()

    def reset(self) -> None:
        """Undo what was changed by hand; the scenario's changes are as scheduled."""
        self._changes = list(self._scheduled)
        self._set: Records = {}

    @property
    def domains(self) -> Sequence[str]:
        return tuple(self._domains)

    @property
    def ttl(self) -> int:
        """Five minutes of service time in real seconds, which is what resolvers count."""
        return max(1, round(_TTL_SECONDS / max(1.0, self._speed())))

    def changes(self, domain: str) -> tuple[Change, ...]:
        """Return the changes of a domain's zone that hold now, in the order in which they came."""
        now = self._now()
        return tuple(dict.fromkeys(one.change for one in self._of(domain) if one.start <= now < one.end))

    def change(self, domain: str, change: Change) -> None:
        """Make something different from now on. Raises `BadRequest`."""
        self._check(domain)
        self._changes.append(ZoneChange(domain=domain, change=change, start=self._now()))

    def repair(self, domain: str | None) -> None:
        """End what is different now, in one domain or in all, and drop the records that were set there."""
        if domain is not None:
            self._check(domain)
        now, meant = self._now(), {domain} if domain else set(self._domains)
        self._changes = [
            replace(one, end=min(one.end, now)) if one.domain in meant and one.start <= now else one
            for one in self._changes
        ]
        if domain is None:
            self._set = {}
        else:
            self._set = {key: values for key, values in self._set.items() if not _below(key[0], domain)}

    def set_records(self, name: str, kind: str, values: Sequence[str] | None) -> None:
        """Replace the records of a name and type (an empty list: there are none); None: as in the zone."""
        key = (name.lower().rstrip("."), kind)
        if values is None:
            self._set.pop(key, None)
        else:
            self._set[key] = [value.encode() for value in values]

    def find(self, name: str, kind: str) -> list[bytes] | None:
        """The values of a name; empty if it exists without any of this type, None if it doesn't exist."""
        domain = self._domain_of(name)
        own = {} if domain is None else self._zone(domain)
        return find({**SHARED, **own, **self._set}, name, kind)

    def apex(self, name: str) -> str | None:
        """The zone that a name is in; None for what the resolvers don't answer for."""
        own = {owner for owner, _ in self._set}
        zones = ({*self._domains, *APEXES}, own)
        return next((one for known in zones for one in _upwards(name) if one in known), None)

    def _domain_of(self, name: str) -> str | None:
        """The domain whose name or whose host at Microsoft this is: `selector1-useacme-example._domainkey…`."""
        label = name.partition(".")[0]
        hosted = self._by_label.get(label) or self._by_label.get(label.partition("-")[2])
        return next((one for one in _upwards(name) if one in self._domains), hosted)

    def _zone(self, domain: str) -> Records:
        number, changes = self._domains[domain], self.changes(domain)
        return zone(domain, number=number, changes=changes)

    def _of(self, domain: str) -> Iterator[ZoneChange]:
        return (one for one in self._changes if one.domain == domain)

    def _check(self, domain: str) -> None:
        if domain not in self._domains:
            raise BadRequest(f"There is no domain {domain!r}.", field="domain")


def _upwards(name: str) -> Iterator[str]:
    """Yield `a.b.c`, `b.c` and `c`."""
    while name:
        yield name
        name = name.partition(".")[2]


def _below(name: str, domain: str) -> bool:
    return name == domain or name.endswith(f".{domain}")
