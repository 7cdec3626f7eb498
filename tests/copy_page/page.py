"""The page of every card, answer, view, help page and sentence of the product, to be read from top to bottom."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cli.console import card_output
from cli.console.table_layout import Look
from cli.parser.arguments import program_parser
from cli.parser.shell_commands import PROGRAMS
from shared.commands import COMMANDS, help_card
from shared.domain.card import Card
from shared.operations.error_cards import MESSAGES
from tests.copy_page import bot_cards, dashboard
from tests.copy_page.answers import answers

ROOT = Path(__file__).parents[2]
FOLDERS = ("bot", "cli", "sandbox/slack/pages", "shared", "tui")
UNREAD = ("bot/store/db/", "bot/store/migrations/", "bot/store/queue/", "cli/bulk/columns.py",
          "bot/interactions/specimens.py", "shared/api/decoding/field_names.py")  # fmt: skip
"""Modules whose strings aren't shown to people: SQL, lists of names, and the specimens above."""
_LOOK = Look(width=None, ascii=False, interactive=False)
_CODE = re.compile(r"\(\?|\\[dsw]|^[\W\d]*$|\b(?:SELECT|INSERT|UPDATE|PRAGMA|CREATE|SET|ALTER) ")
_HEAD = """\
# Every text of the product

Made by `make docs` from the program's own renderers, over accounts that are made up: answers, cards and views of the bot,
help, dashboard, errors, then every other string by file, with `{…}` for what is filled in. Read it when you change a text.
"""


def copy_page() -> str:
    parts = [_HEAD, "## Answers of commands\n", *_cards(answers().items())]
    parts += ["## Alerts and what follows them\n", *_cards(bot_cards.alerts().items())]
    parts += ["## Guardrails\n", *_cards(bot_cards.guardrails())]
    parts += ["## Clicks, confirmations and refusals\n", *_cards(bot_cards.exchanges())]
    parts += ["## Home, modals and forms\n", *map(_view, bot_cards.views())]
    parts += ["## Dashboard\n", *(_fenced(name, text) for name, text in dashboard.reports())]
    parts += _cards(dashboard.cards())
    parts += ["## Help\n", *_cards((f"help {name}", help_card(name)) for name in COMMANDS)]
    parts += ["## Help in a shell\n", *map(_program_help, PROGRAMS)]
    parts += ["## Errors\n", *(f"- **{title}**. {fix}" for title, fix in MESSAGES.values()), ""]
    parts += ["## Strings by file\n", *_strings()]
    return "\n".join(parts)


def _cards(named: Iterable[tuple[str, Card]]) -> list[str]:
    return [_fenced(name, _block(card)) for name, card in named]


def _fenced(name: str, text: str) -> str:
    return f"### {name}\n\n```text\n{text}\n```\n"


def _program_help(name: str) -> str:
    return _fenced(f"outreach {name} --help", program_parser(PROGRAMS[name]).format_help().rstrip())


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


def _strings() -> Iterator[str]:
    for path in product_files():
        texts = [one for one in strings_of(path) if _is_read(one)]
        if texts:
            lines = (f"- {' '.join(one.split())}" for one in dict.fromkeys(texts))
            yield "\n".join([f"### {path.relative_to(ROOT)}\n", "```text", *lines, "```\n"])


def product_files() -> list[Path]:
    """The modules whose strings people read."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if not str(path.relative_to(ROOT)).startswith(UNREAD))


def strings_of(path: Path) -> list[str]:
    """The strings of a module without its docstrings, in order; `{…}` stands for what is filled in."""
    finder = _Strings()
    finder.visit(ast.parse(path.read_text(encoding="utf-8")))
    return finder.found


def _is_read(text: str) -> bool:
    return " " in text.strip() and len(re.findall(r"[A-Za-z]{2,}", text)) > 1 and not _CODE.search(text)


class _Strings(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.found.append(node.value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        filled = [one for one in node.values if isinstance(one, ast.FormattedValue)]
        self.found.append(
            "".join(str(one.value) if isinstance(one, ast.Constant) else "{…}" for one in node.values)
        )
        for one in filled:
            self.visit(one.value)
