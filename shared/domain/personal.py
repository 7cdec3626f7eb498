"""What a person has chosen for themselves: whether the bot calls them, when it leaves them alone, their digest. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from shared.domain.alert_settings import QuietHours
from shared.domain.wall_clock import Recurrence, parse_recurrence, parse_time

Notify = Literal["mention", "message", "nothing"]
"""Where an alert names a person: it mentions them, it also comes as a direct message instead, or neither."""
WAYS: tuple[Notify, ...] = get_args(Notify)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalSettings:
    """Of one person of one Slack workspace."""

    notify: Notify = "mention"
    quiet: str = ""
    """`20:00-08:00` in `zone`; empty: none."""
    zone: str = ""
    digest: str = ""
    """When the digest of their own replies comes: `weekdays 09:00 Europe/Berlin`; empty: never."""

    def quiet_until(self, now: datetime) -> datetime | None:
        """The end of the quiet hours that `now` falls into; None outside of them."""
        hours = read_quiet(self.quiet, zone=self.zone)
        return hours.ends_after(now) if hours else None

    @property
    def recurrence(self) -> Recurrence | None:
        found = parse_recurrence(self.digest.split()) if self.digest else None
        return found if isinstance(found, Recurrence) else None

    def mentioned(self, now: datetime) -> bool:
        """Whether a message may mention the person now."""
        return self.notify == "mention" and self.quiet_until(now) is None


def read_quiet(text: str, *, zone: str) -> QuietHours | None:
    """`20:00-08:00`, `8pm-8am`; None where it is none."""
    first, _, last = text.partition("-")
    start, end = parse_time(first.strip()), parse_time(last.strip())
    if start is None or end is None or start == end:
        return None
    return QuietHours(start=start, end=end, zone=zone or "UTC")


def write_quiet(hours: QuietHours) -> str:
    return f"{hours.start:%H:%M}-{hours.end:%H:%M}"


DEFAULTS = PersonalSettings()
