"""The range of days that `stats` is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo

from shared.commands.periods import Period
from shared.commands.times import days_of
from shared.domain.snapshot import DEFAULT_RANGE
from shared.domain.wall_clock import instant
from shared.text.formats import show_days

LEAST_RUNNING = 7
"""Days of a range with today in it from which its rates are compared: replies of the morning answer earlier sends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A range of days, both ends included; `name` is its name. `given` is False for the service's own 30 days."""

    start: date
    end: date
    name: str
    given: bool = True
    running: bool = False
    """Its last day is not over."""
    today: date = date.max
    """On which it was asked for."""

    @property
    def days(self) -> int:
        return (self.end - self.start).days + 1

    @property
    def compared_with(self) -> Range | None:
        """As many days before, on the same weekdays; None where a day that isn't over is more than one of seven."""
        if self.end > self.today or (self.running and self.days < LEAST_RUNNING):
            return None
        back = timedelta(weeks=-(-self.days // 7))
        return Range(start=self.start - back, end=self.end - back, name="before")

    def moments(self, zone: tzinfo) -> tuple[datetime, datetime]:
        """When its first day begins, and when its last one has ended."""
        after = self.end + timedelta(days=1)
        return instant(self.start, time.min, zone), instant(after, time.min, zone)

    @property
    def ends(self) -> tuple[date, date] | tuple[None, None]:
        """For the client: both ends or neither."""
        return (self.start, self.end) if self.given else (None, None)


def range_of(period: Period, *, today: date) -> Range:
    """The range that `stats` was asked for."""
    if period.ends:
        start, end = period.ends
        return Range(start=start, end=end, name=f"{start} to {end}", running=end >= today, today=today)
    if period.days:
        name = "today so far" if period.days == 1 else f"last {period.days} days"
        start = today - timedelta(days=period.days - 1)
        return Range(start=start, end=today, name=name, running=True, today=today)
    if period.name:
        begun, over = days_of(period.name, today=today)
        running = over >= today
        dates = f" ({show_days(begun, over)})" if period.name.startswith("last ") else ""
        name = f"{period.name}{' so far' if running else dates}"
        return Range(start=begun, end=over, name=name, running=running, today=today)
    first = today - DEFAULT_RANGE + timedelta(days=1)
    return Range(start=first, end=today, name="last 30 days", given=False, running=True, today=today)
