"""The hours in which only urgent alerts are posted. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from shared.domain.wall_clock import find_zone, instant, last_instant
from shared.frozen import frozen


@frozen
class QuietHours:
    """Hours in which only urgent alerts are posted, without mentions."""

    start: time
    end: time
    zone: str = "UTC"

    def ends_after(self, now: datetime) -> datetime | None:
        """The end of the quiet that `now` falls into; None: it is not quiet.

        A start or end that the clocks show twice: quiet from its first occurrence, until its last one.
        """
        if self.start == self.end:
            return None
        zone, until = find_zone(self.zone) or UTC, now
        today, over_midnight = now.astimezone(zone).date(), self.start > self.end
        # From before yesterday on: where clocks change, a night may begin a day earlier than it seems.
        for offset in range(-2, 2):
            day = today + timedelta(days=offset)
            begins = instant(day, self.start, zone)
            ends = last_instant(day + timedelta(days=over_midnight), self.end, zone)
            if begins <= until < ends:
                until = ends
        return None if until == now else until
