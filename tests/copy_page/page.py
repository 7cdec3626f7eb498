"""The page of the product's cards, answers, views and errors, to be read from top to bottom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cli.console import card_output
from cli.console.card_output import Look
from shared.domain.card import Card
from shared.operations.error_cards import MESSAGES
from tests.copy_page import bot_cards, dashboard
from tests.copy_page.answers import answers

_LOOK = Look(width=None, ascii=False, interactive=False)
_HEAD = """\
# Texts of the product

Made by `make docs` from the program's own renderers, over accounts that are made up: answers, cards and views of the bot,
the dashboard, and errors. Read it when you change a text. The usage of commands is in [commands.md](commands.md).
"""


def copy_page() -> str:
    parts = [_HEAD, "## Answers of commands\n", *_cards(answers().items())]
    parts += ["## Alerts and what follows them\n", *_cards(bot_cards.alerts().items())]
    parts += ["## Guardrails\n", *_cards(bot_cards.guardrails())]
    parts += ["## Clicks, confirmations and refusals\n", *_cards(bot_cards.exchanges())]
    parts += ["## Home, modals and forms\n", *map(_view, bot_cards.views())]
    parts += ["## Dashboard\n", *(_fenced(name, text) for name, text in dashboard.reports())]
    parts += _cards(dashboard.cards())
    parts += ["## Errors\n", *(f"- **{title}**. {fix}" for title, fix in MESSAGES.values()), ""]
    return "\n".join(parts)


def _cards(named: Iterable[tuple[str, Card]]) -> list[str]:
    return [_fenced(name, _block(card)) for name, card in named]


def _fenced(name: str, text: str) -> str:
    return f"### {name}\n\n```text\n{text}\n```\n"


def _view(named: tuple[str, Any]) -> str:
    name, view = named
    return _fenced(name, "\n".join(_texts(view)))


def _block(card: Card) -> str:
    lines = [line.plain.rstrip() for line in card_output.render(card, _LOOK)]
    buttons = " ".join(f"[{button.label}]" for button in card.buttons)
    confirms = [b.confirm for b in card.buttons if b.confirm]
    questions = [f"{one.title} {one.text} [{one.yes}] [{one.no}]" for one in confirms]
    return "\n".join([*lines, *([buttons] if buttons else []), *questions])


def _texts(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        text = node.get("text")
        if isinstance(text, str):
            yield text
        for key, value in node.items():
            if key != "text" or not isinstance(value, str):
                yield from _texts(value)
    elif isinstance(node, list):
        for one in node:
            yield from _texts(one)
