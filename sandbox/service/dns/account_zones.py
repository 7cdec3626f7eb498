"""The zones of the account's domains over time: what the scenario changes, and what tests change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sandbox.service.base.clock import DAY, date_of
from sandbox.service.base.errors import BadRequest
from sandbox.service.dns.zones import APEXES, SHARED, Change, Records, find, zone

_SERIAL_AGE = 90 * DAY
"""So long before the account was created, its zones were edited last."""
_TTL = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneChange:
    """Something that is different in the zone of a domain, from a moment of service time until another."""

    domain: str
    change: Change
    start: float
    end: float = float("inf")


class AccountZones:
    """What the resolvers answer from.

    Args:
        now: service time, in seconds of the Unix epoch.
        speed: service seconds per real second.
    """

    def __init__(self, *, now: Callable[[], float], speed: Callable[[], float]) -> None:
        self._now = now
        self._speed = speed
        self._created_at = 0.0
        self._domains: dict[str, int] = {}
        self._by_label: dict[str, str] = {}
        self._scheduled: Sequence[ZoneChange] = ()
        self._changes: list[ZoneChange] = []
        self._set: Records = {}

    def start(self, domains: Sequence[str], *, scheduled: Sequence[ZoneChange], created_at: float) -> None:
        """Begin with the zones of these domains as they are when the account is created."""
        self._domains = {name: number for number, name in enumerate(domains, start=1)}
        # Microsoft names a customer's hosts after the domain, with hyphens.
        self._by_label = {name.replace(".", "-"): name for name in domains}
        self._scheduled, self._created_at = scheduled, created_at
        self.reset()

    def reset(self) -> None:
        """Undo what was changed by hand; the scenario's changes are as scheduled."""
        self._changes = list(self._scheduled)
        self._set = {}

    @property
    def domains(self) -> Sequence[str]:
        return tuple(self._domains)

    @property
    def ttl(self) -> int:
        """Five minutes of service time in real seconds, which is what resolvers count."""
        return max(1, round(_TTL / max(1.0, self._speed())))

    def changes(self, domain: str) -> tuple[Change, ...]:
        """What is different in the zone of a domain now, in the order in which it came."""
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
        now = self._now()
        self._changes = [
            ZoneChange(domain=one.domain, change=one.change, start=one.start, end=min(one.end, now))
            if domain in {None, one.domain} and one.start <= now
            else one
            for one in self._changes
        ]
        self._set = {
            key: values
            for key, values in self._set.items()
            if domain is not None and not _below(key[0], domain)
        }

    def set_records(self, name: str, kind: str, values: Iterable[str] | None) -> None:
        """Replace the records of a name and type (an empty list: there are none); None: as in the zone."""
        key = (name.lower().rstrip("."), kind)
        if values is None:
            self._set.pop(key, None)
        else:
            self._set[key] = [value.encode() for value in values]

    def records(self, domain: str) -> Records:
        """The zone of a domain as it is now, with its hosts and keys at its provider. Raises `BadRequest`."""
        self._check(domain)
        own = self._zone(domain)
        added = {key: values for key, values in self._set.items() if key in own or _below(key[0], domain)}
        return {key: values for key, values in {**own, **added}.items() if values}

    def find(self, name: str, kind: str) -> list[bytes] | None:
        """The values of a name; empty if it exists without any of this type, None if it doesn't exist."""
        return find(self._records_near(name), name, kind)

    def knows(self, name: str) -> bool:
        """Whether the resolvers answer for a name at all."""
        return any(_below(name, apex) for apex in (*APEXES, *(key[0] for key in self._set))) or any(
            domain in self._domains for domain in _upwards(name)
        )

    def apex(self, name: str) -> str:
        """The zone that a name is in."""
        return next((one for one in _upwards(name) if one in self._domains or one in APEXES), name)

    def _records_near(self, name: str) -> Records:
        """The records among which a name is looked up: those of its domain, of others, and what was set."""
        domain = next((one for one in _upwards(name) if one in self._domains), None) or self._customer(name)
        own = {} if domain is None else self._zone(domain)
        return {**SHARED, **own, **self._set}

    def _customer(self, name: str) -> str | None:
        """The domain whose host this is at Microsoft: `useacme-example.mail…`, `selector1-useacme-example._domainkey…`."""
        label = name.partition(".")[0]
        return self._by_label.get(label) or self._by_label.get(label.partition("-")[2])

    def _zone(self, domain: str) -> Records:
        return zone(
            domain, number=self._domains[domain], changes=self.changes(domain), serial=self._serial(domain)
        )

    def _serial(self, domain: str) -> int:
        """The day of the last edit and the number of edits, as people write it by hand (RFC 1912)."""
        now = self._now()
        edits = [edge for one in self._of(domain) for edge in (one.start, one.end) if edge <= now]
        last = max(edits, default=self._created_at - _SERIAL_AGE)
        return int(f"{date_of(last):%Y%m%d}{len(edits) % 100:02}")

    def _of(self, domain: str) -> Iterator[ZoneChange]:
        return (one for one in self._changes if one.domain == domain)

    def _check(self, domain: str) -> None:
        if domain not in self._domains:
            raise BadRequest(f"There is no domain {domain!r}.", field="domain")


def _upwards(name: str) -> Iterator[str]:
    """`a.b.c`, `b.c`, `c`."""
    while name:
        yield name
        name = name.partition(".")[2]


def _below(name: str, domain: str) -> bool:
    return name == domain or name.endswith(f".{domain}")
