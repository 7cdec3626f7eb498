"""How much assistants may do in one person's name, in an hour and in a day. Pure."""

from __future__ import annotations

from shared.records.audit import AssistantUsage
from shared.settings import McpSection


def exceeded(used: AssistantUsage, limits: McpSection, *, change: bool, under_way: int = 0) -> str:
    """Why one more call is too many; empty if it isn't. `under_way`: calls that are not counted as used yet."""
    if used.calls_hour + under_way >= limits.calls_an_hour:
        return f"The limit of {limits.calls_an_hour:,} calls an hour is reached. Try again later."
    if used.calls_day + under_way >= limits.calls_a_day:
        return f"The limit of {limits.calls_a_day:,} calls a day is reached. Try again tomorrow."
    if change and used.changes_hour + under_way >= limits.changes_an_hour:
        return (
            f"The limit of {limits.changes_an_hour:,} proposed changes an hour is reached. Try again later."
        )
    if change and used.changes_day + under_way >= limits.changes_a_day:
        return f"The limit of {limits.changes_a_day:,} proposed changes a day is reached. Try again tomorrow."
    return ""
