"""Every text of the cards in another language: nothing that the program does may depend on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.blockkit.card_blocks import Message
from bot.commands import dispatch
from bot.commands.context import Answer
from bot.interactions import listeners
from shared.commands import Invocation
from shared.commands import run as running
from shared.commands.base import Act, Question, Result
from shared.commands.run import CommandContext
from shared.domain.card import Button, Card


def upper(card: Card) -> Card:
    """The card as a translator would hand it back, who knows only upper case."""
    table = card.table and replace(
        card.table,
        columns=tuple(replace(one, title=one.title.upper()) for one in card.table.columns),
        rows=tuple(
            replace(row, cells=tuple(cell.upper() if isinstance(cell, str) else cell for cell in row.cells))
            for row in card.table.rows
        ),
    )
    return replace(
        card,
        title=card.title.upper(),
        text=tuple(one.upper() for one in card.text),
        facts=tuple(replace(one, label=one.label.upper(), value=one.value.upper()) for one in card.facts),
        quote=card.quote.upper(),
        table=table,
        buttons=tuple(map(_upper_button, card.buttons)),
        details=tuple(replace(one, label=one.label.upper(), value=one.value.upper()) for one in card.details),
        footer=card.footer.upper(),
    )


def _upper_button(button: Button) -> Button:
    return replace(button, label=button.label.upper())


def translate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Translate the cards of all results, and of everything that the bot answers."""
    run, carry_out, render = running.run, running.carry_out, listeners.render_answer

    async def translated(invocation: Invocation, context: CommandContext) -> Result | Question:
        result = await run(invocation, context)
        return replace(result, card=upper(result.card))

    async def carried_out(act: Act, context: CommandContext, **named: Any) -> Result:
        result = await carry_out(act, context, **named)
        return replace(result, card=upper(result.card))

    def rendered(answer: Answer) -> Message:
        return render(replace(answer, card=upper(answer.card), items=tuple(map(upper, answer.items))))

    # Each module has the name that it imported, which is replaced where it stands.
    for module in (running, dispatch):
        monkeypatch.setattr(module, "run", translated)
        monkeypatch.setattr(module, "carry_out", carried_out)
    monkeypatch.setattr(listeners, "render_answer", rendered)
