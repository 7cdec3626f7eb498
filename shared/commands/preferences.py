"""The arguments of `preferences`: what a person chooses for themselves. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from shared.commands.arguments import ArgumentError, Arguments, Words, clip, did_you_mean, none_left, texts
from shared.domain.personal import WAYS, Notify, read_quiet, write_quiet
from shared.domain.wall_clock import parse_recurrence

OFF = "off"
_WORDS = (*WAYS, "quiet", "digest", "forget")
_DIGEST = "For example: digest weekdays at 09:00, or digest off."
_QUIET = "For example: quiet 20:00-08:00, or quiet off."


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Preferences(Arguments):
    """`preferences [mention|message|nothing] [quiet 20:00-08:00|off] [digest weekdays at 09:00|off]`, or `forget`.

    What is empty stays as it is.
    """

    verb = "preferences"
    notify: Notify | None = None
    quiet: str = ""
    """`20:00-08:00`, or `off`."""
    digest: str = ""
    """The recurrence, or `off`."""
    forget: bool = False

    @classmethod
    def read(cls, words: Words) -> Self:
        notify: Notify | None = None
        quiet = digest = ""
        if words and words[0].is_one_of("forget"):
            none_left(words[1:])
            return cls(forget=True)
        while words:
            first, words = words[0], words[1:]
            if first.is_one_of(*WAYS):
                notify = next(way for way in WAYS if first.is_one_of(way))
            elif first.is_one_of("quiet"):
                quiet, words = _quiet(words[:1]), words[1:]
            elif first.is_one_of("digest"):
                digest, words = _digest(words), ()
            else:
                hint = did_you_mean(first.text, _WORDS)
                raise ArgumentError(f"“{clip(first.text)}” isn't an option here.", hint=hint)
        return cls(notify=notify, quiet=quiet, digest=digest)

    def write(self) -> Iterable[str]:
        if self.forget:
            yield "forget"
        if self.notify:
            yield self.notify
        if self.quiet:
            yield from ("quiet", self.quiet)
        if self.digest:
            yield from ("digest", *self.digest.split())

    @property
    def shows(self) -> bool:
        """Whether it changes nothing."""
        return not (self.notify or self.quiet or self.digest or self.forget)


def _quiet(words: Words) -> str:
    if not words:
        raise ArgumentError("Which quiet hours?", hint=_QUIET)
    if words[0].is_one_of(OFF):
        return OFF
    hours = read_quiet(words[0].text, zone="")
    if hours is None:
        raise ArgumentError(f"“{clip(words[0].text)}” aren't quiet hours.", hint=_QUIET)
    return write_quiet(hours)


def _digest(words: Words) -> str:
    if not words:
        raise ArgumentError("When should it come?", hint=_DIGEST)
    if words[0].is_one_of(OFF):
        none_left(words[1:])
        return OFF
    found = parse_recurrence(texts(words))
    if isinstance(found, str):
        raise ArgumentError(f"“{clip(found)}” isn't a day, a time or a time zone.", hint=_DIGEST)
    return str(found)
