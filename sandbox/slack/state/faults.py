"""Faults on demand: what a Web API method does wrong, and how often."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

Kind = Literal["status", "error", "rate_limited", "delay", "cut", "accept_then_cut", "garbage"]


class UnknownFaultError(ValueError):
    """A fault that the stand-in does not know."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """One kind of trouble for `times` calls (None: for ever), each `seconds` late.

    `method` is a Web API method, `response_url`, or `*` for all.
    """

    method: str
    kind: Kind
    status: int = 500
    error: str = "internal_error"
    seconds: float = 0.0
    retry_after: int = 1
    times: int | None = 1

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Fault:
        """Read `{"method", "kind", ...}`; raises `UnknownFaultError` naming what would have been right."""
        if body.get("kind") not in get_args(Kind):
            raise UnknownFaultError(f"kind is one of {', '.join(get_args(Kind))}")
        known = {name: body[name] for name in cls.__slots__ if name in body}
        if set(body) - set(known):
            raise UnknownFaultError(f"unknown fields: {', '.join(sorted(set(body) - set(known)))}")
        return cls(**{"method": "*", **known})


@dataclass(slots=True, kw_only=True)
class Faults:
    """The faults that are set, first come first used."""

    pending: list[Fault] = field(default_factory=list)

    def take(self, method: str) -> Fault | None:
        """The fault that this call of `method` meets, used up once."""
        for fault in self.pending:
            if fault.method in (method, "*"):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self.pending.remove(fault)
                return fault
        return None
