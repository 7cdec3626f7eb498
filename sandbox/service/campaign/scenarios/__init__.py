"""Scenario files: what an account looks like at the start, and what happens to it when."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sandbox.service.campaign.rules import NORMAL, Conditions

NAMES = ("calm-week", "deliverability-crisis", "reply-storm", "empty", "huge")

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
# `90m` is 5400.0.
Seconds = Annotated[float, BeforeValidator(lambda text: float(text[:-1]) * _UNITS[text[-1]])]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScheduledEvent(_Entry):
    """Something that happens `times` times, first so many seconds after the account was created."""

    at: Seconds
    every: Seconds = 0.0
    times: int = 1
    kind: Literal["interested", "replies", "bounces"]
    domain: int = 0
    count: int = 1


class Period(_Entry):
    """A time during which the odds are others; no domains named means all of them (the first is 1)."""

    start: Seconds = Field(alias="from")
    end: Seconds = Field(alias="to")
    conditions: Conditions
    domains: frozenset[int] = frozenset()


class Scenario(_Entry):
    """One scenario file; once read, an event that happens several times is several."""

    title: str
    account: Literal["believable", "empty", "huge"]
    events: list[ScheduledEvent] = Field(default=[], alias="event")
    periods: list[Period] = Field(default=[], alias="period")

    def model_post_init(self, context: Any) -> None:
        repeated = [
            one.model_copy(update={"at": one.at + turn * one.every})
            for one in self.events
            for turn in range(one.times)
        ]
        self.events[:] = sorted(repeated, key=lambda one: one.at)

    def conditions(self, elapsed: float, *, domain: int) -> Conditions:
        """The odds for a domain, so many seconds after the start; the first period that covers it counts."""
        for period in self.periods:
            if period.start <= elapsed < period.end and (not period.domains or domain in period.domains):
                return period.conditions
        return NORMAL


@cache
def load(name: str) -> Scenario:
    """Read a scenario by name.

    Raises:
        ValueError: there is none of that name; the known ones are listed.
    """
    if name not in NAMES:
        raise ValueError(f"There is no scenario {name!r}: choose one of {', '.join(NAMES)}.")
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
    return Scenario.model_validate(tomllib.loads(text))
