"""The arguments of `guard`: an action, and a rule or its name. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from shared.commands.arguments import ArgumentError, Grammar, Values, Words, clip, did_you_mean
from shared.text.tokenize import quote

ACTS = ("list", "add", "test", "remove", "off", "on")


def _read(words: Words) -> Values:
    if not words:
        return {"act": "list", "rule": "", "name": ""}
    from shared.guardrails.words import (
        ACTIONS,  # late, as below: every start of the program would wait for it
    )

    act, rest = words[0], words[1:]
    if act.is_one_of(*ACTIONS):
        hint = f"To add it, write: guard add {clip(_text(words), length=120)}"
        raise ArgumentError("Add the rule, or test it first.", hint=hint)
    if not act.is_one_of(*ACTS):
        raise ArgumentError(f"“{clip(act.text)}” isn't an option here.", hint=did_you_mean(act.text, ACTS))
    name, verb = "", act.text.lower()
    if verb == "add" and len(rest) >= 2 and rest[-2].is_one_of("as"):
        name, rest = _name(rest[-1:]), rest[:-2]
    if verb == "list":
        if rest:
            raise ArgumentError(f"“{clip(rest[0].text)}” isn't expected here.")
        return {"act": verb, "rule": "", "name": ""}
    if verb in {"off", "on"} and not rest:
        return {"act": verb, "rule": "", "name": ""}
    if verb == "remove" or verb in {"off", "on"} or (verb == "test" and _is_name(rest)):
        return {"act": verb, "rule": "", "name": _name(rest)}
    return {"act": verb, "rule": _rule(rest), "name": name}


def _is_name(words: Words) -> bool:
    from shared.guardrails.catalog import NAME

    return len(words) == 1 and bool(NAME.fullmatch(words[0].text.lower()))


def _name(words: Words) -> str:
    if not words:
        raise ArgumentError("Which rule?", hint="`guard list` shows their names.")
    if not _is_name(words):
        hint = "A name has up to 40 letters, digits, dots and dashes. `guard list` shows all names."
        raise ArgumentError(f"“{clip(_text(words))}” isn't the name of a rule.", hint=hint)
    return words[0].text.lower()


def _rule(words: Words) -> str:
    """The sentence as it was understood."""
    if not words:
        example = "guard add suggest pausing sequence when bounces > 5% of at least 50 sends in 24h"
        raise ArgumentError("Which rule?", hint=f"For example: {example}")
    from shared.guardrails.sentence import Misunderstood, parse

    try:
        return str(parse(_text(words)))
    except Misunderstood as error:
        raise ArgumentError(error.problem, hint=f"The nearest rule is: {error.nearest}") from None


def _text(words: Words) -> str:
    """The sentence, whether it was put into quotes as a whole or only its names."""
    if len(words) == 1:
        return words[0].text
    return " ".join(f'"{_escaped(word.text)}"' if word.quoted else word.text for word in words)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _write(values: Values) -> Iterable[str]:
    yield values["act"]
    if values["rule"]:
        yield quote(values["rule"])
    if values["name"]:
        yield from ("as", values["name"]) if values["act"] == "add" else (values["name"],)


def is_asked_first(values: Values) -> bool:
    """Whether the command asks for confirmation: a rule that pauses without asking is shown with its backtest."""
    return values["act"] == "add" and str(values["rule"]).startswith("pause ")


def only_reads(values: Values) -> bool:
    return values["act"] in {"list", "test"}


GUARD = Grammar(read=_read, write=_write)
