"""llms.txt, the site's list of its pages for language models: `python -m tests.llms_txt FOLDER` (https://llmstxt.org).

Beside it go the pages as Markdown, to which it links.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shared.assistants.documents import SCHEME, pages

DOCS = Path(__file__).parents[1] / "docs"


def llms_txt(docs: Path = DOCS) -> str:
    """A section for each one of the site's navigation."""
    project = tomllib.loads((docs / "zensical.toml").read_text(encoding="utf-8"))["project"]
    head = [f"# {project['site_name']}", "", f"> {project['site_description']}"]
    return "\n".join([*head, *_lines(project["nav"], docs, title="Pages")]) + "\n"


def _lines(nav: list[dict[str, Any]], docs: Path, *, title: str) -> Iterator[str]:
    entries = [entry for part in nav for entry in part.items()]
    if single := [(name, path) for name, path in entries if isinstance(path, str)]:
        yield from ("", f"## {title}", "")
        for name, path in single:
            yield f"- [{name}]({path}): {pages(docs)[f'{SCHEME}{path}'].summary.rstrip(':')}"
    for name, inner in entries:
        if not isinstance(inner, str):
            yield from _lines(inner, docs, title=name)


def main(folder: str) -> int:
    """Write the list and the pages."""
    site = Path(folder)
    (site / "llms.txt").write_text(llms_txt(), encoding="utf-8")
    for page in pages(DOCS).values():
        to = site / page.path
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text((DOCS / page.path).read_text(encoding="utf-8"), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
