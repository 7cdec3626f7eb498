"""`guardrails`: rules that tell, suggest or pause; lists, adds, tests, removes and switches them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Literal, Self, get_args

from shared.commands.base import (
    ArgumentError,
    Changing,
    CommandContext,
    Done,
    Words,
    none_left,
    texts,
    unknown_word,
)
from shared.commands.times import end_mistake, read_end
from shared.text.formats import clip, short_duration
from shared.text.tokenize import quote

GuardAct = Literal["list", "add", "test", "remove", "off", "on"]
ACTS: tuple[GuardAct, ...] = get_args(GuardAct)


class Guard(Changing):
    """Manage rules that notify you or pause sequences when bounces, replies or health get worse."""

    verb = "guardrails"
    aliases = ("guard",)
    usage = "[list|add RULE [as NAME]|test RULE|test NAME|remove NAME|off [NAME [for 24h]]|on [NAME]]"
    own_fields = ("at", "state")
    asks = True
    reads = True
    examples = (
        "guardrails",
        'guardrails add "pause sequence for 4h when bounces > 5% of at least 50 sends in 24h"',
        "guardrails add notify about domain when health < 60 as low-health",
        "guardrails test bounces-5",
        "guardrails off bounces-5 for 24h",
        "guardrails off",
    )

    act: GuardAct = "list"
    rule: str = ""
    """The sentence as it was understood."""
    name: str = ""
    duration: timedelta | None = None
    """The time for which a rule is off; None: until someone turns it on."""

    @classmethod
    def read(cls, words: Words) -> Self:
        from shared.guardrails.rule import VERBS  # late, as all of it: `outreach --help` reads no rule

        if not words:
            return cls()
        typed, rest = words[0], words[1:]
        if typed.is_one_of(*VERBS):
            hint = f"To add it, write: guardrails add {clip(_text(words), length=120)}"
            raise ArgumentError("Add the rule, or test it first.", hint=hint)
        act = next((one for one in ACTS if typed.is_one_of(one)), None)
        if act is None:
            raise unknown_word(typed, ACTS)
        if act == "list":
            none_left(rest)
        if not rest and act in {"list", "off", "on"}:
            return cls(act=act)
        if act == "off":
            return cls(act=act, name=_name(rest[:1]), duration=_length(rest[1:]))
        if act in {"on", "remove"} or (act == "test" and _is_name(rest)):
            return cls(act=act, name=_name(rest))
        name = ""
        if act == "add" and len(rest) > 2 and rest[-2].is_one_of("as"):
            rest, name = rest[:-2], _name(rest[-1:])
        return cls(act=act, rule=_rule(rest), name=name)

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

    async def run(self, context: CommandContext) -> Done:
        from shared.commands import rules  # late: every start of the program would wait for it

        return await rules.run(self, context)


def _is_name(words: Words) -> bool:
    from shared.guardrails.rule import NAME

    return len(words) == 1 and bool(NAME.fullmatch(words[0].text.lower()))


def _name(words: Words) -> str:
    if not words:
        raise ArgumentError("Which rule?", hint="`guardrails list` shows their names.")
    if not _is_name(words):
        hint = "A name has up to 40 letters, digits, dots and dashes. `guardrails list` shows all names."
        raise ArgumentError(f"“{clip(_text(words))}” isn't the name of a rule.", hint=hint)
    return words[0].text.lower()


def _length(words: Words) -> timedelta | None:
    """The time that a rule is off: `for 24h`."""
    if not words:
        return None
    end = read_end(texts(words))
    if end is None or end.duration is None:
        mistake = end_mistake(texts(words))
        raise ArgumentError(mistake.problem, example="guardrails off bounces-5 for 24h")
    return end.duration


def _rule(words: Words) -> str:
    """The sentence as it was understood."""
    from shared.guardrails.rule import EXAMPLE, Misunderstood, parse

    if not words:
        raise ArgumentError("Which rule?", example=f"guardrails add {EXAMPLE}")
    try:
        return str(parse(_text(words)))
    except Misunderstood as error:
        raise ArgumentError(error.problem, example=f"guardrails add {EXAMPLE}") from None


def _text(words: Words) -> str:
    """The sentence, whether it was put into quotes as a whole or only its names."""
    if len(words) == 1:
        return words[0].text
    # Reading the line took the quotes away: names get theirs back, or the sentence would end within one.
    escaped = (word.text.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return " ".join(
        f'"{text}"' if word.quoted else word.text for word, text in zip(words, escaped, strict=True)
    )
