"""The roles of people. Pure."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A person's role; each includes the one before."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"

    def includes(self, other: Role) -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)
