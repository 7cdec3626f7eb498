"""The arguments of `subscribe`, `unsubscribe`, `subscriptions` and `digest`: events, filters, times and a channel. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

from shared.api.event_kinds import EVENTS, NAME_OF, word_of
from shared.commands import times
from shared.commands.arguments import ArgumentError, Arguments, Words, clip, did_you_mean, none_left
from shared.domain.wall_clock import Recurrence, parse_recurrence
from shared.text.tokenize import Word, parse_channel, quote

HERE = ""
"""The channel in which the command is given."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InChannel(Arguments):
    """Of a command about a channel, which may be `HERE`."""

    channel: str = HERE


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EventsInChannel(InChannel):
    """Of `subscribe` and `unsubscribe`: the kinds of events, and what they are filtered by."""

    events: tuple[str, ...]
    sequence: str = ""
    inbox: str = ""
    """An address or a domain."""
    condensed: bool = False

    @classmethod
    def read(cls, words: Words) -> Self:
        naming: list[Word] = []
        filters, channel, condensed = {"sequence": "", "inbox": "", "domain": ""}, HERE, False
        for word in words:
            if word.key in filters:
                filters[word.key] = word.value
            elif word.is_one_of("condensed", "full"):
                condensed = word.is_one_of("condensed")
            elif (named := _channel(word)) is not None:
                channel = named
            else:
                naming.append(word)
        events = _events(naming)
        if not events:
            raise ArgumentError("Which events?", hint=f"One or more of: {', '.join(_WORDS)}, or all.")
        inbox = _inbox(filters["inbox"], filters["domain"])
        return cls(
            events=events, channel=channel, condensed=condensed, sequence=filters["sequence"], inbox=inbox
        )

    def write(self) -> Iterable[str]:
        filters = {"sequence": self.sequence, "inbox" if "@" in self.inbox else "domain": self.inbox}
        *others, last = map(word_of, self.events)
        return (
            *(f"{word}," for word in others),
            last,
            *(f"{key}={quote(value)}" for key, value in filters.items() if value),
            *_write_channel(self.channel),
            *(("condensed",) if self.condensed else ()),
        )


class Subscribe(EventsInChannel):
    """`subscribe EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel] [condensed]`."""

    verb = "subscribe"


class Unsubscribe(EventsInChannel):
    """`unsubscribe EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel]`."""

    verb = "unsubscribe"


_WORDS = tuple(map(word_of, EVENTS))
_LONGEST = max(word.count("-") for word in NAME_OF) + 1
"""Words that name a kind together: `out of office replies`."""


def _events(words: Sequence[Word]) -> tuple[str, ...]:
    """The kinds that the words name, each by its name, the part after the dot, or plain words: `interested replies`."""
    found: dict[str, None] = {}
    start = 0
    while start < len(words):
        kinds, start = _kinds_at(words, start)
        found.update(dict.fromkeys(kinds))
    return tuple(found)


def _kinds_at(words: Sequence[Word], start: int) -> tuple[tuple[str, ...], int]:
    """The kinds that most words from `start` on name together, and where the next begins; a comma separates."""
    names = [word.text.lower().strip(",").replace(" ", "-") for word in words[start : start + _LONGEST]]
    for count in range(len(names), 0, -1):
        name = "-".join(names[:count])
        if any(word.text.endswith(",") for word in words[start : start + count - 1]):
            continue
        if kind := NAME_OF.get(name):
            return (kind,), start + count
    if names[0] in {"all", "*"}:
        return tuple(EVENTS), start + 1
    raise ArgumentError(
        f"“{clip(words[start].text)}” isn't an event.",
        hint=did_you_mean(names[0], (*_WORDS, *EVENTS, "all")),
    )


def _inbox(inbox: str, domain: str) -> str:
    """What alerts are filtered by: an address, or a domain."""
    if inbox and domain:
        raise ArgumentError("Filter by a domain or by an inbox, not by both.", hint="Remove one of them.")
    if "@" in domain:
        raise ArgumentError(f"“{clip(domain)}” isn't a domain.", hint=f"For one inbox: inbox={clip(domain)}")
    return inbox or domain


def _channel(word: Word) -> str | None:
    if word.is_one_of("here"):
        return HERE
    return None if word.quoted or word.key else parse_channel(word.text)


class Subscriptions(InChannel):
    """`subscriptions [here|#channel]`."""

    verb = "subscriptions"

    @classmethod
    def read(cls, words: Words) -> Self:
        channel = _channel(words[0]) if words else HERE
        if channel is None or words[1:]:
            wrong = words[1] if words[1:] else words[0]
            raise ArgumentError(f"“{clip(wrong.text)}” isn't a channel.", hint="Use here or #channel.")
        return cls(channel=channel)

    def write(self) -> Iterable[str]:
        return _write_channel(self.channel)


def _write_channel(channel: str) -> tuple[str, ...]:
    return (channel if channel.startswith("#") else f"<#{channel}>",) if channel else ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Digest(InChannel):
    """`digest now|today|[weekdays|mon,thu] at 09:00 [ZONE]|off [here|#channel]`."""

    verb = "digest"
    action: Literal["show", "now", "today", "off", "at"] = "show"
    at: str | None = None
    """Of `at`: the recurrence, as `09:00 Europe/Berlin`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        channel = HERE
        if words and (found := _channel(words[-1])) is not None:
            channel, words = found, words[:-1]
        if not words:
            return cls(channel=channel)
        if len(words) == 2 and {word.text.lower() for word in words} == {"today", "now"}:
            words = (next(word for word in words if word.is_one_of("today")),)
        for action in ("now", "today", "off"):
            if words[0].is_one_of(action):
                none_left(words[1:])
                return cls(action=action, channel=channel)
        return cls(action="at", at=str(_recurrence(words)), channel=channel)

    def write(self) -> Iterable[str]:
        action = () if self.action in {"show", "at"} else (self.action,)
        at = ("at", *self.at.split()) if self.at else ()
        return (*action, *at, *_write_channel(self.channel))


def _recurrence(words: Words) -> Recurrence:
    typed = [word.text for word in words]
    if typed[-1].lower() in {"am", "pm"}:
        typed[-2:] = ["".join(typed[-2:])]
    hint = "Use now, today (the day so far), at 09:00, weekdays at 09:00, mon,thu at 09:00 Europe/Berlin, or off."
    if typed == ["at"]:
        raise ArgumentError("At what time?", hint=hint)
    found = parse_recurrence(typed)
    if isinstance(found, str):
        kind = "time of day" if found[:1].isdigit() else "weekday or time zone"
        near = did_you_mean(found, ("now", "today", "off", "at", "weekdays", *times.DAYS))
        hint = f"{near} {hint}" if near.startswith("Did") else hint
        raise ArgumentError(f"“{clip(found)}” isn't a {kind}.", hint=hint)
    return found
