"""What the board says of a snapshot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from shared.api.models import Sequence, StatsRow
from shared.domain.snapshot import Reading
from tests.kit.snapshots import NOW, account, board_of, reading
from tui.entrypoints.once import as_data
from tui.model.board import compose
from tui.model.lines import Freshness, Stamp


def test_lines_that_say_the_same_are_the_same_objects() -> None:
    before = board_of(account(inboxes=12))
    boxes = list(account(inboxes=12).inboxes.value or ())
    boxes[3] = replace(boxes[3], health_score=12.0)
    after = board_of(replace(account(inboxes=12), inboxes=reading(tuple(boxes))), before=before)
    old = {line.key: line for line in before.inboxes}
    assert [line.key for line in after.inboxes if line is not old[line.key]] == [boxes[3].email]


def test_a_board_after_another_says_what_one_made_anew_says() -> None:
    first = account(inboxes=12)
    before = board_of(first)
    assert board_of(first, before=before).lines is before.lines, "nothing was read again"
    left = replace(first, inboxes=reading((first.inboxes.value or ())[1:9]))
    fewer = board_of(left, before=before)
    assert fewer.inboxes_by_domain == board_of(left).inboxes_by_domain
    assert (fewer.inboxes, fewer.verdict) == (board_of(left).inboxes, board_of(left).verdict)
    trends = {box.email: (50.0, 60.0, 70.0) for box in left.inboxes.value or ()}
    drawn = board_of(left, before=fewer, trends=trends)
    assert {line.trend for line in drawn.inboxes} == {(50.0, 60.0, 70.0)}
    assert board_of(first, before=fewer).inboxes == before.inboxes


@pytest.mark.parametrize("ids", [("sq_1", "sq_2"), (None, None)])
def test_sequences_of_one_name_have_their_own_counts_by_id_and_else_none(ids: tuple[str | None, ...]) -> None:
    twins = tuple(Sequence(id=f"sq_{n}", name="Webinar", status="active", steps=2) for n in (1, 2))
    rows = tuple(StatsRow(group="Webinar", id=key, sends=900) for key in ids)
    stats = {**account().stats, "sequence": reading(rows)}
    board = board_of(account(sequences=reading(twins), stats=stats))
    # Rows with a name and no id can't be told apart, and a wrong count is worse than none.
    assert [line.stats and line.stats.id for line in board.sequences] == list(ids)
    assert [line.key for line in board.stats_by("sequence")] == [key or "Webinar" for key in ids]
    assert [one["id"] for one in as_data(board)["stats_sequence"]] == list(ids)


def test_an_age_is_late_after_two_intervals_and_stale_after_five_or_where_reading_fails() -> None:
    def freshness(seconds: float, *, failing_for: float | None = None) -> Freshness:
        now, since = NOW + timedelta(seconds=seconds), None
        if failing_for is not None:
            since = now - timedelta(seconds=failing_for)
        stamp = Stamp(Reading(value=1, read_at=NOW, failed_since=since), interval=30)
        return stamp.freshness(now)

    fresh, late, stale = Freshness.FRESH, Freshness.LATE, Freshness.VERY_LATE
    assert [freshness(one) for one in (-9, 65, 66, 155, 156)] == [fresh, fresh, late, late, stale]
    assert [freshness(9, failing_for=one) for one in (20, 20.5)] == [fresh, late]
    board = compose(account(), intervals={"inboxes": 60})
    ages = [board.freshness("inboxes", NOW + timedelta(seconds=one)) for one in (125, 125.5)]
    assert ages == [fresh, late]
    assert board.freshness("sequences", NOW + timedelta(days=9)) is fresh, "it is read at no interval"
    stamp = board.stamps["inboxes"]
    assert [stamp.words(NOW + timedelta(seconds=one)) for one in (0, 9, 200, 900)] == [
        "now", "9 s ago", "late: 3 min ago", "stale: 15 min ago"
    ]  # fmt: skip
    assert (Stamp(Reading(), interval=1).words(NOW), Stamp(Reading(error="no"), interval=1).words(NOW)) == (
        "reading…",
        "no response yet",
    )
    assert (stamp.counted(1240), Stamp(Reading(more=True), interval=1).counted(50)) == ("1,240", "50+")
