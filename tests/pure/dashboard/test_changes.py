"""What changed between two polls, in as few lines as tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from shared.domain.snapshot import Snapshot
from shared.history.history import History
from shared.storage.database import parse_url
from tests.kit.snapshots import NOW, account
from tui.feed.history_access import HistoryAccess

STEPS: Sequence[tuple[str, int, list[str]]] = (
    ("active", 6, []),
    ("resting", 6, ["6 inboxes stopped sending"]),
    ("warming", 6, ["6 inboxes sending again"]),
    ("active", 6, []),
    ("resting", 2, ["2 inboxes stopped sending"]),
    ("resting", 3, ["is resting"]),
)


def with_statuses(status: str, most: int, *, now: datetime) -> Snapshot:
    """All inboxes active, and as many of one domain in another status."""
    calm = account(now=now).inboxes
    boxes = [replace(box, status="active", health_score=90.0) for box in calm.value or ()]
    for place in [place for place, box in enumerate(boxes) if box.domain == "useacme.example"][:most]:
        boxes[place] = replace(boxes[place], status=status)
    return replace(account(now=now), inboxes=replace(calm, value=tuple(boxes)))


async def test_inboxes_of_a_domain_that_rest_together_are_one_change_whoever_saw_it(tmp_path: Path) -> None:
    async with History(parse_url(f"sqlite:///{tmp_path}/history.db")) as store:
        ours, other = (HistoryAccess(store, workspace="acme") for _ in range(2))
        await ours.recall(now=NOW)
        for minutes, (status, most, texts) in enumerate(STEPS):
            now = NOW + timedelta(minutes=minutes)
            snapshot = with_statuses(status, most, now=now)
            # Another dashboard writes first, so that ours learns of the change from the history.
            if minutes % 2:
                await other.keep(snapshot, now=now)
            lines = await ours.keep(snapshot, now=now)
            assert [line.text for line in lines] == texts
