"""The arguments of each command: parsed into values, and written back.

One grammar per shape of arguments; `commands` says which verb has which. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from shared.api.models import EVENT_KINDS, LEAD_STATUSES, SEQUENCE_STATUSES
from shared.commands import times
from shared.domain.recurrence import Recurrence, parse_recurrence
from shared.text.tokenize import Word, parse_channel, quote

Values = Mapping[str, Any]
Words = tuple[Word, ...]
HERE = ""
"""The channel in which the command is given."""
EMAIL = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")


class ArgumentError(Exception):
    """The words after the verb make no sense; the message says which, `hint` what would."""

    def __init__(self, problem: str, *, hint: str = "") -> None:
        self.problem, self.hint = problem, hint
        super().__init__(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A pair of inverses: `read(split(join(write(values)))) == values`."""

    read: Callable[[Words], Values]
    write: Callable[[Values], Iterable[str]] = lambda _: ()


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


def _nothing(words: Words) -> Values:
    none_left(words)
    return {}


def one_of(name: str, known: Collection[str]) -> Grammar:
    """One of the known words, or none."""

    def read(words: Words) -> Values:
        if not words:
            return {name: None}
        none_left(words[1:])
        if not words[0].is_one_of(*known):
            raise unknown_word(words[0], known)
        return {name: words[0].text.lower()}

    return Grammar(read=read, write=lambda values: [values[name]] if values[name] else [])


TARGET_KEYWORDS = (
    "for",
    "until",
    "reason",
    "reason:",
    "to",
    "by",
    "here",
    "condensed",
    "full",
    *LEAD_STATUSES,
)


def write_target(values: Values) -> list[str]:
    words = [quote(word, keywords=TARGET_KEYWORDS) for word in values["target"]]
    return [quote(" ".join(values["target"]))] if words[1:] and words[0].startswith('"') else words


def need_target(words: Words) -> tuple[str, ...]:
    if not any(word.text.strip() for word in words):
        raise ArgumentError(
            "Which sequence?", hint="Enter its id, its name, or the start of a name that matches only one."
        )
    return texts(words)


def _read_inboxes(words: Words) -> Values:
    none_left(words[1:])
    return {"filter": words[0].text.lower() if words else None}


def _read_leads(words: Words) -> Values:
    status = words[-1].text.lower() if words and words[-1].is_one_of(*LEAD_STATUSES) else None
    return {"target": texts(words[:-1] if status else words), "status": status}


def _read_who(words: Words) -> Values:
    if not words or not words[0].text.strip():
        raise ArgumentError("Which lead?", hint="Enter an email address or an id (ld_…).")
    none_left(words[1:])
    return {"who": words[0].text}


def _read_lead(words: Words) -> Values:
    """An address, an id, or the words of a name."""
    is_name = len(words) > 1 and "@" not in words[0].text
    return {"who": " ".join(texts(words))} if is_name else _read_who(words)


def _read_add(words: Words) -> Values:
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
    return {
        "email": words[0].text,
        "target": need_target(tuple(word for word in rest if not word.key)),
        "fields": fields,
    }


def _write_add(values: Values) -> list[str]:
    fields = [f"{key}={_quoted(value)}" for key, value in values["fields"].items()]
    return [quote(values["email"]), "to", *(_quoted(word) for word in values["target"]), *fields]


def _quoted(text: str) -> str:
    """Always quoted, so that a word with `=` isn't read as a field."""
    plain = quote(text)
    return plain if plain.startswith('"') else f'"{plain}"'


def _read_subscribe(words: Words) -> Values:
    values: dict[str, Any] = {"events": (), "sequence": "", "inbox": "", "channel": HERE, "condensed": False}
    for word in words:
        if word.key in {"sequence", "inbox"}:
            values[word.key] = word.value
        elif word.is_one_of("condensed", "full"):
            values["condensed"] = word.is_one_of("condensed")
        elif (channel := _channel(word)) is not None:
            values["channel"] = channel
        else:
            values["events"] += tuple(kind for kind in _events(word) if kind not in values["events"])
    if not values["events"]:
        raise ArgumentError("Which events?", hint=f"One or more of: {', '.join(EVENT_KINDS)}, or all.")
    return values


