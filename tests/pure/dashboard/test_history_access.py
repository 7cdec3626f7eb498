"""What a dashboard that starts again takes over from the one before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from shared.api.models import Inbox
from shared.domain.snapshot import Reading
from shared.history.history import History
from shared.storage.database import parse_url
from tests.kit.snapshots import NOW, account
from tui.feed.history_access import HistoryAccess


def box(score: float) -> tuple[Inbox, ...]:
    return (Inbox(email="ann@useacme.example", health_score=score, daily_limit=40, status="active"),)


async def test_starting_again_changes_nothing(tmp_path: Path) -> None:
    url, later = parse_url(f"sqlite:///{tmp_path}/history.db"), NOW + timedelta(seconds=70)
    kept = replace(account(), inboxes=Reading(value=box(81.0), read_at=NOW))
    async with History(url) as before:
        await before.add(kept, now=NOW)
        # The last snapshot is kept once a minute: what was read since is in the samples only.
        fell = Reading(value=box(79.0), read_at=NOW + timedelta(seconds=20))
        await before.add(replace(kept, inboxes=fell), now=NOW + timedelta(seconds=20))
        assert [change.after for change in await before.transitions("acme")] == ["at risk"]
    async with History(url) as again:
        history = HistoryAccess(again, workspace="acme")
        past = await history.recall(now=later)
        assert past.snapshot
        assert await history.keep(past.snapshot, now=later) == ()
        read = replace(past.snapshot, inboxes=Reading(value=box(79.0), read_at=later))
        assert await history.keep(read, now=later) == (), "it was at risk before, and is"
