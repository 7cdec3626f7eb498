"""Scenario files: an account's initial state, and its events over time."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from sandbox import SCENARIOS
from sandbox.service.campaign.account_plans import BELIEVABLE, EMPTY, GLOBEX, AccountPlan, HostName
from sandbox.service.campaign.rules import NORMAL, Conditions
from sandbox.service.dns.zones import Change

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


def _seconds(value: object) -> float:
    """`90m` -> 5400.0."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,6}[smhd]", value):
        raise ValueError("must be a number and a unit, like 90m, 2h or 3d")
    return float(value[:-1]) * _UNITS[value[-1]]


Seconds = Annotated[float, BeforeValidator(_seconds)]
DomainRef = Annotated[int, Field(ge=1)] | HostName
"""A domain by name, or by its place among all domains of the scenario; the first is 1."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScheduledEvent(_Entry):
    """Something that happens `times` times, first so many seconds after the account was created."""

    at: Seconds
    every: Seconds = 0.0
    times: Annotated[int, Field(ge=1, le=10_000)] = 1
    kind: Literal["interested", "replies", "bounces", "opt_outs", "out_of_office"]
    workspace: str | None = None
    domain: DomainRef | None = None
    count: Annotated[int, Field(ge=1, le=10_000)] = 1


class Period(_Entry):
    """A time during which the odds are others; no domains named means all of them."""

    start: Seconds = Field(alias="from")
    end: Seconds = Field(alias="to")
    conditions: Conditions
    domains: frozenset[DomainRef] = frozenset()


class DnsPeriod(_Entry):
    """A time during which a domain's zone is different; without an end, until somebody repairs it."""

    start: Seconds = Field(alias="from")
    end: Seconds | None = Field(default=None, alias="to")
    domain: DomainRef
    change: Change


class Scenario(_Entry):
    """One scenario file; once read, an event that happens several times is several, and domains are numbers."""

    title: Annotated[str, Field(min_length=1, max_length=100)]
    account: Literal["believable", "empty", "huge"] | None = None
    accounts: tuple[AccountPlan, ...] = ()
    rates: Conditions = NORMAL
    texts: Literal["usual", "hostile"] = "usual"
    events: list[ScheduledEvent] = Field(default=[], alias="event")
    periods: list[Period] = Field(default=[], alias="period")
    dns: list[DnsPeriod] = []

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.account is None) == (not self.accounts):
            raise ValueError("name either an account (believable, empty or huge) or [[accounts]] of your own")
        workspaces = [plan.workspace for plan in self.plans]
        if len(set(workspaces)) < len(workspaces):
            raise ValueError("two accounts have the same workspace")
        domains = self.domains
        if len(set(domains)) < len(domains):
            raise ValueError("two domains have the same name")
        named: list[tuple[object, str, list[str]]] = [
            (one.workspace, "workspace", workspaces) for one in self.events if one.workspace
        ]
        named += [(one.domain, "domain", domains) for one in self.events if one.domain]
        named += [(domain, "domain", domains) for one in self.periods for domain in one.domains]
        named += [(one.domain, "domain", domains) for one in self.dns]
        for name, what, known in named:
            if isinstance(name, str) and name not in known:
                raise ValueError(f"there is no {what} {name!r}; there are {', '.join(known)}")
        repeated = [
            one.model_copy(update={"at": one.at + turn * one.every, "domain": self._number_of(one.domain)})
            for one in self.events
            for turn in range(one.times)
        ]
        self.events[:] = sorted(repeated, key=lambda one: one.at)
        self.periods[:] = [
            one.model_copy(update={"domains": frozenset(self._number_of(name) for name in one.domains)})
            for one in self.periods
        ]
        self.dns[:] = [one.model_copy(update={"domain": self._number_of(one.domain)}) for one in self.dns]
        return self

    @property
    def plans(self) -> Sequence[AccountPlan]:
        """The workspaces that are made from plans; the huge account is not."""
        by_name = {"believable": BELIEVABLE, "empty": EMPTY, "huge": (GLOBEX,)}
        return self.accounts if self.account is None else by_name[self.account]

    @property
    def domains(self) -> list[str]:
        return [domain.name for plan in self.plans for domain in plan.domains]

    def _number_of(self, domain: int | str | None) -> int | None:
        """The row of a domain: rows are numbered in the order of the plans."""
        return self.domains.index(domain) + 1 if isinstance(domain, str) else domain

    def conditions(self, elapsed: float, *, domain: int) -> Conditions:
        """The odds for a domain, so many seconds after the start; the first period that covers it counts."""
        for period in self.periods:
            if period.start <= elapsed < period.end and (not period.domains or domain in period.domains):
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
    try:
        text = path.read_text("utf-8")
        _parse(text)
    except OSError as error:
        raise ValueError(f"The scenario file {path} can't be read: {error.strerror}.") from None
    except ValidationError as error:
        mistakes = [f"  {_place(one['loc'])}{_words(one['msg'])}" for one in error.errors()]
        raise ValueError("\n".join([f"The scenario file {path} is invalid:", *mistakes])) from None
    except ValueError as error:
        raise ValueError(f"The scenario file {path} is not TOML: {error}.") from None
    return text


@cache
def load(source: str) -> Scenario:
    """The scenario of a built-in name or of a file's text, as `read` returned it."""
    if source in SCENARIOS:
        source = resources.files(__package__).joinpath(f"{source}.toml").read_text("utf-8")
    return _parse(source)


def label(source: str) -> str:
    """What a scenario is called: its name, or a file's title."""
    return source if source in SCENARIOS else load(source).title


def _parse(text: str) -> Scenario:
    return Scenario.model_validate(tomllib.loads(text))


def _place(location: tuple[int | str, ...]) -> str:
    """`("accounts", 0, "sequences", 1, "opens")` -> `accounts[0].sequences[1].opens: `."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return f"{path}: " if path else ""


def _words(message: str) -> str:
    return message.removeprefix("Value error, ")
