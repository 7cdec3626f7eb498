"""The roles of people. Pure."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """A person's role; each includes the one before."""

    READER = "reader"
    OPERATOR = "operator"
    ADMIN = "admin"


INCLUDED = {
    Role.READER: frozenset({Role.READER}),
    Role.OPERATOR: frozenset({Role.READER, Role.OPERATOR}),
    Role.ADMIN: frozenset(Role),
}
"""The roles that each role includes."""
