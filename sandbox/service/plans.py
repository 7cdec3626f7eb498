"""The accounts on their first day: sequences, domains and inboxes, read from `accounts.toml`."""

from __future__ import annotations

import random
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

from sandbox.data import read_toml
from sandbox.service.moments import DAY, HOUR

INBOXES_A_DOMAIN = 20
MOST_INBOXES = 20_000

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
HostName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]+(\.[a-z0-9-]+)+$", max_length=200)]


class _Plan(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SequencePlan(_Plan):
    """A sequence and its sending hours, in UTC; `weekdays` are bits from Monday on, `appeal` a factor on replies."""

    name: Name
    steps: Annotated[int, Field(ge=1, le=20)]
    opens: int = Field(default=8, ge=0, le=23)
    closes: int = Field(default=17, ge=1, le=24)
    weekdays: int = Field(default=0b0011111, ge=0, le=127)
    status: Literal["active", "paused"] = "active"
    appeal: float = Field(default=1.0, ge=0, le=20)

    @model_validator(mode="after")
    def _check_hours(self) -> Self:
        if self.opens >= self.closes:
            raise ValueError("opens must be before closes: sending hours are in UTC and can't cross midnight")
        return self

    def slots_of_day(self, day: int, *, limit: int, key: tuple[object, ...]) -> list[float]:
        """Return the moments of a UTC day at which an inbox may send, in order.

        There are at most `limit`, a few less on most days, one in each equal part of the sending hours.
        """
        # Bit 0 is Monday, and 1970-01-01 was a Thursday.
        is_open = self.weekdays >> (day + 3) % 7 & 1
        if limit <= 0 or not is_open:
            return []
        # One generator a day: hashing a key for each slot would take most of a day's simulation.
        dice = random.Random(f"slots {key} {day}")
        count = max(1, round(limit * dice.uniform(0.75, 1.0)))
        start = day * DAY + self.opens * HOUR
        part = (self.closes - self.opens) * HOUR / count
        return [start + (number + dice.uniform(0.1, 0.9)) * part for number in range(count)]


class DomainPlan(_Plan):
    """A sending domain and the state of its inboxes."""

    name: HostName
    health: float = Field(default=90.0, ge=10, le=100)
    state: Literal["healthy", "warming"] = "healthy"


class AccountPlan(_Plan):
    """A workspace on its first day; `queue` leads were sent nothing yet."""

    workspace: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
    sequences: tuple[SequencePlan, ...] = ()
    domains: tuple[DomainPlan, ...] = ()
    inboxes: int = Field(default=0, ge=0, le=MOST_INBOXES)
    queue: int = Field(default=0, ge=0, le=20_000)
    blocklist: tuple[Name, ...] = ("competitor.example", "legal@bigbank.example")

    @model_validator(mode="after")
    def _check_inboxes(self) -> Self:
        if self.inboxes and not (self.sequences and self.domains):
            raise ValueError("inboxes need at least one sequence and one domain")
        if self.inboxes < len(self.domains):
            raise ValueError("each domain needs an inbox")
        return self

    def sized(self, inboxes: int) -> AccountPlan:
        """The same account with so many inboxes, and with more domains where 20 inboxes share one.

        Raises `ValueError`: it can't have so many.
        """
        if not self.sequences:
            raise ValueError("This scenario's first workspace has no sequence, so it can't have inboxes.")
        if not len(self.domains) <= inboxes <= MOST_INBOXES:
            known = f"from {len(self.domains)} to {MOST_INBOXES}"
            raise ValueError(f"The number of inboxes must be {known}, not {inboxes}.")
        places = range(len(self.domains) + 1, inboxes // INBOXES_A_DOMAIN + 1)
        more = [DomainPlan(name=f"{self.workspace}-{place}.example") for place in places]
        return self.model_copy(update={"inboxes": inboxes, "domains": (*self.domains, *more)})


_PLANS = TypeAdapter(dict[str, AccountPlan]).validate_python(read_toml(__file__, "accounts.toml"))
ACME, GLOBEX = _PLANS["acme"], _PLANS["globex"]
EMPTY = (AccountPlan(workspace="acme"), AccountPlan(workspace="globex"))
BELIEVABLE = (ACME, GLOBEX)
