"""The pages that must agree with the code."""

from __future__ import annotations

import ast
import json
import re
import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.commands.run_command import line
from cli.line import read_options, split
from cli.programs import PROGRAMS
from shared.commands import COMMANDS, parse
from shared.settings import load
from tests.kit.docs_blocks import blocks, shell_lines, slack_lines

pytestmark = pytest.mark.lint
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
WRITERS = {"write", *(f"log.{level}" for level in LEVELS)}


class Findings(list[str]):
    """What was found, one line for each subject."""

    def __str__(self) -> str:
        return "\n".join(self)

    @contextmanager
    def at(self, subject: object) -> Iterator[None]:
        """Note what the block raises about the subject, and continue after the block."""
        try:
            yield
        except (Exception, SystemExit) as error:  # noqa: BLE001 # whatever a parser or an assertion raises
            # One run names all that is wrong, instead of one for each repair.
            self.append(f"{subject}: {type(error).__name__}: {error}")


LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)")


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The pages that a page links to, with the heading's anchor or an empty text."""
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        yield (page.parent / target).resolve() if target else page, anchor


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings have on GitHub."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading).strip().lower() for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def test_every_link_between_pages_leads_to_a_page_and_a_heading() -> None:
    dead = [
        f"{page.name} -> {target.name}#{anchor}"
        for page in PAGES
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]
    assert dead == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, new = set[Path](), {ROOT / "README.md"}
    while new:
        reached |= new
        new = {
            target for page in new if page.suffix == ".md" and page.exists() for target, _ in links(page)
        } - reached
    assert [page.name for page in PAGES if page not in reached] == []


def test_every_path_that_the_architecture_names_exists() -> None:
    named = re.findall(
        r"`((?:bot|cli|docs|sandbox|shared|tests|tui)/[\w./]+)`",
        (ROOT / "docs" / "architecture.md").read_text(),
    )
    assert len(named) > 30
    assert [path for path in named if not (ROOT / path).exists() and not (ROOT / f"{path}.py").exists()] == []


def test_every_command_of_the_pages_is_one_that_the_program_takes() -> None:
    found = Findings()
    for words in shell_lines():
        with found.at(" ".join(words)):
            read_shell_line(words)
    assert not found, str(found)


def read_shell_line(words: tuple[str, ...]) -> None:
    typed = split(words)
    if typed.word is None:
        assert typed.before == ("--version",)
    elif typed.word in PROGRAMS:
        read_options(PROGRAMS[typed.word], typed)
    else:
        options = read_options(COMMANDS[typed.word], typed)
        parse(line(typed.word, options.words))


def test_every_slash_command_of_the_pages_is_one_that_the_bot_takes() -> None:
    found = Findings()
    for typed in slack_lines():
        with found.at(typed):
            assert parse(typed).arguments.verb == typed.split(maxsplit=1)[0].lower()
    assert not found, str(found)


def test_every_settings_block_is_valid(tmp_path: Path) -> None:
    found = Findings()
    # A block that speaks of a workspace leaves out the table that would make it.
    acme = '\n[workspaces.acme]\nbase_url = "https://api.example.com/v1"\n'
    file = tmp_path / "outreach.toml"
    for block in blocks("toml"):
        with found.at(block):
            file.write_text(block.text + (acme if '\nworkspace = "acme"' in block.text else ""))
            assert load(config=file, environ={"OUTREACH_STATE_DIR": str(tmp_path)}).files == (file,)
    assert not found, str(found)


def test_every_block_of_json_is_whole() -> None:
    found = Findings()
    for block in blocks("json"):
        with found.at(block):
            assert isinstance(json.loads(block.text), dict | list)
    assert not found, str(found)


RUN_BY = {
    "client.md": "tests/client/test_library.py",
    "sandbox.md": "tests/sandbox/test_embedded.py",
}


def test_every_block_of_python_is_run_by_a_test_that_names_its_page() -> None:
    assert {block.page.name for block in blocks("python")} == set(RUN_BY)
    assert [page for page, test in RUN_BY.items() if page not in (ROOT / test).read_text()] == []


def _logged() -> Iterator[str]:
    """Every event that the bot logs."""
    for file in sorted((ROOT / "bot").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "visit":  # it logs for its caller
                yield from (ast.literal_eval(one.value) for one in node.keywords if one.arg == "failed")
            elif isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in WRITERS:
                first = node.args[0]
                if ast.unparse(first) != "failed":
                    assert isinstance(first, ast.Constant), (
                        f"{file}: the event of a log line isn't a constant"
                    )
                    yield str(first.value)


def test_every_log_line_of_the_bot_is_explained() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    named = re.findall(r"^\| (`[^|]+`) \|", page.partition("## By log line")[2], flags=re.MULTILINE)
    explained = [event for events in named for event in re.findall(r"`([^`]+)`", events)]
    assert sorted(explained) == sorted(set(_logged()))


def test_every_error_message_of_troubleshooting_is_one_of_the_program() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    section = page.partition("## By error message")[2].partition("## By log line")[0]
    sources = [file for room in ("bot", "cli", "shared", "tui") for file in (ROOT / room).rglob("*.py")]
    strings = {
        node.value
        for file in sources
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    messages = re.findall(r"^### (.+)$", section, flags=re.MULTILINE)
    assert len(messages) > 5
    assert [message for message in messages if not any(message in text for text in strings)] == []


def test_the_changelog_begins_with_what_is_unreleased_or_the_version_of_the_program() -> None:
    version = runpy.run_path(str(ROOT / "shared/api/version.py"))["VERSION"]
    found = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert next(name for name in found if name != "Unreleased") == version
    assert "Unreleased" not in found[1:]


def test_every_command_that_a_shell_has_takes_json() -> None:
    found = Findings()
    for command in (one for one in COMMANDS.values() if not one.slack_only):
        words = split((*command.examples[0].split(), "--json"))
        with found.at(command.verb):
            assert read_options(command, words).json
    assert not found, str(found)
