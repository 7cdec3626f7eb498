"""The pages that must agree with the code."""

from __future__ import annotations

import re
from pathlib import Path

from cli.commands import docs_pages

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_page_of_settings_shows_the_file_that_init_writes() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == docs_pages.settings_page(), "make docs"


def test_every_link_between_pages_leads_somewhere() -> None:
    dead = [
        f"{page.name} -> {target}"
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert dead == []


def test_the_readme_begins_with_the_two_commands_and_a_picture() -> None:
    first_screen = "\n".join((ROOT / "README.md").read_text().splitlines()[:25])
    assert "make demo" in first_screen
    assert "make test" in first_screen
    assert "![" in first_screen


def test_every_path_that_the_architecture_names_exists() -> None:
    named = re.findall(
        r"`((?:bot|cli|docs|sandbox|shared|tests|tui)/[\w./]+)`",
        (ROOT / "docs" / "architecture.md").read_text(),
    )
    assert len(named) > 30
    assert [path for path in named if not (ROOT / path).exists() and not (ROOT / f"{path}.py").exists()] == []
