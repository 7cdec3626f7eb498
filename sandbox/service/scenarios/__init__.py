"""Scenario files: an account's initial state, and its events over time."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from sandbox import SCENARIOS
from sandbox.service.dns.zones import Change
from sandbox.service.errors import place_of
from sandbox.service.plans import BELIEVABLE, EMPTY, AccountPlan, HostName
from sandbox.service.rules import NORMAL, Conditions

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def _seconds(value: object) -> float:
    """Read a length: `90m` is 5400.0."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,6}[smhd]", value):
        raise ValueError("must be a number and a unit, like 90m, 2h or 3d")
    return float(value[:-1]) * _UNITS[value[-1]]


Seconds = Annotated[float, BeforeValidator(_seconds)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScheduledEvent(_Entry):
    """Something that happens `times` times, first so many seconds after the account was created."""

    at: Seconds
    every: Seconds = 0.0
    times: Annotated[int, Field(ge=1, le=10_000)] = 1
    kind: Literal["reply.interested", "lead.replied", "lead.bounced", "lead.unsubscribed", "reply.ooo"]
    domain: HostName | None = None
    count: Annotated[int, Field(ge=1, le=10_000)] = 1


class Period(_Entry):
    """A time during which the odds are others; no domains named means all of them."""

    start: Seconds = Field(alias="from")
    end: Seconds = Field(alias="to")
    conditions: Conditions
    domains: frozenset[HostName] = frozenset()


class DnsPeriod(_Entry):
    """A time during which a domain's zone is different; without an end, until someone repairs it."""

    start: Seconds = Field(alias="from")
    end: Seconds = Field(default=float("inf"), alias="to")
    domain: HostName
    change: Change


class Scenario(_Entry):
    """One scenario file."""

    title: Annotated[str, Field(min_length=1, max_length=100)]
    account: Literal["believable", "empty"] | None = None
    accounts: tuple[AccountPlan, ...] = ()
    rates: Conditions = NORMAL
    events: tuple[ScheduledEvent, ...] = Field(default=(), alias="event")
    periods: tuple[Period, ...] = Field(default=(), alias="period")
    dns: tuple[DnsPeriod, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.account is None) == (not self.accounts):
            raise ValueError("name either an account (believable or empty) or [[accounts]] of your own")
        workspaces = [plan.workspace for plan in self.plans]
        # Both are found by their names alone, in this file and over the control API.
        for what, names in (("workspace", workspaces), ("domain", self.domains)):
            if len(set(names)) < len(names):
                raise ValueError(f"two {what}s have the same name")
        domains: list[object] = [event.domain for event in self.events]
        domains += [change.domain for change in self.dns]
        domains += [domain for period in self.periods for domain in period.domains]
        for domain in domains:
            if isinstance(domain, str) and domain not in self.domains:
                raise ValueError(f"there is no domain {domain!r}; there are {', '.join(self.domains)}")
        return self

    @property
    def plans(self) -> tuple[AccountPlan, ...]:
        if self.account is None:
            return self.accounts
        return BELIEVABLE if self.account == "believable" else EMPTY

    @property
    def domains(self) -> list[str]:
        return [domain.name for plan in self.plans for domain in plan.domains]

    def conditions(self, elapsed: float, *, domain: str) -> Conditions:
        """The odds for a domain, so many seconds after the start; the first period that covers it counts."""
        for period in self.periods:
            is_meant = not period.domains or domain in period.domains
            if period.start <= elapsed < period.end and is_meant:
                return period.conditions
        return self.rates


def read(scenario: str | Path) -> str:
    """The name of a built-in scenario, or the text of a scenario file.

    Raises `ValueError`: there is none, or the file is invalid; every mistake is listed.
    """
    if scenario in SCENARIOS:
        return str(scenario)
    path = Path(scenario)
    if path.suffix != ".toml":
        known = ", ".join(SCENARIOS)
        raise ValueError(
            f"There is no scenario {str(scenario)!r}: choose one of {known}, or name a .toml file."
        )
    # Read and checked as the sandbox starts, so that a mistake doesn't show an hour into the scenario.
    try:
        text = path.read_text("utf-8")
        load(text)
    except OSError as error:
        raise ValueError(f"The scenario file {path} can't be read: {error.strerror}.") from None
    except ValidationError as error:
        mistakes = [f"  {_mistake(one)}" for one in error.errors()]
        raise ValueError("\n".join([f"The scenario file {path} is invalid:", *mistakes])) from None
    except ValueError as error:
        raise ValueError(f"The scenario file {path} is not TOML: {error}.") from None
    return text


@cache
def load(source: str) -> Scenario:
    """The scenario of a built-in name or of a file's text, as `read` returned it."""
    # A name is shorter than any file, so that the two can't be taken for each other.
    if source in SCENARIOS:
        source = resources.files(__package__).joinpath(f"{source}.toml").read_text("utf-8")
    return Scenario.model_validate(tomllib.loads(source))


def label(source: str) -> str:
    """Return a scenario's name, or a file's title."""
    return source if source in SCENARIOS else load(source).title


def _mistake(error: ErrorDetails) -> str:
    words = error["msg"].removeprefix("Value error, ")
    place = place_of(error["loc"])
    return f"{place}: {words}" if place else words
