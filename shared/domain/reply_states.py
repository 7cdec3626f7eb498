"""The states of a reply, what people can do in each, and what it is afterwards. Pure.

Cards, menus, lists, the words of threads and reminders read this one table; the store's statements keep to it where
two people act at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    """The states of a reply: who takes care of it."""

    UNCLAIMED = "unclaimed"
    SNOOZED = "snoozed"
    CLAIMED = "claimed"
    DONE = "done"
    """It was marked done, or closed as not interested."""


LATE_SECONDS = 300
"""Seconds after which an unclaimed reply is late."""
ACK = "ack"
"""The act by which a person puts their name on a paused domain."""
AFTER: Mapping[State, Mapping[str, State]] = {
    State.UNCLAIMED: {
        "mail": State.CLAIMED,
        "claim": State.CLAIMED,
        "assign": State.CLAIMED,
        "snooze": State.SNOOZED,
        "dismiss": State.DONE,
        "done": State.DONE,
    },
    State.SNOOZED: {
        "mail": State.CLAIMED,
        "claim": State.CLAIMED,
        "wake": State.UNCLAIMED,
        "snooze": State.SNOOZED,
        "assign": State.CLAIMED,
        "dismiss": State.DONE,
        "done": State.DONE,
    },
    State.CLAIMED: {
        "mail": State.CLAIMED,
        "done": State.DONE,
        "takeover": State.CLAIMED,
        "release": State.UNCLAIMED,
        "remind": State.CLAIMED,
        "wake": State.CLAIMED,  # there is no reminder any more
        "dismiss": State.DONE,
        "assign": State.CLAIMED,
    },
    State.DONE: {"reopen": State.UNCLAIMED},  # whoever had claimed it has it again
}
"""The state after each act that a state allows; the first ones are a card's buttons, the next ones its menu's."""


class How(NamedTuple):
    """The words of an act, and what it does."""

    words: str
    does: str
    example: str = ""
    """What follows the words, as people may type it."""

    @property
    def named(self) -> str:
        """The line where it names a lead."""
        return f"{self.words} NAME {self.example}".rstrip()


HOW: Mapping[str, How] = {
    "claim": How("claim", "it is yours"),
    "takeover": How("take over", "from the person who claimed it"),
    "release": How("release", "anyone can claim it again"),
    "assign": How("assign", "to a person, who is mentioned here", "@ann"),
    "snooze": How("snooze", "or tomorrow, monday; unclaimed again then", "2h"),
    "wake": How("unsnooze", "ends the snooze or the reminder"),
    "remind": How("remind me", "mentions you here", "in 2h"),
    "done": How("done", "closes it"),
    "reopen": How("reopen", "it is open again"),
    "dismiss": How("not interested", "closes it and shows the reason", "REASON"),
}
"""How people type each act, in the order of a list of all."""

TAKES = frozenset({"takeover", "release", "assign", "done", "dismiss"})
"""Acts that take a claimed reply from the person who has it: anybody else is asked first, and that person is told."""


def states_for(act: str) -> frozenset[State]:
    """The states in which an act is possible; the incident that a person acknowledges is a reply in none."""
    return frozenset(state for state, acts in AFTER.items() if act in acts or act == ACK)
