"""What `[routes]` and `[alerts]` may hold, for pydantic, and the plain values that the rest of the program meets."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from shared.api.models import EVENT_KINDS
from shared.domain.alert_settings import AlertPolicy, ChannelPolicy, QuietHours, Routing, Rule, SpikeRule
from shared.domain.records import Subscription
from shared.domain.recurrence import find_zone, parse_time
from shared.text.tokenize import parse_duration

_STRICT = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
_MENTION = re.compile(r"[USW][A-Z0-9]{2,20}|here|none|")


def wrong(problem: str, cure: str) -> PydanticCustomError:
    return PydanticCustomError("setting", "{problem}", {"problem": problem, "cure": cure})


def channel(text: str) -> str:
    """A channel's id."""
    if text.startswith("#") or re.search(r"\s", text):
        cure = "Use the id, like C0123456789; the channel's details show it at the end."
        raise wrong("is no channel id.", cure)
    return text


def _mention(text: str) -> str:
    if not _MENTION.fullmatch(text):
        raise wrong("names nobody.", "Use the id of a user (U…) or a group (S…), here, or none.")
    return "" if text == "none" else text


def _duration(value: Any) -> Any:
    if value in {"off", "never"}:
        return None
    found = parse_duration(value) if isinstance(value, str) else value
    if not isinstance(found, timedelta):
        raise wrong("is no duration.", "Write 5m, 1h30m, or off.")
    return found


def _zone(text: str) -> str:
    if find_zone(text) is None:
        raise wrong("is no time zone.", "Use an IANA name, like Europe/Berlin.")
    return text


def _quiet(text: str) -> str:
    if text == "off":
        return text
    start, _, end = (part.strip() for part in text.partition("-"))
    if parse_time(start) is None or parse_time(end) is None or parse_time(start) == parse_time(end):
        raise wrong("are no quiet hours.", "Write them like 20:00-08:00, or off.")
    return text


def _event(text: str) -> str:
    if text not in {*EVENT_KINDS, "*"}:
        raise wrong("is no event.", f"Use one of {', '.join(EVENT_KINDS)}, or *.")
    return text


Channel = Annotated[str, AfterValidator(channel)]
Mention = Annotated[str, AfterValidator(_mention)]
Duration = Annotated[timedelta | None, BeforeValidator(_duration)]
Zone = Annotated[str, AfterValidator(_zone)]
Hours = Annotated[str, AfterValidator(_quiet)]
EventName = Annotated[str, AfterValidator(_event)]


class GivenRule(BaseModel):
    """One `[[routes.rules]]`."""

    model_config = _STRICT

    channel: Channel
    events: Annotated[tuple[EventName, ...], Field(min_length=1)]
    sequence: str = ""
    inbox: str = ""
    condensed: bool = False
    mention: Mention = ""
    workspace: str = ""

    def settled(self, number: int) -> list[Rule]:
        """One rule per event; `number` is its place in the file, from 1."""
        return [
            Rule(
                subscription=Subscription(
                    channel=self.channel,
                    event=event,
                    sequence=self.sequence,
                    inbox=self.inbox,
                    condensed=self.condensed,
                ),
                mention=self.mention,
                workspace=self.workspace,
                place=f"[[routes.rules]] no. {number}",
            )
            for event in self.events
        ]


class GivenChannelPolicy(BaseModel):
    """One `[routes.channels.ID]`; what is not given is as for all."""

    model_config = _STRICT

    mention: Mention | None = None
    quiet: Hours | None = None
    timezone: Zone | None = None

    def settled(self, routes: GivenRoutes) -> ChannelPolicy:
        """As the program uses it."""
        zone = self.timezone or routes.timezone
        return ChannelPolicy(
            mention=routes.mention if self.mention is None else self.mention,
            quiet=_hours(routes.quiet if self.quiet is None else self.quiet, zone=zone),
        )


class GivenRoutes(BaseModel):
    """`[routes]`."""

    model_config = _STRICT

    fallback: Channel | None = None
    mention: Mention = ""
    quiet: Hours | None = None
    timezone: Zone = "UTC"
    rules: tuple[GivenRule, ...] = ()
    channels: dict[Channel, GivenChannelPolicy] = {}

    def settled(self) -> Routing:
        """As the program uses it."""
        return Routing(
            fallback=self.fallback,
            mention=self.mention,
            quiet=_hours(self.quiet, zone=self.timezone),
            zone=self.timezone,
            rules=tuple(rule for n, given in enumerate(self.rules, 1) for rule in given.settled(n)),
            channels={name: given.settled(self) for name, given in self.channels.items()},
        )


def _hours(said: str | None, *, zone: str) -> QuietHours | None:
    start, _, end = (said or "").partition("-")
    begins, ends = parse_time(start.strip()), parse_time(end.strip())
    return None if begins is None or ends is None else QuietHours(start=begins, end=ends, zone=zone)


class GivenAlerts(BaseModel):
    """`[alerts]`."""

    model_config = _STRICT

    remind_after: Duration = timedelta(minutes=5)
    escalate_after: Duration = timedelta(minutes=15)
    escalate_to: Channel | None = None
    escalate_mention: Mention = ""
    spike_count: Annotated[int, Field(ge=2, le=100_000)] = 10
    spike_window: Duration = timedelta(hours=1)
    spike_percent: Annotated[float, Field(ge=0, le=100)] = 5

    def settled(self) -> AlertPolicy:
        """As the program uses it."""
        return AlertPolicy(
            remind_after=self.remind_after,
            escalate_after=self.escalate_after,
            escalate_to=self.escalate_to,
            escalate_mention=self.escalate_mention,
            spike=SpikeRule(
                count=self.spike_count,
                window=self.spike_window or timedelta(hours=1),
                share=self.spike_percent / 100,
            ),
        )
