"""The range of days that `stats` is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from shared.commands.times import days_of
from shared.domain.snapshot import DEFAULT_RANGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A range of days, both ends included; `name` is its name. `given` is False for the service's own 30 days."""

    start: date
    end: date
    name: str
    given: bool = True
    running: bool = False
    """Its last day is not over."""

    @property
    def has_started(self) -> bool:
        return self.running and self.start == self.end

    @property
    def before(self) -> Range:
        length = self.end - self.start + timedelta(days=1)
        return Range(start=self.start - length, end=self.start - timedelta(days=1), name="before")

    def moments(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """When its first day begins, and when its last one has ended."""
        after = self.end + timedelta(days=1)
        return datetime.combine(self.start, time.min, zone), datetime.combine(after, time.min, zone)

    @property
    def ends(self) -> tuple[date, date] | tuple[None, None]:
        """For the client: both ends or neither."""
        return (self.start, self.end) if self.given else (None, None)


def range_of(values: Mapping[str, object], *, today: date) -> Range:
    """The range that `stats` was asked for."""
    start, end, days = values.get("start"), values.get("end"), values.get("days")
    if isinstance(start, date) and isinstance(end, date):
        return Range(start=start, end=end, name=f"{start} to {end}", running=end >= today)
    if isinstance(days, int):
        name = "today so far" if days == 1 else f"last {days} days"
        return Range(start=today - timedelta(days=days - 1), end=today, name=name, running=True)
    if named := values.get("named"):
        begun, over = days_of(str(named), today=today)
        running = over >= today
        return Range(start=begun, end=over, name=f"{named}{' so far' if running else ''}", running=running)
    first = today - DEFAULT_RANGE + timedelta(days=1)
    return Range(start=first, end=today, name="last 30 days", given=False, running=True)
