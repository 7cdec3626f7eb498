"""The account in memory: workspaces with their sequences, domains, inboxes, leads, events and counts.

What there are few of (workspaces, sequences, domains, inboxes) changes in place and is copied with the account. What
there are many of (leads, events, entries of the agenda) is never changed but replaced, so that copies share it.
"""

from __future__ import annotations

import datetime as dt
import operator
from array import array
from collections import deque
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, fields
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar, cast

from pydantic_core import to_json

from sandbox.service import ids, people
from sandbox.service.errors import BadRequest, encode_json
from sandbox.service.moments import stamp
from sandbox.service.people import Person
from sandbox.service.plans import SequencePlan
from sandbox.service.rules import Counts

COLUMN = {name: place for place, name in enumerate(Counts._fields)}
_WIDTH = len(COLUMN)
_SLICE = 128


T = TypeVar("T")


class _Changing:
    """A part of an account that changes in place, and is copied with it."""

    __slots__ = ()


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(kind))


def copied(value: T) -> T:
    """A copy that can change by itself; the items of lists are shared, since they are replaced and never changed."""
    made: Any = value
    if isinstance(value, _Changing):
        # Field by field, so that one that is added later is copied without a word here.
        kind: Any = type(value)
        made = object.__new__(kind)
        for name in _names(kind):
            setattr(made, name, copied(getattr(value, name)))
    elif isinstance(value, dict):
        made = {name: copied(one) for name, one in value.items()}
    elif isinstance(value, list | set | deque | array):
        made = copy(value)
    return cast("T", made)


@dataclass(slots=True)
class Tally(_Changing):
    """The counts of one group by day, as running totals: any range of days is one subtraction."""

    first: int
    """The UTC day on which counting begins."""
    last: int = field(init=False)
    totals: array[int] = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.first - 1
        self.totals = array("q", bytes(8 * _WIDTH))

    def add(self, day: int, column: int) -> None:
        """Count one more. Days come in order: everything happens at the account's present."""
        # Days without a count repeat the totals, which keeps every day's place in the array.
        while self.last < day:
            self.totals.extend(self.totals[-_WIDTH:])
            self.last += 1
        self.totals[column - _WIDTH] += 1

    def between(self, first: int, last: int) -> Counts:
        """The counts over these days, both included."""
        if last < first:
            return Counts()
        return Counts(*map(operator.sub, self._until(last), self._until(first - 1)))

    def _until(self, day: int) -> array[int]:
        place = max(0, min(day, self.last) - self.first + 1) * _WIDTH
        return self.totals[place : place + _WIDTH]


@dataclass(slots=True, kw_only=True)
class Sequence(_Changing):
    """A sequence, and who waits for its first step."""

    number: int
    workspace: int
    plan: SequencePlan
    status: str = "active"
    inboxes: list[int] = field(default_factory=list)
    queue: deque[int] = field(default_factory=deque)
    """The leads that were sent nothing yet, first come first sent; some may have been removed since."""


@dataclass(slots=True, kw_only=True)
class Domain(_Changing):
    """A sending domain; `state` is `healthy`, `paused` or `warming`."""

    number: int
    workspace: int
    name: str
    state: str
    paused_at: float = 0.0
    inboxes: list[int] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Inbox(_Changing):
    """An inbox, when it sends next, and who gets follow-ups from it."""

    number: int
    workspace: int
    sequence: int
    domain: int
    email: str
    health: float
    daily_limit: int
    full_limit: int
    status: str
    tally: Tally
    slots: list[float] = field(default_factory=list)
    """The moments of the day at which it will still send, the next one last."""
    waiting: list[tuple[float, int]] = field(default_factory=list)
    """A heap of the leads that get a follow-up from here, each with the moment from which on it is due."""


@dataclass(slots=True, kw_only=True)
class Workspace(_Changing):
    """A workspace; what it consists of names it by its number."""

    number: int
    name: str
    first_day: int
    blocklist: set[str]
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    """The counts of each step and variant, by grouping and group."""
    addresses: dict[tuple[str, int], int] | None = None
    """The lead of each address in each sequence; None until someone asks."""

    def tally(self, grouping: str, group: str) -> Tally:
        if (grouping, group) not in self.tallies:
            self.tallies[grouping, group] = Tally(self.first_day)
        return self.tallies[grouping, group]


@dataclass(slots=True, eq=False)
class Lead:
    """One address in one sequence. Copies of an account share it: it is replaced and never changed."""

    number: int
    workspace: int
    sequence: int
    created_at: float
    person: Person | tuple[object, ...]
    """Perhaps the key of an invented one, who is only made up when someone looks."""
    status: str = "active"
    step: int = 0
    inbox: int = 0
    due_at: float | None = None
    changed_at: float = 0.0
    shown: bytes | None = None

    def moved(self, at: float, status: str, step: int, inbox: int, due_at: float | None) -> Lead:
        """The lead after something has happened to it."""
        return Lead(
            self.number,
            self.workspace,
            self.sequence,
            self.created_at,
            self.person,
            status,
            step,
            inbox,
            due_at,
            at,
        )

    @property
    def who(self) -> Person:
        return self.person if isinstance(self.person, Person) else people.person(*self.person)

    def show(self) -> bytes:
        """The lead as JSON, as GET /leads lists it; kept as `shown`, because pages are read again and again."""
        who = self.who
        body = {
            "id": ids.encode("ld", self.number),
            "email": who.email,
            "status": self.status,
            "first_name": who.first_name,
            "last_name": who.last_name,
            "company": who.company,
            "sequence_id": ids.encode("sq", self.sequence),
            "step": self.step,
            "custom_fields": who.custom,
            "created_at": stamp(self.created_at),
        }
        try:
            # Three times as fast, and for most of a page's leads it is done while someone waits.
            self.shown = to_json(body)
        except ValueError:
            # Custom fields may be nested deeper than it goes, and hold half a surrogate pair.
            self.shown = encode_json(body).encode()
        return self.shown


