"""docs/copy.md: every card, answer, view, help page and sentence of the product, to be read from top to bottom."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bot.alerts import kinds
from bot.interactions import specimens
from bot.interactions.specimens import LONG, SHORT
from cli.console import card_output
from cli.console.table_layout import Look
from shared.commands import COMMANDS, help_card
from shared.domain.card import Card
from shared.operations.error_cards import MESSAGES

ROOT = Path(__file__).parents[2]
FOLDERS = ("bot", "cli", "sandbox/slack/pages", "shared", "tui")
UNREAD = ("bot/store/db/", "bot/store/migrations/", "bot/store/queue/", "cli/bulk/columns.py", "cli/commands/copy_page.py",
          "bot/interactions/specimens.py", "shared/api/decoding/field_names.py")  # fmt: skip
"""Modules whose strings aren't shown to people: SQL, lists of names, and the specimens above."""
NOW = datetime(2026, 11, 22, 14, 5, tzinfo=UTC)
_LOOK = Look(width=None, ascii=False, interactive=False)
_CODE = re.compile(r"\(\?|\\[dsw]|^[\W\d]*$|\b(?:SELECT|INSERT|UPDATE|PRAGMA|CREATE|SET|ALTER) ")
_HEAD = """\
# Every text of the product

Made by `make docs`: cards and views of the bot, help, errors, then every other string by file, with `{…}` for what is
filled in. Read it when you change a text.
"""


def copy_page() -> str:
    parts = [_HEAD, "## Cards and answers\n", *map(_card_block, _cards().items())]
    parts += ["## Home, modals and forms\n", *_views()]
    parts += ["## Help\n", *(_block(help_card(name)) for name in COMMANDS)]
    parts += ["## Errors\n", *(f"- **{title}**. {cure}" for title, cure in MESSAGES.values()), ""]
    parts += ["## Strings by file\n", *_strings()]
    return "\n".join(parts)


def _cards() -> Mapping[str, Card]:
    found = {**specimens.alerts(NOW), **specimens.answers(NOW)}
    for kind in kinds.KINDS:
        found[kind] = kinds.card(specimens.alert_of_kind(kind, NOW, SHORT))
    return {name: card for name, card in found.items() if LONG[:20] not in repr(card)}


def _card_block(named: tuple[str, Card]) -> str:
    name, card = named
    return f"### {name}\n\n{_block(card)}"


def _block(card: Card) -> str:
    lines = [line.plain.rstrip() for line in card_output.render(card, _LOOK)]
    buttons = " ".join(f"[{button.label}]" for button in card.buttons)
    confirms = [b.confirm for b in card.buttons if b.confirm]
    questions = [f"{one.title} {one.text} [{one.yes}] [{one.no}]" for one in confirms]
    return "\n".join(["```", *lines, *([buttons] if buttons else []), *questions, "```\n"])


def _views() -> Iterator[str]:
    for one in specimens.specimens(NOW):
        if one.view is not None and LONG[:20] not in repr(one.view):
            yield "\n".join([f"### {one.name}\n", "```", *_texts(one.view), "```\n"])


def _texts(node: Any) -> Iterator[str]:
    """The texts of a view in their order."""
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
