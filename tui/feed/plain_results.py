"""The result of a command as JSON, for a viewer of another process: what it shows, and no more. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter

from shared.commands.result import Problem, Result
from shared.domain.card import Button, Card, Fact, Table, Tone, Typed

_FACTS, _TABLE = TypeAdapter(tuple[Fact, ...]), TypeAdapter(Table | None)


def to_plain(result: Result) -> dict[str, Any]:
    """Buttons are their labels and lines; charts are left out, since no terminal draws them."""
    card = result.card
    return {
        "card": {
            "title": card.title,
            "tone": card.tone.value,
            "text": list(card.text),
            "facts": _FACTS.dump_python(card.facts, mode="json"),
            "details": _FACTS.dump_python(card.details, mode="json"),
            "table": _TABLE.dump_python(card.table, mode="json"),
            "quote": card.quote,
            "footer": card.footer,
            "buttons": [[button.label, button.line] for button in card.buttons if button.line],
        },
        "effect": result.effect,
        "problem": asdict(result.problem) if result.problem else None,
    }


def from_plain(plain: Mapping[str, Any]) -> Result:
    """What `to_plain` wrote; raises ValueError, TypeError or KeyError for anything else."""
    given = dict(plain["card"])
    card = Card(
        title=given["title"],
        tone=Tone(given["tone"]),
        text=tuple(given["text"]),
        facts=_FACTS.validate_python(given["facts"]),
        details=_FACTS.validate_python(given["details"]),
        table=_TABLE.validate_python(given["table"]),
        quote=given["quote"],
        footer=given["footer"],
        buttons=tuple(Button(label=label, action=Typed(line)) for label, line in given["buttons"]),
    )
    problem = Problem(**plain["problem"]) if plain["problem"] else None
    return Result(card=card, problem=problem, effect=plain["effect"])