class Event(NamedTuple):
    """Something that subscribers are told; its body is composed when someone asks for it."""

    kind: str
    at: float
    workspace: int
    cause: str
    lead: Lead | None = None
    sequence: str = ""
    step: int = 0
    inbox: str = ""
    returns: dt.date = dt.date.min
    payload: Mapping[str, Any] = MappingProxyType({})
    """Members of the body that override what would be composed; all of them where the event is not about a lead."""


@dataclass(slots=True, kw_only=True)
class Account(_Changing):
    """Everything that a reset puts back."""

    seed: int
    now: float
    """Up to here everything has happened."""
    founded_at: float = 0.0
    workspaces: dict[int, Workspace] = field(default_factory=dict)
    sequences: dict[int, Sequence] = field(default_factory=dict)
    domains: dict[int, Domain] = field(default_factory=dict)
    inboxes: dict[int, Inbox] = field(default_factory=dict)
    leads: list[Lead | None] = field(default_factory=lambda: [None])
    """The leads by their numbers, which are never used again; a removed one is None."""
    events: int = 0
    """The number of events so far."""
    agenda: list[tuple[float, int, int, Any]] = field(default_factory=list)
    """A heap of what happens next: moment, rank at that moment, number, and what the campaign needs to know."""
    entries: int = 0
    """The number of responses that were put on the agenda. It orders those of the same moment."""

    def add_workspace(self, name: str, *, blocklist: set[str], first_day: int) -> Workspace:
        number = len(self.workspaces) + 1
        made = Workspace(number=number, name=name, first_day=first_day, blocklist=blocklist)
        self.workspaces[number] = made
        return made

    def workspace_named(self, name: str) -> Workspace:
        """Return the workspace of this name. Raises `BadRequest`: there is none."""
        for workspace in self.workspaces.values():
            if workspace.name == name:
                return workspace
        raise BadRequest(f"There is no workspace {name!r}.", field="workspace")

    def domain_named(self, name: str) -> Domain:
        """Return the domain of this name. Raises `BadRequest`: there is none."""
        for domain in self.domains.values():
            if domain.name == name:
                return domain
        raise BadRequest(f"There is no domain {name!r}.", field="domain")

    def lead(self, number: int | None) -> Lead | None:
        """The lead of this number; None if there is none, or none any more."""
        return self.leads[number] if number is not None and number < len(self.leads) else None

    def add_lead(self, sequence: Sequence, person: Person | tuple[object, ...] | None, *, at: float) -> Lead:
        """Add a lead to the sequence's queue; None makes someone up."""
        # Never that of a removed lead: its history still names it.
        number = len(self.leads)
        lead = Lead(number, sequence.workspace, sequence.number, at, person or (self.seed, number), due_at=at)
        self.leads.append(lead)
        sequence.queue.append(number)
        addresses = self.workspaces[sequence.workspace].addresses
        if addresses is not None:
            addresses[lead.who.email, sequence.number] = number
        return lead

    def counts(self, inboxes: Iterable[int], first: int, last: int) -> Counts:
        """Return the counts of these inboxes over these days. Those of a sequence or a domain are those of its inboxes."""
        each = [self.inboxes[number].tally.between(first, last) for number in inboxes]
        return Counts(*map(sum, zip(*each, strict=True)))

    def remove_lead(self, lead: Lead) -> None:
        """Remove the lead's address from every sequence of its workspace; events and counts stay."""
        addresses = self.addresses(lead.workspace)
        for sequence in self.sequences:
            number = addresses.pop((lead.who.email, sequence), None)
            if number is not None:
                self.leads[number] = None

    def addresses(self, workspace: int) -> dict[tuple[str, int], int]:
        """The lead of each address in each sequence, by address and the sequence's number."""
        home = self.workspaces[workspace]
        if home.addresses is None:
            home.addresses = {
                (lead.who.email, lead.sequence): lead.number
                for lead in self.leads
                if lead is not None and lead.workspace == workspace
            }
        return home.addresses

    def newest(
        self, workspace: int, count: int, *, before: int | None, sequence: int | None, status: str | None
    ) -> list[Lead]:
        """Return at most `count` leads of a workspace, newest first, with a lower number than `before`."""
        high = len(self.leads) if before is None else min(before, len(self.leads))
        found = list[Lead]()
        # By slices, because looking at each lead is most of what a page costs.
        while high > 0 and len(found) < count:
            low = max(0, high - _SLICE)
            found += [
                lead
                for lead in reversed(self.leads[low:high])
                if lead is not None
                and lead.workspace == workspace
                and (status is None or lead.status == status)
                and (sequence is None or lead.sequence == sequence)
            ]
            high = low
        return found[:count]
