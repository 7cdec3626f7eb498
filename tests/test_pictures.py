"""The pictures of the documents show the screens, cards and pages of this version."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.test_docs import PAGES
from tools.pictures.__main__ import FINGERPRINTS
from tools.pictures.dashboard import DRAWN, filled_history, pictures
from tools.pictures.slack import SHOWN, fingerprint

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.e2e
@pytest.mark.timeout(300)
async def test_no_picture_of_the_dashboard_is_older_than_what_it_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    async with filled_history() as history:
        drawn = await pictures(history, DRAWN)
    # Only names are compared: pytest takes half a minute for the difference of two pictures.
    assert [name for name, picture in drawn.items() if (DOCS / name).read_text() != picture] == [], (
        "make docs"
    )


@pytest.mark.lint
def test_each_picture_is_drawn_by_make_docs_and_shown_on_a_page() -> None:
    files = {file.name for ending in ("svg", "png") for file in DOCS.glob(f"*.{ending}")}
    assert files == {f"{name}.svg" for name in DRAWN} | set(SHOWN)
    shown = re.findall(r"!\[[^\]]+\]\((?:docs/)?([\w-]+\.\w+)\)", "".join(page.read_text() for page in PAGES))
    assert set(shown) == files


@pytest.mark.lint
@pytest.mark.parametrize("file", SHOWN)
def test_no_picture_of_slack_or_the_report_is_older_than_what_it_shows(file: str) -> None:
    kept = json.loads((DOCS / FINGERPRINTS).read_text())
    assert kept[file] == fingerprint(SHOWN[file]()), "make docs"


@pytest.mark.lint
def test_every_picture_of_a_page_has_a_text() -> None:
    assert [page.name for page in PAGES if re.search(r"!\[\s*\]\(", page.read_text())] == []
