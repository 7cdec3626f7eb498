"""A rota: who may get the turn of a reply, by turns, by sequence or by territory, and the hours people work. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Literal

from shared.api.events import Event, lead_value
from shared.domain.wall_clock import find_zone

By = Literal["turns", "sequence", "territory"]
AWAY_STATUS = (":palm_tree:", ":face_with_thermometer:")
"""Slack's own suggestions for a status: Vacationing and Out sick.

https://slack.com/help/articles/201864558-Set-your-Slack-status-and-availability
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkHours:
    """The hours of a day in which people take turns, each in their own time zone."""

    start: time
    end: time

    def include(self, now: datetime, *, zone: str) -> bool:
        clock = now.astimezone(find_zone(zone) or UTC).time()
        if self.start < self.end:
            return self.start <= clock < self.end
        return clock >= self.start or clock < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Rota:
    """People who take turns with the interested replies of a route."""

    name: str
    """`routes`, or the id of the channel that has a rota of its own: turns are counted by it."""
    people: tuple[str, ...]
    by: By = "turns"
    lead_field: str = ""
    """The one that names a lead's territory."""
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Who gets the replies of a sequence, or of a territory; everybody else's turn it is after them."""
    pass_after: timedelta | None = timedelta(minutes=10)
    passes: int = 1
    """How often a reply passes to another person before it is the group's."""
    group: str = ""
    """Who is mentioned when it is nobody's turn; empty: whom the route mentions."""
    hours: WorkHours | None = None
    away_status: Collection[str] = AWAY_STATUS
    """The emoji of a Slack status that says that a person is away."""

    @property
    def everybody(self) -> frozenset[str]:
        return frozenset(self.people).union(*self.owners.values())

    def queues(self, event: Event) -> Iterator[tuple[str, Sequence[str]]]:
        """Who may get the turn, the first choice first; each queue has a name of its own."""
        named = event.sequence if self.by == "sequence" else lead_value(event, self.lead_field)
        wanted = " ".join((named or "").split()).casefold()
        for part, people in self.owners.items() if self.by != "turns" else ():
            if wanted and part.casefold() == wanted:
                yield part, people
        yield "", self.people


def next_of(people: Sequence[str], *, last: str, free: Collection[str]) -> str:
    """The first of those who are free after the one who had the last turn; empty if nobody is."""
    start = people.index(last) + 1 if last in people else 0
    return next((one for one in (*people[start:], *people[:start]) if one in free), "")
