"""`subscribe`, `unsubscribe` and `subscriptions`: what posts to a channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from shared.api.event_kinds import EVENTS, NAME_OF, word_of
from shared.commands.base import ArgumentError, Command, Words, clip, did_you_mean
from shared.commands.channels import HERE, InChannel, read_channel, write_channel
from shared.domain.roles import Role
from shared.text.tokenize import Word, quote

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext


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
            elif (named := read_channel(word)) is not None:
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
            *write_channel(self.channel),
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


class Subscriptions(InChannel):
    """`subscriptions [here|#channel]`."""

    verb = "subscriptions"

    @classmethod
    def read(cls, words: Words) -> Self:
        channel = read_channel(words[0]) if words else HERE
        if channel is None or words[1:]:
            wrong = words[1] if words[1:] else words[0]
            raise ArgumentError(f"“{clip(wrong.text)}” isn't a channel.", hint="Use here or #channel.")
        return cls(channel=channel)

    def write(self) -> Iterable[str]:
        return write_channel(self.channel)


async def _subscribe(arguments: Subscribe, context: CommandContext) -> Result | Question:
    from shared.commands.running import subscriptions

    return await subscriptions.subscribe(arguments, context)


async def _unsubscribe(arguments: Unsubscribe, context: CommandContext) -> Result | Question:
    from shared.commands.running import subscriptions

    return await subscriptions.unsubscribe(arguments, context)


async def _subscriptions(arguments: Subscriptions, context: CommandContext) -> Result | Question:
    from shared.commands.running import subscriptions

    return await subscriptions.subscriptions(arguments, context)


FAMILY = (
    Command(
        arguments=Subscribe,
        run=_subscribe,
        rank=140,
        usage="EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel] [condensed]",
        summary="Choose which events post to a channel",
        changes=True,
        role=Role.OPERATOR,
        examples=(
            "subscribe interested here",
            'subscribe bounces, opt-outs sequence="Q3 founders" #sales condensed',
            "subscribe bounces domain=mail.acme.com here",
        ),
    ),
    Command(
        arguments=Unsubscribe,
        run=_unsubscribe,
        rank=150,
        usage="EVENT… [sequence=…] [domain=…] [inbox=…] [here|#channel]",
        summary="Stop events from posting to a channel, or all of them",
        changes=True,
        role=Role.OPERATOR,
        examples=("unsubscribe bounces here", "unsubscribe all #sales"),
    ),
    Command(
        arguments=Subscriptions,
        run=_subscriptions,
        rank=160,
        usage="[here|#channel]",
        summary="List the subscriptions of a channel",
        examples=("subscriptions", "subscriptions #sales"),
    ),
)
