"""Service time as numbers: seconds of the Unix epoch, and UTC days counted from 1970-01-01."""

from __future__ import annotations

import datetime as dt

DAY = 86_400.0
HOUR = 3_600.0
MINUTE = 60.0


def day_of(moment: float) -> int:
    """The number of the UTC day that a moment falls on."""
    return int(moment // DAY)


def date_of(moment: float) -> dt.date:
    return dt.datetime.fromtimestamp(moment, dt.UTC).date()


def day_number(date: dt.date) -> int:
    return date.toordinal() - dt.date(1970, 1, 1).toordinal()


def stamp(moment: float) -> str:
    """A moment as RFC 3339 in UTC, to the second."""
    # `strftime` takes four times as long.
    return dt.datetime.fromtimestamp(int(moment), dt.UTC).isoformat().replace("+00:00", "Z")
