"""Readiness tells the truth, and asking for it costs next to nothing."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa

from tests.bot.harness import BotHarness


@pytest.mark.parametrize("path", ["/readyz"])
async def test_a_flood_of_questions_writes_nothing_to_the_database(bot: BotHarness, path: str) -> None:
    assert bot.running is not None
    writes = 0

    def count(*called: Any) -> None:
        nonlocal writes
        writes += called[2].lstrip().upper().startswith(("INSERT", "UPDATE", "DELETE"))

    sa.event.listen(bot.running.store.database.engine, "before_cursor_execute", count)
    asked = 400
    answers = await asyncio.gather(*(bot.get(path) for _ in range(asked)))
    assert {status for status, _ in answers} == {200}
    assert writes < asked / 10
