"""The arguments of each command, as data; read from words, and written back. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar, Self

from shared.api.words import LEAD_STATUSES, LeadStatus
from shared.commands import times
from shared.text.formats import short_duration
from shared.text.tokenize import Word, parse_duration, quote

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


class Status(Arguments):
    """`status`."""

    verb = "status"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Inboxes(Arguments):
    """`inboxes [DOMAIN|unhealthy]`."""

    verb = "inboxes"
    filter: str | None = None
    """A domain, an address, or `unhealthy`."""

    @classmethod
    def read(cls, words: Words) -> Self:
        none_left(words[1:])
        return cls(filter=words[0].text.lower() if words else None)

    def write(self) -> Iterable[str]:
        return (quote(self.filter),) if self.filter else ()


class Domains(Arguments):
    """`domains`."""

    verb = "domains"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Domain(Arguments):
    """`domain DOMAIN`."""

    verb = "domain"
    name: str = ""

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words:
            raise ArgumentError(
                "Which domain?", hint="Name one of your sending domains: domain mail.acme.com"
            )
        none_left(words[1:])
        return cls(name=words[0].text.lower().rpartition("@")[2].rstrip("."))

    def write(self) -> Iterable[str]:
        return (quote(self.name),)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Leads(OnSequence):
    """`leads [SEQUENCE] [STATUS]`."""

    verb = "leads"
    status: LeadStatus | None = None

    @classmethod
    def read(cls, words: Words) -> Self:
        status = next((one for one in LEAD_STATUSES if words and words[-1].is_one_of(one)), None)
        return cls(target=texts(words[:-1] if status else words), status=status)

    def write(self) -> Iterable[str]:
        return (*write_target(self.target), *filter(None, (self.status,)))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Lead(Arguments):
    """`lead EMAIL|NAME|ld_… [STATUS]`."""

    verb = "lead"
    who: str
    """An address, an id, or the words of a name."""
    status: str = ""
    """Where to look first; with an address or an id only."""

    @classmethod
    def read(cls, words: Words) -> Self:
        with_status = len(words) == 2 and words[1].text.lower() in LEAD_STATUSES
        if len(words) > 1 and "@" not in words[0].text and not with_status:
            return cls(who=" ".join(texts(words)))
        who, status = _who(words)
        return cls(who=who, status=status)

    def write(self) -> Iterable[str]:
        return (quote(self.who), *((self.status,) if self.status else ()))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Remove(Arguments):
    """`remove EMAIL|ld_… [STATUS]`."""

    verb = "remove"
    who: str
    status: str = ""
    """Where to look first."""

    @classmethod
    def read(cls, words: Words) -> Self:
        who, status = _who(words)
        return cls(who=who, status=status)

    def write(self) -> Iterable[str]:
        return (quote(self.who), *((self.status,) if self.status else ()))


def _who(words: Words) -> tuple[str, str]:
    """Who is meant, and with which status; the service has no search, but lists leads by status."""
    if not words or not words[0].text.strip():
        raise ArgumentError("Which lead?", hint="Enter an email address or an id (ld_…).")
    status = words[1].text.lower() if len(words) > 1 else ""
    if status not in LEAD_STATUSES:
        none_left(words[1:])
        return words[0].text, ""
    none_left(words[2:])
    return words[0].text, status


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Add(OnSequence):
    """`add EMAIL to SEQUENCE [field=value …]`."""

    verb = "add"
    email: str
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, words: Words) -> Self:
        if not words or not EMAIL.fullmatch(words[0].text):
            problem = (
                f"“{clip(words[0].text)}” isn't an email address."
                if words
                else "Which address, and which sequence?"
            )
            raise ArgumentError(problem, hint="For example: add ann@acme.com to “Q3 founders” first_name=Ann")
        rest = words[2:] if words[1:] and words[1].is_one_of("to") else words[1:]
        fields = {word.key: word.value for word in rest if word.key}
        if "email" in fields:
            raise ArgumentError("The address is already given.", hint="Remove email=…")
        target = need_target(tuple(word for word in rest if not word.key))
        return cls(email=words[0].text, target=target, fields=fields)

    def write(self) -> Iterable[str]:
        fields = (f"{key}={_quoted(value)}" for key, value in self.fields.items())
        return (quote(self.email), "to", *map(_quoted, self.target), *fields)


def _quoted(text: str) -> str:
    """Always quoted, so that a word with `=` isn't read as a field."""
    plain = quote(text)
    return plain if plain.startswith('"') else f'"{plain}"'


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Away(Arguments):
    """`away [for 2h|until monday]`."""

    verb = "away"
    duration: timedelta | None = None
    until: times.Moment | None = None
    """Where no duration is given."""

    @classmethod
    def read(cls, words: Words) -> Self:
        given = list(texts(words))
        if not given:
            return cls()
        rest = " ".join(given[1:])
        if words[0].is_one_of("for") and (length := parse_duration(rest.replace(" ", ""))):
            return cls(duration=length)
        if words[0].is_one_of("until", "till"):
            found = times.read_moment(given[1:])
            if found and found[1] == len(given) - 1:
                return cls(until=found[0])
            near = times.nearest_moment(rest.partition(" ")[0])
            hint = f"Did you mean until {near}?" if near else _AWAY
            raise ArgumentError(f"“{clip(rest)}” isn't a day or time.", hint=hint)
        raise ArgumentError(f"“{clip(' '.join(given))}” isn't an end.", hint=_AWAY)

    def write(self) -> Iterable[str]:
        if self.duration:
            return ("for", short_duration(self.duration))
        return ("until", *str(self.until).split()) if self.until else ()


_AWAY = "Use for 2h, until monday, until tomorrow 14:00, or nothing: until you type `back`."


class Back(Arguments):
    """`back`."""

    verb = "back"


class Audit(Arguments):
    """`audit`."""

    verb = "audit"


class Whoami(Arguments):
    """`whoami`."""

    verb = "whoami"


class Doctor(Arguments):
    """`doctor`."""

    verb = "doctor"