def _events(word: Word) -> tuple[str, ...]:
    """The kinds that a word names: whole, or by the part after the dot."""
    name = word.text.lower().strip(",")
    if name in {"all", "*"}:
        return EVENT_KINDS
    fitting = tuple(kind for kind in EVENT_KINDS if name in {kind, kind.partition(".")[2]})
    if len(fitting) != 1:
        raise ArgumentError(
            f"“{clip(word.text)}” isn't an event.", hint=did_you_mean(name, (*EVENT_KINDS, "all"))
        )
    return fitting


def _channel(word: Word) -> str | None:
    if word.is_one_of("here"):
        return HERE
    return None if word.quoted or word.key else parse_channel(word.text)


def _write_subscribe(values: Values) -> list[str]:
    filters = [f"{key}={quote(values[key])}" for key in ("sequence", "inbox") if values[key]]
    return [
        *values["events"],
        *filters,
        *_write_channel_only(values),
        *(["condensed"] if values["condensed"] else []),
    ]


def _read_channel_only(words: Words) -> Values:
    channel = _channel(words[0]) if words else HERE
    if channel is None or words[1:]:
        wrong = words[1] if words[1:] else words[0]
        raise ArgumentError(f"“{clip(wrong.text)}” isn't a channel.", hint="Use here or #channel.")
    return {"channel": channel}


def _write_channel_only(values: Values) -> list[str]:
    channel: str = values["channel"]
    return [channel if channel.startswith("#") else f"<#{channel}>"] if channel else []


def _read_digest(words: Words) -> Values:
    channel = HERE
    if words and (found := _channel(words[-1])) is not None:
        channel, words = found, words[:-1]
    if not words or words[0].is_one_of("now", "today", "off"):
        none_left(words[1:])
        return {"action": words[0].text.lower() if words else "show", "at": None, "channel": channel}
    return {"action": "at", "at": str(_recurrence(words)), "channel": channel}


def _recurrence(words: Words) -> Recurrence:
    typed = [word.text for word in words]
    if typed[-1].lower() in {"am", "pm"}:
        typed[-2:] = ["".join(typed[-2:])]
    hint = "Use now, today (the day so far), at 09:00, mondays at 09:00 Europe/Berlin, or off."
    if typed == ["at"]:
        raise ArgumentError("At what time?", hint=hint)
    found = parse_recurrence(typed)
    if isinstance(found, str):
        kind = "time of day" if found[:1].isdigit() else "weekday or time zone"
        near = did_you_mean(found, ("now", "today", "off", "at", *times.DAYS))
        hint = f"{near} {hint}" if near.startswith("Did") else hint
        raise ArgumentError(f"“{clip(found)}” isn't a {kind}.", hint=hint)
    return found


def _write_digest(values: Values) -> list[str]:
    action = [] if values["action"] in {"show", "at"} else [values["action"]]
    at = ["at", *values["at"].split()] if values["at"] else []
    return [*action, *at, *_write_channel_only(values)]


def _read_page(words: Words) -> Values:
    none_left(words[1:])
    if not words:
        return {}
    if words[0].quoted or not re.fullmatch(r"[1-9][0-9]{0,3}", words[0].text):
        raise ArgumentError(
            f"“{clip(words[0].text)}” isn't a page number.", hint="Use a number, as in `open 2`."
        )
    return {"page": int(words[0].text)}


NOTHING = Grammar(read=_nothing)
PAGE = Grammar(read=_read_page, write=lambda v: [str(v["page"])] if v.get("page") else [])
STATUS = one_of("status", SEQUENCE_STATUSES)
TARGET = Grammar(read=lambda words: {"target": need_target(words)}, write=write_target)
INBOXES = Grammar(read=_read_inboxes, write=lambda v: [quote(v["filter"])] if v["filter"] else [])
LEADS = Grammar(read=_read_leads, write=lambda v: [*write_target(v), *([v["status"]] if v["status"] else [])])
WHO = Grammar(read=_read_who, write=lambda values: [quote(values["who"])])
LEAD = replace(WHO, read=_read_lead)
ADD = Grammar(read=_read_add, write=_write_add)
SUBSCRIBE = Grammar(read=_read_subscribe, write=_write_subscribe)
CHANNEL = Grammar(read=_read_channel_only, write=_write_channel_only)
DIGEST = Grammar(read=_read_digest, write=_write_digest)
