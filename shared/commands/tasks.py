"""What people come for, and the commands that do it; help leads with them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TASKS: Mapping[str, Sequence[str]] = {
    "See what needs attention": ("status", "replies"),
    "Pause or resume": ("pause SEQUENCE [for 2h] [reason …]", "resume SEQUENCE", "undo"),
    "Check deliverability": ("domain DOMAIN", "inboxes [DOMAIN|unhealthy]", "guardrails"),
    "Look up a lead": ("lead EMAIL|NAME",),
    "Choose what posts here": ("subscribe EVENT… [here|#channel]", "subscriptions", "digest at 09:00"),
}
"""Each task with the syntax of its commands, as far as the task needs it."""

ON_A_REPLY = ("claim NAME", "assign NAME @ann", "done NAME", "release NAME")
"""What people in Slack do to a reply by its lead's name, from anywhere."""


def command_of(syntax: str) -> str:
    """The name of the command."""
    return syntax.partition(" ")[0]
