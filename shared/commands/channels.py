"""The arguments of `subscribe`, `unsubscribe`, `subscriptions` and `digest`: events, filters, times and a channel. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from shared.commands.base import Arguments
from shared.text.tokenize import Word, parse_channel

HERE = ""
"""The channel in which the command is given."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InChannel(Arguments):
    """Of a command about a channel, which may be `HERE`."""

    channel: str = HERE


def read_channel(word: Word) -> str | None:
    if word.is_one_of("here"):
        return HERE
    return None if word.quoted or word.key else parse_channel(word.text)


def write_channel(channel: str) -> tuple[str, ...]:
    return (channel if channel.startswith("#") else f"<#{channel}>",) if channel else ()
