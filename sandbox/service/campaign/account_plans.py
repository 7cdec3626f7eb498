"""What the accounts look like on their first day: sequences, domains and inboxes, read from `accounts.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class SequencePlan:
    """A sequence; its fields are the columns of its table."""

    name: str
    steps: int
    opens: int
    closes: int
    weekdays: int = 0b0011111
    status: str = "active"
    appeal: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainPlan:
    """A sending domain and the state of its inboxes."""

    name: str
    health: float
    state: str = "healthy"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountPlan:
    """A workspace on its first day; `queue` leads were sent nothing yet."""

    workspace: str
    sequences: tuple[SequencePlan, ...] = ()
    domains: tuple[DomainPlan, ...] = ()
    inboxes: int = 0
    queue: int = 0
    blocklist: tuple[str, ...] = ("competitor.example", "legal@bigbank.example")


_PLANS = TypeAdapter(dict[str, AccountPlan]).validate_python(
    tomllib.loads(resources.files(__package__).joinpath("accounts.toml").read_text("utf-8"))
)
ACME, GLOBEX = _PLANS["acme"], _PLANS["globex"]
EMPTY = (AccountPlan(workspace="acme"), AccountPlan(workspace="globex"))
BELIEVABLE = (ACME, GLOBEX)
