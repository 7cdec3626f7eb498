"""Faults on demand: what a Web API method does wrong, and how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, get_args

Kind = Literal["status", "error", "rate_limited", "delay", "cut", "accept_then_cut", "garbage", "answer"]
RESPONSE_URL = "response_url"
_OF_KIND = {"status": "status", "error": "error", "retry_after": "rate_limited", "answer": "answer"}
"""Fields that only one kind reads."""


@dataclass(slots=True, kw_only=True)
class Fault:
    """One kind of trouble for `times` calls (None: for ever), each `seconds` late.

    `method` is a Web API method, `response_url`, or `*` for all. With `arguments`, only calls that have these values
    meet it: the updates of one message, for example.
    """

    kind: Kind
    method: str = "*"
    status: int = 500
    error: str = "internal_error"
    seconds: float = 0.0
    retry_after: int = 1
    times: int | None = 1
    arguments: dict[str, Any] = field(default_factory=dict)
    answer: Any = None
    """Of the kind `answer`: the JSON that is sent with status 200, whatever its shape."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind is one of {', '.join(get_args(Kind))}")
        if not isinstance(self.arguments, dict):
            raise TypeError("arguments is an object")

    @property
    def cuts(self) -> bool:
        return self.kind in ("cut", "accept_then_cut")

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Fault:
        """Read `{"method", "kind", ...}`; raises `ValueError` naming what would have been right."""
        unknown = set(body) - set(cls.__slots__)
        if unknown:
            raise ValueError(f"unknown fields: {', '.join(sorted(unknown))}")
        for name, kind in _OF_KIND.items():
            if name in body and body.get("kind") != kind:
                raise ValueError(f"{name} is of the kind {kind}, not {body.get('kind')}")
        return cls(**{"kind": None, **body})


@dataclass(slots=True, kw_only=True)
class Faults:
    """The faults that are set, first come first used."""

    pending: list[Fault] = field(default_factory=list)

    def take(self, method: str, arguments: Mapping[str, Any] = MappingProxyType({})) -> Fault | None:
        """The fault that this call of `method` meets, used up once."""
        for fault in self.pending:
            same = all(arguments.get(name) == value for name, value in fault.arguments.items())
            if same and fault.method in (method, "*"):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self.pending.remove(fault)
                return fault
        return None
