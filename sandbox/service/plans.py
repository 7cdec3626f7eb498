"""The accounts on their first day: sequences, domains and inboxes, read from `accounts.toml`."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, model_validator

from sandbox.data import read_toml
from sandbox.service.rules import Window

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

    @cached_property
    def window(self) -> Window:
        return Window(opens=self.opens, closes=self.closes, weekdays=self.weekdays)

    @model_validator(mode="after")
    def _check_hours(self) -> Self:
        if self.opens >= self.closes:
            raise ValueError("opens must be before closes: sending hours are in UTC and can't cross midnight")
        return self


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
