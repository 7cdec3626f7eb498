"""The pictures of the dashboard show the screens of this version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pictures.dashboard import DRAWN, filled_history, pictures

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.e2e
@pytest.mark.parametrize("name", DRAWN)
async def test_no_picture_of_the_dashboard_is_older_than_what_it_shows(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    async with filled_history() as history:
        for file, picture in (await pictures(history, [name])).items():
            assert (DOCS / file).read_text() == picture, "make docs"


@pytest.mark.lint
def test_each_picture_of_the_dashboard_is_drawn_by_make_docs() -> None:
    assert {file.stem for file in DOCS.glob("dashboard*.svg")} == set(DRAWN)
