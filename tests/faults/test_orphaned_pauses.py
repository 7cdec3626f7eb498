"""A timed pause that nobody can end any more delays no other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from sandbox.slack import seed
from shared.records import Timer
from shared.store.db.schema import jobs
from tests.kit.clock import moment
from tests.kit.service import Account
from tests.kit.team import HASTE, Installation, installed

NAME = "Manufacturing DACH"


@pytest.fixture
async def bot(tmp_path: Path, account: Account) -> AsyncIterator[Installation]:
    async with (
        installed(tmp_path, **account.environ) as opened,
        opened.inside(pace=HASTE),
    ):
        yield opened


async def end_pauses(bot: Installation) -> None:
    """Have every timed pause run out now; one of a second would on a busy machine run out too early."""
    assert bot.running is not None
    database = bot.running.store.database
    ended = sa.update(jobs).values(due_at=database.clock())
    await database.write(lambda tx: tx.execute(ended))


async def test_a_timed_pause_of_a_removed_workspace_delays_no_other_and_is_shown(
    bot: Installation, account: Account
) -> None:
    assert bot.running is not None
    long_ago = moment() - timedelta(hours=1)
    for number in range(3):
        orphan = Timer(key=f"sq_{number}", due_at=long_ago)
        await bot.running.store.set_timer("globex", orphan)
    unreadable = sa.update(jobs).where(jobs.c.key == "sq_0").values(payload="{no json", workspace="default")
    await bot.running.store.database.write(lambda tx: tx.execute(unreadable))
    await bot.say(f"pause {NAME} for 1h", user=seed.BEN.id)
    await bot.message(f"{NAME} paused until")
    await end_pauses(bot)
    await bot.message(f"{NAME} is sending again")
    await bot.message("The pause ended.")
    assert not await account.is_paused(NAME)
    status = await bot.ask("status", user=seed.BEN.id)
    assert "2 pauses in globex: not in the settings" in status.shown
