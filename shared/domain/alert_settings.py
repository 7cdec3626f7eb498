"""The settings of alerts: where they go, who is mentioned, quiet hours, and what counts as too much. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from shared.domain.rota import Rota
from shared.domain.wall_clock import find_zone, instant, last_instant, moment

if TYPE_CHECKING:  # commands name quiet hours, and the dashboard's first paint waits for commands
    from shared.records.records import Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """Hours in which only urgent alerts are posted, without mentions."""

    start: time
    end: time
    zone: str = "UTC"

    def ends_after(self, now: datetime) -> datetime | None:
        """When the quiet that `now` falls into is over; None: it is not quiet.

        A start or end that the clocks show twice: quiet from its first occurrence, until its last one.
        """
        if self.start == self.end:
            return None
        zone, until = find_zone(self.zone) or UTC, now
        today, over_midnight = now.astimezone(zone).date(), self.start > self.end
        for offset in range(-2, 2):
            day = today + timedelta(days=offset)
            begins = instant(day, self.start, zone)
            ends = last_instant(day + timedelta(days=over_midnight), self.end, zone)
            if begins <= until < ends:
                until = ends
        return None if until == now else until


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A subscription that is kept in git; `mention` is a user's or a group's id, `here`, or empty."""

    subscription: Subscription
    mention: str = ""
    workspace: str = ""
    """Empty: every workspace."""
    place: str = ""
    """Its place in the file: `[[routes.rules]] no. 2`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPolicy:
    """Whom an interested reply mentions in a channel, its quiet hours, and whether news of a thread are shown in it."""

    mention: str = ""
    quiet: QuietHours | None = None
    broadcast: bool = False
    """Escalations, recoveries and the like are also shown in the channel."""
    rota: Rota | None = None
    """Whose turn its interested replies are."""

    def quiet_until(self, now: float) -> float | None:
        """The end of the quiet hours that `now` falls into; None outside of them. Unix seconds."""
        ends = self.quiet.ends_after(moment(now)) if self.quiet else None
        return None if ends is None else ends.timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """`[routes]`."""

    fallback: str | None = None
    mention: str = ""
    """Who is mentioned when a lead is interested, where no rule names anybody."""
    quiet: QuietHours | None = None
    zone: str = "UTC"
    broadcast: bool = False
    rota: Rota | None = None
    rules: Sequence[Rule] = ()
    channels: Mapping[str, ChannelPolicy] = field(default_factory=dict)
    """Those that differ."""

    @property
    def rotas(self) -> Mapping[str, Rota]:
        """All of them by name."""
        every = (self.rota, *(one.rota for one in self.channels.values()))
        return {one.name: one for one in every if one}

    def channel_policy(self, channel: str) -> ChannelPolicy:
        usual = ChannelPolicy(
            mention=self.mention, quiet=self.quiet, broadcast=self.broadcast, rota=self.rota
        )
        return self.channels.get(channel) or usual
