"""Docs and the product's own texts stay in plain English: what was replaced doesn't come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.test_docs import PAGES, ROOT

pytestmark = pytest.mark.lint

REPLACED = re.compile(
    r"""\b(?:
      (?:be|is|are|was|not|now)\ told\b | tells?\ about | somebody | whoever | nobody\ (?:waits|has\ it|is\ interested)
    | waits\ for\ someone | needs?\ a\ look | checks\ are\ fine | what\ can\ wait | only\ reads | takes?\ it\ back
    | in\ vain | anew | meanwhile | in\ the\ meantime | mend | plainer | stumbled | wasn't\ asked | was\ set\ aside
    | by\ (?:itself|themselves) | wake\ now | to\ undo: | went\ wrong\ here | is\ (?:already\ there|there\ already)
    | is\ no\ (?:duration|event|channel|page|date|period|day|port) | no\ answer\ (?:yet|within|in\ time)
    | could\ be\ (?:paused|resumed) | there\ are:\ | e-mail | colours? | organisations? | \d\ %
    )""",
    re.IGNORECASE | re.VERBOSE,
)


SYNONYMS = "cli/bulk/lead_file.py"
"""A module whose texts are words of other people's files."""


def test_docs_hold_no_replaced_phrase() -> None:
    lines = ((page.name, line) for page in PAGES for line in page.read_text(encoding="utf-8").splitlines())
    assert [(name, phrase[0], line) for name, line in lines if (phrase := REPLACED.search(line))] == []


def _modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module whose texts people read, with its path."""
    for room in ("bot", "cli", "shared", "tui"):
        for file in sorted((ROOT / room).rglob("*.py")):
            yield str(file.relative_to(ROOT)), ast.parse(file.read_text(encoding="utf-8"))


def _sentences(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts of a module that hold several words; docstrings, which stand alone, are left out."""
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in alone else None
        if isinstance(node, ast.Constant) and isinstance(text, str) and " " in text.strip():
            yield node


def test_texts_of_the_product_hold_no_replaced_phrase() -> None:
    found = [
        (path, node.lineno, phrase[0])
        for path, tree in _modules()
        if path != SYNONYMS
        for node in _sentences(tree)
        if (phrase := REPLACED.search(str(node.value)))
    ]
    assert found == []


OTHER_LABELS = {"Address", "From", "Campaign", "Workspace", "Near", "Closest"}
"""Names of facts and columns that have another name everywhere else."""


def test_facts_and_columns_call_each_thing_by_its_one_name() -> None:
    labels = [
        (path, argument.value)
        for path, tree in _modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in {"Fact", "Column"}
        for argument in (*node.args[:1], *(keyword.value for keyword in node.keywords[:1]))
        if isinstance(argument, ast.Constant)
    ]
    assert len(labels) > 100
    assert [one for one in labels if one[1] in OTHER_LABELS] == []
