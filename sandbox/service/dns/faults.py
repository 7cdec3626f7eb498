"""Faults of the resolvers: they fail, are silent, lie or drip."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal[
    "servfail", "refused", "nxdomain", "timeout", "truncated", "cut", "forged_id", "drip", "garbage"
]


class DnsFault(BaseModel):
    """What goes wrong with matching queries."""

    model_config = ConfigDict(extra="forbid")

    kind: Kind | None = Field(
        default=None,
        description="`servfail`, `refused` and `nxdomain` answer so; `timeout` doesn't answer; `truncated` answers over "
        "UDP that only TCP has room; `cut` sends half of the message; `forged_id` sends an answer with a wrong id and "
        "wrong records before the true one; `drip` sends a byte a second, over TCP; `garbage` sends other bytes.",
    )
    delay: float = Field(default=0.0, ge=0.0, le=600.0, description="Seconds to wait first.")
    name: str = Field(
        default="*", max_length=253, description="A name, which stands for all below it, too; or `*`."
    )
    type: str | None = Field(
        default=None, max_length=16, description="Only queries of this type, like `TXT`."
    )
    resolver: Literal[1, 2] | None = Field(default=None, description="Only this one of the two resolvers.")
    times: int | None = Field(
        default=None,
        ge=1,
        le=1_000_000,
        description="How often; null until the faults are cleared. Resolvers are asked again after a failure.",
    )

    def matches(self, name: str, kind: str, *, resolver: int) -> bool:
        named = self.name.lower().rstrip(".")
        return (
            (named in {"*", name} or name.endswith(f".{named}"))
            and self.type in {None, kind}
            and self.resolver in {None, resolver}
        )


class DnsFaults:
    """The faults that are set, each used up by the queries that it befalls."""

    def __init__(self) -> None:
        self._set: list[DnsFault] = []

    def add(self, fault: DnsFault) -> None:
        self._set.append(fault.model_copy())

    def clear(self) -> None:
        self._set.clear()

    def listed(self) -> list[dict[str, Any]]:
        return [fault.model_dump() for fault in self._set]

    def take(self, name: str, kind: str, *, resolver: int) -> DnsFault | None:
        """The fault that befalls a query now."""
        for fault in self._set:
            if fault.matches(name, kind, resolver=resolver):
                if fault.times is not None:
                    fault.times -= 1
                    if not fault.times:
                        self._set.remove(fault)
                return fault
        return None
