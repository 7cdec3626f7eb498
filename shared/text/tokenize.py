"""Splits a typed line into words: all kinds of quotes, durations, Slack's escapes. Never raises.

Independent of the commands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

CURLY = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "‘": "'", "’": "'", "‚": "'"})
ESCAPABLE = "[\\\\\"'“”„«»‘’‚]"
ESCAPED = "\\\\([\\\\\"'“”„«»‘’‚])"
PLAIN = r"[A-Za-z0-9_./:+#<>@=%-]*[A-Za-z0-9_]"
WORKSPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""The name of a workspace: in the settings, and behind `@` in a command."""
OPENING = r"(?:(?P<key>[^\W\d][\w.-]*)=)?(?P<mark>[\"']?)"
"""Compiled where it is used, as the others: `outreach --help` needs none of them."""
CLOSING = r"(?>\\[\\\"']|(?!{0}(?:\s|\Z)).)*+{0}"
"""A text up to its end: the quote before a space or the end of the line, so that an apostrophe within is none."""
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
LONGEST_DURATION = timedelta(days=366)
_HALVES = {"half an hour": timedelta(minutes=30), "half a day": timedelta(hours=12)}
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTS = {"a": 1, "an": 1, **{word: number for number, word in enumerate(_NUMBERS, 1)}}
_UNIT = r"(s|m|h|d|w|seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?)(?![a-z])"
_PART = rf"(?:\b({'|'.join(_COUNTS)})\s+|([0-9]{{1,6}})\s*){_UNIT}"


@dataclass(frozen=True, slots=True)
class Word:
    """One word; a quoted one is never a keyword, a flag or a workspace. `key=value` and `key="value"` have a key."""

    text: str
    quoted: bool = False
    key: str = ""

    @property
    def value(self) -> str:
        return self.text.partition("=")[2] if self.key else self.text

    def is_one_of(self, *keywords: str) -> bool:
        return not self.quoted and self.text.lower() in keywords


def names_workspace(text: str) -> bool:
    """True if this is `@` and the name of a workspace."""
    return text.startswith("@") and WORKSPACE.fullmatch(text, 1) is not None


def split(line: str) -> tuple[Word, ...]:
    """The words of a line; a quote that nothing closes is an ordinary character."""
    # As long as the line: quotes are found in this one, and words are cut from the line at the same places.
    straight = line.translate(CURLY)
    words: list[Word] = []
    closable = {'"': True, "'": True}
    at = 0
    while found := re.compile(r"\S+").search(line, at):
        opening = re.compile(OPENING).match(straight, *found.span())
        key, mark = (opening["key"] or "", opening["mark"]) if opening else ("", "")
        word, at = Word(found[0], key=key), found.end()
        if opening and closable.get(mark):
            closing = re.compile(CLOSING.format(mark), re.DOTALL).match(straight, opening.end())
            if closing:  # a key before the quote stays: `name="two words"`
                at = closing.end()
                inner = re.sub(ESCAPED, r"\1", line[opening.end() : at - 1])
                word = Word(f"{key}={inner}" if key else inner, quoted=True, key=key)
            else:  # nor will any later one be closed: the line is read in linear time
                closable[mark] = False
        words.append(word)
    return tuple(words)


def quote(text: str, *, keywords: Iterable[str] = ()) -> str:
    """The text as one word of a line, quoted where it must be: `split(quote(x))` gives x back."""
    if re.fullmatch(PLAIN, text) and text[0] not in "@-" and text.lower() not in {*keywords}:
        return text
    escaped = re.sub(ESCAPABLE, r"\\\g<0>", text)
    return f'"{escaped}"'


def join(*words: str) -> str:
    """A command line of these words, for a button: `join("pause", "sq_1")`."""
    return " ".join(quote(word) if not word.startswith("--") else word for word in words)


def parse_duration(text: str) -> timedelta | None:
    """`2h`, `1h30m`, `2 hours`, `an hour`, `1 day and 2 hours`; None where it is none, or not between a second and a year."""
    text = text.strip().lower()
    if text in _HALVES:
        return _HALVES[text]
    parts = re.findall(_PART, text)
    if not parts or re.sub(rf"{_PART}|\band\b", "", text).strip():
        return None
    total = timedelta()
    for word, number, unit in parts:
        total += timedelta(**{UNITS[unit[0]]: _COUNTS.get(word) or int(number)})
    return total if timedelta() < total <= LONGEST_DURATION else None


def from_slack(text: str) -> str:
    """A line as a person typed it, from Slack's escaped form.

    Addresses that Slack made into links lose the link, `<#C1|name>` becomes `<#C1>`, `&amp;` becomes `&`.
    Source: the platform's page on formatting text, escaping and mentions.
    """
    shown = re.sub(r"<(?:mailto:|tel:)?([^<>|#@!][^<>|]*)(?:\|([^<>]*))?>", lambda m: m[2] or m[1], text)
    shown = re.sub(r"<([#@!][^<>|\s]+)\|[^<>]*>", r"<\1>", shown)
    return shown.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def parse_channel(text: str) -> str | None:
    """A channel as `<#C1|name>`, `<#C1>`, `#name` or an id; None where it is none."""
    if found := re.fullmatch(r"<#([A-Z0-9]+)(?:\|[^<>]*)?>", text):
        return found[1]
    if re.fullmatch(r"#[^\s#<>&,]{1,80}|[CGD][A-Z0-9]{6,}", text):
        return text
    return None
