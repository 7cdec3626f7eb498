"""Scenario files: what an account looks like at the start, and what befalls it when."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from sandbox.service.campaign.rules import CALM, Climate

NAMES = ("calm-week", "deliverability-crisis", "reply-storm", "empty", "huge")

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something that happens once, so many seconds after the account was founded."""

    at: float
    kind: str
    domain: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """A spell during which the odds are others; no domains named means all of them (the first is 1)."""

    start: float
    end: float
    climate: Climate
    domains: frozenset[int] = frozenset()

    def covers(self, elapsed: float, *, domain: int) -> bool:
        """Whether the spell is over a domain, so many seconds after the founding."""
        return self.start <= elapsed < self.end and (not self.domains or domain in self.domains)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario file."""

    name: str
    title: str
    account: str
    acts: tuple[Act, ...] = ()
    weather: tuple[Weather, ...] = field(default=())

    def climate(self, elapsed: float, *, domain: int) -> Climate:
        """The odds over a domain, so many seconds after the founding; the first spell that covers it counts."""
        for spell in self.weather:
            if spell.covers(elapsed, domain=domain):
                return spell.climate
        return CALM


@cache
def load(name: str) -> Scenario:
    """Read a scenario by name.

    Raises:
        ValueError: there is none of that name; the known ones are listed.
    """
    if name not in NAMES:
        raise ValueError(f"There is no scenario {name!r}: choose one of {', '.join(NAMES)}.")
    data = tomllib.loads(resources.files(__package__).joinpath(f"{name}.toml").read_text("utf-8"))
    acts = [act for entry in data.get("act", ()) for act in _acts(entry)]
    return Scenario(
        name=name,
        title=data["title"],
        account=data["account"],
        acts=tuple(sorted(acts, key=lambda act: act.at)),
        weather=tuple(_weather(entry) for entry in data.get("weather", ())),
    )


def _acts(entry: dict[str, Any]) -> list[Act]:
    """An entry with `every` and `times` stands for several acts."""
    start, gap = _seconds(entry["at"]), _seconds(entry.get("every", "0s"))
    return [
        Act(
            at=start + turn * gap,
            kind=entry["kind"],
            domain=entry.get("domain", 0),
            count=entry.get("count", 1),
        )
        for turn in range(entry.get("times", 1))
    ]


def _weather(entry: dict[str, Any]) -> Weather:
    return Weather(
        start=_seconds(entry["from"]),
        end=_seconds(entry["to"]),
        domains=frozenset(entry.get("domains", ())),
        climate=Climate(
            bounces=entry.get("bounces", 1.0),
            replies=entry.get("replies", 1.0),
            complaints=entry.get("complaints", 1.0),
        ),
    )


def _seconds(text: str) -> float:
    """`90m` -> 5400.0."""
    return float(text[:-1]) * _UNITS[text[-1]]
