"""The arguments of the commands that say where alerts and digests go: subscribe, unsubscribe, digest. Pure."""

from __future__ import annotations

from typing import Any

from shared.api.models import EVENT_KINDS
from shared.commands.arguments import ArgumentError, Grammar, Values, Words, clip, did_you_mean
from shared.domain.recurrence import Recurrence, parse_recurrence
from shared.text.tokenize import Word, parse_channel, quote

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
        raise ArgumentError("Which events?", hint=f"One or more of: {', '.join(EVENT_KINDS)}, or all.")
    return values


def _events(word: Word) -> tuple[str, ...]:
    """The kinds that a word names: whole, or by the part after the dot."""
    said = word.text.lower().strip(",")
    if said in {"all", "*"}:
        return EVENT_KINDS
    fitting = tuple(kind for kind in EVENT_KINDS if said in {kind, kind.partition(".")[2]})
    if len(fitting) != 1:
        raise ArgumentError(
            f"“{clip(word.text)}” is no event.", hint=did_you_mean(said, (*EVENT_KINDS, "all"))
        )
    return fitting


def _channel(word: Word) -> str | None:
    if word.says("here"):
        return HERE
    return None if word.quoted or word.key else parse_channel(word.text)


def _write_subscribe(values: Values) -> list[str]:
    filters = [f"{key}={quote(values[key])}" for key in ("sequence", "inbox") if values[key]]
    channel = [_say_channel(values["channel"])] if values["channel"] else []
    return [*values["events"], *filters, *channel, *(["condensed"] if values["condensed"] else [])]


def _say_channel(channel: str) -> str:
    return channel if channel.startswith("#") else f"<#{channel}>"


def _read_channel_only(words: Words) -> Values:
    channel = _channel(words[0]) if words else HERE
    if channel is None or words[1:]:
        wrong = words[1] if words[1:] else words[0]
        raise ArgumentError(f"“{clip(wrong.text)}” is no channel.", hint="Write here, or #channel.")
    return {"channel": channel}


def _write_channel_only(values: Values) -> list[str]:
    return [_say_channel(values["channel"])] if values["channel"] else []


def _read_digest(words: Words) -> Values:
    channel = HERE
    if words and (found := _channel(words[-1])) is not None:
        channel, words = found, words[:-1]
    if not words or words[0].says("now", "off"):
        if words[1:]:
            raise ArgumentError(f"“{clip(words[1].text)}” is not understood here.")
        return {"action": words[0].text.lower() if words else "show", "at": None, "channel": channel}
    return {"action": "at", "at": str(_recurrence(words)), "channel": channel}


def _recurrence(words: Words) -> Recurrence:
    texts = [word.text for word in words]
    if texts[-1].lower() in {"am", "pm"}:
        texts[-2:] = ["".join(texts[-2:])]
    hint = "Write now, at 09:00, or off; or in full: mondays at 09:00 Europe/Berlin."
    if texts == ["at"]:
        raise ArgumentError("At what time?", hint=hint)
    found = parse_recurrence(texts)
    if isinstance(found, str):
        kind = "time of day" if found[:1].isdigit() else "weekday or time zone"
        raise ArgumentError(f"“{clip(found)}” is no {kind}.", hint=hint)
    return found


def _write_digest(values: Values) -> list[str]:
    action = [] if values["action"] in {"show", "at"} else [values["action"]]
    at = ["at", *values["at"].split()] if values["at"] else []
    return [*action, *at, *_write_channel_only(values)]


SUBSCRIBE = Grammar(read=_read_subscribe, write=_write_subscribe)
CHANNEL = Grammar(read=_read_channel_only, write=_write_channel_only)
DIGEST = Grammar(read=_read_digest, write=_write_digest)
