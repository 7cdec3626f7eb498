"""The arguments of each command, as data; read from words, and written back. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

from shared.api.words import LEAD_STATUSES
from shared.text.tokenize import Word, quote

Words = tuple[Word, ...]
ALL, DOMAIN = "all", "domain:"
EMAIL = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")


class ArgumentError(Exception):
    """The words after the verb make no sense; the message says which, `hint` what would."""

    def __init__(self, problem: str, *, hint: str = "") -> None:
        self.problem, self.hint = problem, hint
        super().__init__(problem)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Arguments:
    """What one command is given; a frozen dataclass where that is anything.

    `read` and `write` are inverses: `read(split(" ".join(write()))) == self`.
    """

    verb: ClassVar[str]

    # Once for all: a dataclass compiles its own for each class, at every start of the program.
    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({', '.join(fields)})"

    @classmethod
    def read(cls, words: Words) -> Self:
        """Raises `ArgumentError`."""
        none_left(words)
        return cls()

    def write(self) -> Iterable[str]:
        """The words that a person would type after the verb."""
        return ()

    @property
    def line(self) -> str:
        """The command as a person would type it."""
        return " ".join([self.verb, *self.write()])

    @property
    def only_reads(self) -> bool:
        """Of a command that changes something: whether it changes nothing with these."""
        return False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OnSequence(Arguments):
    """Of a command about a sequence: the words that name it, none where any is meant."""

    target: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class OnSequences(OnSequence):
    """The arguments of a command about one sequence, or about several."""

    ids: tuple[str, ...] = ()
    """The sequences that a person has chosen by pointing at them, in place of `target`."""

    @property
    def scope(self) -> str:
        """`all`, `domain:acme.com`, or nothing: one sequence is meant."""
        text = self.target[0].lower() if len(self.target) == 1 else ""
        return text if text == ALL or (text.startswith(DOMAIN) and len(text) > len(DOMAIN)) else ""

    def write(self) -> Iterable[str]:
        return write_target(self.target or self.ids)


def clip(text: str, *, length: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def did_you_mean(word: str, known: Collection[str]) -> str:
    """A hint naming the nearest of the known words, or all of them."""
    import difflib  # late: only a mistake pays for its import

    near = difflib.get_close_matches(word.lower()[:40], known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]}?" if near else f"Choose from: {', '.join(known)}."


def unknown_word(word: Word, known: Collection[str]) -> ArgumentError:
    return ArgumentError(f"“{clip(word.text)}” isn't an option here.", hint=did_you_mean(word.text, known))


def none_left(words: Words, *, known: Collection[str] = ()) -> None:
    if words:
        hint = did_you_mean(words[0].text, known) if known else ""
        raise ArgumentError(f"“{clip(words[0].text)}” isn't expected here.", hint=hint)


def texts(words: Iterable[Word]) -> tuple[str, ...]:
    return tuple(word.text for word in words)


def one_of(words: Words, known: Collection[str]) -> str | None:
    """One of the known words, or none."""
    if not words:
        return None
    none_left(words[1:])
    if not words[0].is_one_of(*known):
        raise unknown_word(words[0], known)
    return words[0].text.lower()


TARGET_KEYWORDS = (
    "for",
    "until",
    "till",
    "til",
    "reason",
    "reason:",
    "to",
    "by",
    "here",
    "condensed",
    "full",
    *LEAD_STATUSES,
)


def write_target(target: tuple[str, ...]) -> list[str]:
    lengths = (word.lower() for word in target if word[:1].isdigit())  # `2h` alone is the end of a pause
    words = [quote(word, keywords=(*TARGET_KEYWORDS, *lengths)) for word in target]
    return [quote(" ".join(target))] if words[1:] and words[0].startswith('"') else words


def need_target(words: Words) -> tuple[str, ...]:
    if not any(word.text.strip() for word in words):
        raise ArgumentError(
            "Which sequence?", hint="Enter its id, its name, or a word of its name that fits only one."
        )
    return texts(words)
