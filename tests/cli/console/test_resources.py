"""Records that can't be opened say why, whichever part of them is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.console.resources import open_records
from shared.records.records import RecordsUnavailable
from shared.settings import load
from shared.store.history import Records


async def test_every_part_of_records_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = load(environ={"OUTREACH_DATABASE_URL": f"sqlite:///{tmp_path}/file/bot.db"})
    parts = [name for name, member in vars(Records).items() if isinstance(member, property)]
    assert {"guardrails", "changes", "turns", "domains"} <= set(parts)
    async with open_records(settings) as records:
        for name in parts:
            with pytest.raises(RecordsUnavailable, match="can't be opened"):
                await getattr(records, name).read()
