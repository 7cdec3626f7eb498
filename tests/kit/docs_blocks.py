"""The blocks of code of README and docs, and the commands in them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = {"commands.md"}
"""Its blocks are usages and examples of the tables."""
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name not in GENERATED),
]


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: Path
    language: str
    text: str


def blocks(*languages: str) -> Iterator[Block]:
    for page in PAGES:
        for indent, language, text in re.findall(
            r"^( *)```(\w*)\n(.*?)^ *```$", page.read_text(), re.DOTALL | re.MULTILINE
        ):
            if not languages or language in languages:
                yield Block(page, language, re.sub(f"^{indent}", "", text, flags=re.MULTILINE))


def slack_lines() -> list[str]:
    """What is typed after `/outreach`."""
    lines = (line for block in blocks("") for line in block.text.splitlines())
    return [line.removeprefix("/outreach ") for line in lines if line.startswith("/outreach ")]


def shell_lines() -> list[tuple[str, ...]]:
    """The arguments of every `outreach`, also where `make run` or sudo runs it."""
    return list(dict.fromkeys(words for block in blocks("sh", "console") for words in _commands(block.text)))


def commands_of(page: str, heading: str) -> list[tuple[str, ...]]:
    """Those of one section of a page, in their order."""
    section = (ROOT / "docs" / page).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [words for text in re.findall(r"```sh\n(.*?)```", section, re.DOTALL) for words in _commands(text)]


def _commands(text: str) -> Iterator[tuple[str, ...]]:
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ ").partition(" | ")[0], comments=True)
        if words[:2] == ["make", "run"]:
            words = ["outreach", *shlex.split(words[2].removeprefix("ARGS="))] if len(words) == 3 else []
        while words and (words[0] == "sudo" or "=" in words[0]):
            words = words[1:]
        if words and words[0].rpartition("/")[2] == "outreach":
            yield tuple(words[1:])
