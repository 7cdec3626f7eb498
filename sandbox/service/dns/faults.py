"""Faults of the resolvers: they fail, are silent, lie or drip."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from sandbox.service.base.faults import LimitedFault

Kind = Literal[
    "servfail", "refused", "nxdomain", "timeout", "truncated", "cut", "forged_id", "drip", "garbage"
]


class DnsFault(LimitedFault):
    """What goes wrong with matching queries."""

    model_config = ConfigDict(extra="forbid", strict=True)

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
