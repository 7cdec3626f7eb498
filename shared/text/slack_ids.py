"""Ids of Slack's users, groups and channels."""

from __future__ import annotations


def is_user(name: str) -> bool:
    """True if it is the id of a person, whom a message can mention."""
    return name.startswith(("U", "W"))
