"""What a person may do. Pure."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """What a person may do; each includes the one before."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)
