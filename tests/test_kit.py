"""Who may import the product's inside among the tests, and that the page of promises is true."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint
ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
PRODUCT = {"bot", "cli", "outreach_ops", "sandbox", "shared", "tui"}
INSIDE = {"client", "e2e", "faults", "pure", "sandbox", "screens"}
"""The folders of tests that know the inside, one a room or a way of testing. The promises never do."""
PUBLIC = {"outreach_ops"}
"""What scripts import, which any test may."""


def imports(file: Path) -> Iterator[str]:
    """The packages that a module imports, wherever in it, by their first names."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def test_promises_import_the_kit_and_nothing_of_the_products_inside() -> None:
    files = sorted((TESTS / "promises").rglob("*.py"))
    assert len(files) > 3
    wrong = [
        (file.name, name)
        for file in files
        for name in imports(file)
        if name.partition(".")[0] in PRODUCT - PUBLIC
        or (name.startswith("tests") and not name.startswith("tests.kit"))
    ]
    assert wrong == []


def test_the_kit_needs_no_other_tests() -> None:
    wrong = [
        (file.name, name)
        for file in sorted((TESTS / "kit").rglob("*.py"))
        for name in imports(file)
        if name.startswith("tests") and not name.startswith("tests.kit")
    ]
    assert wrong == []


def test_every_folder_that_imports_the_inside_is_the_kit_or_an_older_one() -> None:
    folders = {
        file.relative_to(TESTS).parts[0]
        for file in TESTS.rglob("*.py")
        if len(file.relative_to(TESTS).parts) > 1
        and any(name.partition(".")[0] in PRODUCT - PUBLIC for name in imports(file))
    }
    assert folders - {"kit"} <= INSIDE
    assert [name for name in sorted(INSIDE) if name not in folders] == [], "take it off the list"


# -- docs/contract.md ------------------------------------------------------------------------------------

NAMED = re.compile(r"`(test_\w+)`( \(not yet\))?")


def named() -> dict[str, bool]:
    """The tests that the page names, and whether it marks each as not kept yet."""
    page = (ROOT / "docs" / "contract.md").read_text(encoding="utf-8")
    return {name: bool(mark) for name, mark in NAMED.findall(page)}


def promised() -> dict[str, bool]:
    """The tests of promises, and whether each is expected to fail."""
    found = {}
    for file in sorted((TESTS / "promises").glob("test_*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                assert node.name not in found, f"two promises have the name {node.name}"
                found[node.name] = any("xfail" in ast.unparse(one) for one in node.decorator_list)
    return found


def test_the_page_names_every_promise_with_its_test_and_no_other() -> None:
    assert sorted(named()) == sorted(promised())


def test_the_page_marks_what_the_product_does_not_keep_yet() -> None:
    assert {name for name, later in named().items() if later} == {
        name for name, fails in promised().items() if fails
    }


def test_every_expected_failure_is_strict_and_says_why() -> None:
    for file in sorted((TESTS / "promises").glob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("mark.xfail"):
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                assert ast.unparse(given["strict"]) == "True", file
                assert len(ast.literal_eval(given["reason"]).split()) > 3, file
