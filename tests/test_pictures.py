"""The pictures of the dashboard show the screens of this version."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pictures.dashboard import pictures

pytestmark = pytest.mark.lint
DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.timeout(240)
async def test_no_picture_of_the_dashboard_is_older_than_what_it_shows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    drawn = await pictures()
    assert set(drawn) == {file.name for file in DOCS.glob("dashboard*.svg")}
    assert [name for name, picture in drawn.items() if (DOCS / name).read_text() != picture] == [], (
        "make docs"
    )
