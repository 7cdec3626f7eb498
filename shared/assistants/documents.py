"""The pages of the documentation that assistants can read: those of the site, which the package carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs"
SCHEME = "outreach-docs:///"
KIND = "text/markdown"
NOT_PACKED = "copy.md"
"""Every text of the product, for who changes texts."""
MOST_SUMMARY = 300


class NoSuchPageError(Exception):
    """No page has this address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page, by its path in the documentation; the summary is its first paragraph, as plain text."""

    path: str
    title: str
    summary: str

    @property
    def uri(self) -> str:
        return f"{SCHEME}{self.path}"


@cache
def pages(folder: Path = FOLDER) -> Mapping[str, Page]:
    """All pages by their addresses."""
    paths = (file.relative_to(folder).as_posix() for file in sorted(folder.rglob("*.md")))
    found = (_page(folder, path) for path in paths if path != NOT_PACKED)
    return {page.uri: page for page in found}


def read(uri: str, folder: Path = FOLDER) -> str:
    """The Markdown of a page. Raises `NoSuchPageError`: only listed addresses are read, never a path."""
    page = pages(folder).get(uri)
    if page is None:
        raise NoSuchPageError
    return (folder / page.path).read_text(encoding="utf-8")


def _page(folder: Path, path: str) -> Page:
    heading, _, rest = (folder / path).read_text(encoding="utf-8").partition("\n")
    paragraphs = (" ".join(part.split()) for part in rest.split("\n\n"))
    paragraph = next((part for part in paragraphs if part and not part.startswith("#")), "")
    summary = paragraph if len(paragraph) <= MOST_SUMMARY else paragraph[: MOST_SUMMARY - 1] + "…"
    return Page(path=path, title=heading.lstrip("# "), summary=summary)
