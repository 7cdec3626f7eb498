"""`guardrails`: rules that tell, suggest or pause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, Self, get_args

from shared.commands.base import ArgumentError, Arguments, Command, Words, clip, did_you_mean, none_left
from shared.domain.roles import Role
from shared.text.formats import short_duration
from shared.text.tokenize import parse_duration, quote

if TYPE_CHECKING:
    from shared.commands.base import Question, Result
    from shared.commands.run import CommandContext

Act = Literal["list", "add", "test", "remove", "snooze", "off", "on"]
ACTS: tuple[Act, ...] = get_args(Act)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Guard(Arguments):
    """`guardrails [list|add RULE [as NAME]|test RULE|test NAME|remove NAME|snooze NAME [for 24h]|off [NAME]|on [NAME]]`."""

    verb = "guardrails"
    act: Act = "list"
    rule: str = ""
    """The sentence as it was understood."""
    name: str = ""
    duration: timedelta | None = None
    """Of `snooze`; None: as long as is usual."""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            return cls()
        # late, as below: every start of the program would wait for it
        from shared.guardrails.words import ACTIONS

        typed, rest = words[0], words[1:]
        if typed.is_one_of(*ACTIONS):
            hint = f"To add it, write: guardrails add {clip(_text(words), length=120)}"
            raise ArgumentError("Add the rule, or test it first.", hint=hint)
        act = next((one for one in ACTS if typed.is_one_of(one)), None)
        if act is None:
            hint = did_you_mean(typed.text, ACTS)
            raise ArgumentError(f"“{clip(typed.text)}” isn't an option here.", hint=hint)
        if act == "list" and rest:
            raise ArgumentError(f"“{clip(rest[0].text)}” isn't expected here.")
        if act == "list" or (act in {"off", "on"} and not rest):
            return cls(act=act)
        if act == "snooze":
            return cls(act=act, name=_name(rest[:1]), duration=_length(rest[1:]))
        if act in {"remove", "off", "on"} or (act == "test" and _is_name(rest)):
            return cls(act=act, name=_name(rest))
        if act == "add" and len(rest) >= 2 and rest[-2].is_one_of("as"):
            return cls(act=act, name=_name(rest[-1:]), rule=_rule(rest[:-2]))
        return cls(act=act, rule=_rule(rest))

    def write(self) -> Iterable[str]:
        yield self.act
        if self.rule:
            yield quote(self.rule)
        if self.name:
            yield from ("as", self.name) if self.act == "add" else (self.name,)
        if self.duration:
            yield from ("for", short_duration(self.duration))

    @property
    def only_reads(self) -> bool:
        return self.act in {"list", "test"}


def _is_name(words: Words) -> bool:
    from shared.guardrails.catalog import NAME

    return len(words) == 1 and bool(NAME.fullmatch(words[0].text.lower()))


def _name(words: Words) -> str:
    if not words:
        raise ArgumentError("Which rule?", hint="`guardrails list` shows their names.")
    if not _is_name(words):
        hint = "A name has up to 40 letters, digits, dots and dashes. `guardrails list` shows all names."
        raise ArgumentError(f"“{clip(_text(words))}” isn't the name of a rule.", hint=hint)
    return words[0].text.lower()


def _length(words: Words) -> timedelta | None:
    """How long a snooze lasts: `for 24h`."""
    if not words:
        return None
    rest = words[1:] if words[0].is_one_of("for") else words
    none_left(rest[1:])
    length = parse_duration(rest[0].text) if rest else None
    if length is None:
        typed = f"“{clip(rest[0].text)}” isn't a duration." if rest else "For how long?"
        raise ArgumentError(typed, hint="For example: for 24h")
    return length


def _rule(words: Words) -> str:
    """The sentence as it was understood."""
    from shared.guardrails.sentence import EXAMPLE, Misunderstood, parse

    if not words:
        raise ArgumentError("Which rule?", hint=f"For example: guardrails add {EXAMPLE}")
    try:
        return str(parse(_text(words)))
    except Misunderstood as error:
        raise ArgumentError(error.problem, hint=f"For example: {EXAMPLE}") from None


def _text(words: Words) -> str:
    """The sentence, whether it was put into quotes as a whole or only its names."""
    if len(words) == 1:
        return words[0].text
    return " ".join(f'"{_escaped(word.text)}"' if word.quoted else word.text for word in words)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


async def _run(arguments: Guard, context: CommandContext) -> Result | Question:
    from shared.commands.running import guard

    return await guard.guard(arguments, context)


COMMAND = Command(
    arguments=Guard,
    run=_run,
    rank=180,
    aliases=("guard",),
    usage="[list|add RULE [as NAME]|test RULE|test NAME|remove NAME|snooze NAME [for 24h]|off [NAME]|on [NAME]]",
    summary="Manage rules that notify you or pause sequences when bounces, replies or health get worse",
    own_fields=frozenset({"at", "last_fired", "state"}),
    changes=True,
    asks=True,
    role=Role.OPERATOR,
    reads=True,
    examples=(
        "guardrails",
        'guardrails add "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"',
        "guardrails add notify about domain when health < 60 as low-health",
        "guardrails test bounces-5",
        "guardrails snooze bounces-5 for 24h",
        "guardrails off",
    ),
)
