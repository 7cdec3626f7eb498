"""The arguments of the commands that say where alerts and digests go: subscribe, unsubscribe, digest. Pure."""

from __future__ import annotations

import re
from typing import Any

from shared.api.models import EVENT_KINDS
from shared.commands.arguments import Grammar, Misread, Values, Words, clip, did_you_mean
from shared.words import Word, quote, read_channel

HERE = ""
"""The channel in which the command is given."""


def _read_subscribe(words: Words) -> Values:
    values: dict[str, Any] = {"events": (), "sequence": "", "inbox": "", "channel": HERE, "condensed": False}
    for word in words:
        if word.key in {"sequence", "inbox"}:
            values[word.key] = word.value
        elif word.says("condensed", "full"):
            values["condensed"] = word.says("condensed")
        elif (channel := _channel(word)) is not None:
            values["channel"] = channel
        else:
            values["events"] += tuple(kind for kind in _events(word) if kind not in values["events"])
    if not values["events"]:
        raise Misread("Which events?", hint=f"One or more of: {', '.join(EVENT_KINDS)}, or all.")
    return values


def _events(word: Word) -> tuple[str, ...]:
    """The kinds that a word names: whole, or by the part after the dot."""
    said = word.text.lower().strip(",")
    if said in {"all", "*"}:
        return EVENT_KINDS
    fitting = tuple(kind for kind in EVENT_KINDS if said in {kind, kind.partition(".")[2]})
    if len(fitting) != 1:
        raise Misread(f"“{clip(word.text)}” is no event.", hint=did_you_mean(said, (*EVENT_KINDS, "all")))
    return fitting


def _channel(word: Word) -> str | None:
    if word.says("here"):
        return HERE
    return None if word.quoted or word.key else read_channel(word.text)


def _write_subscribe(values: Values) -> list[str]:
    filters = [f"{key}={quote(values[key])}" for key in ("sequence", "inbox") if values[key]]
    channel = [_say_channel(values["channel"])] if values["channel"] else []
    return [*values["events"], *filters, *channel, *(["condensed"] if values["condensed"] else [])]


def _say_channel(channel: str) -> str:
    """A name as it is, an id as Slack writes a mention: both are read back."""
    return channel if channel.startswith("#") else f"<#{channel}>"


def _read_channel_only(words: Words) -> Values:
    channel = _channel(words[0]) if words else HERE
    if channel is None or words[1:]:
        wrong = words[1] if words[1:] else words[0]
        raise Misread(f"“{clip(wrong.text)}” is no channel.", hint="Write here, or #channel.")
    return {"channel": channel}


def _write_channel_only(values: Values) -> list[str]:
    return [_say_channel(values["channel"])] if values["channel"] else []


def _read_digest(words: Words) -> Values:
    channel = HERE
    if words and (found := _channel(words[-1])) is not None:
        channel, words = found, words[:-1]
    action, rest = (words[0], words[1:]) if words else (None, ())
    if action is not None and not action.says("now", "at", "off"):
        raise Misread(f"“{clip(action.text)}” is not known here.", hint="Write now, at 09:00, or off.")
    at = _time("".join(word.text for word in rest)) if action and action.says("at") else None
    if rest and at is None:
        raise Misread(f"“{clip(rest[0].text)}” is not understood here.")
    return {"action": action.text.lower() if action else "show", "at": at, "channel": channel}


def _time(text: str) -> str:
    found = re.fullmatch(r"([0-9]{1,2})(?:[:.]([0-9]{2}))?(am|pm)?", text.lower())
    hour, minute = (int(found[1]), int(found[2] or 0)) if found else (99, 0)
    if found and found[3] and 1 <= hour <= 12:
        hour = hour % 12 + (12 if found[3] == "pm" else 0)
    elif found and found[3]:
        hour = 99
    if hour > 23 or minute > 59:
        said = f"“{clip(text)}” is no time of day." if text else "At what time?"
        raise Misread(said, hint="Write it like 09:00.")
    return f"{hour:02}:{minute:02}"


def _write_digest(values: Values) -> list[str]:
    action = [] if values["action"] == "show" else [values["action"]]
    return [*action, *([values["at"]] if values["at"] else []), *_write_channel_only(values)]


SUBSCRIBE = Grammar(read=_read_subscribe, write=_write_subscribe)
CHANNEL = Grammar(read=_read_channel_only, write=_write_channel_only)
DIGEST = Grammar(read=_read_digest, write=_write_digest)
