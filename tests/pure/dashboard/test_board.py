"""What the board says of a snapshot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from shared.api import decode
from shared.api.models import Inbox, Sequence, StatsRow
from shared.domain.snapshot import Reading, Snapshot
from tests.kit.snapshots import NOW, account, board_of
from tui.entrypoints.once import as_data
from tui.model.board import compose
from tui.model.columns import SEQUENCES, Arrangement
from tui.model.facts import sequence_card
from tui.model.frame import Frame
from tui.model.happened import Mark, MarkKind
from tui.model.lines import Freshness, Stamp


def inboxes(*boxes: Inbox) -> Snapshot:
    return replace(account(), inboxes=_read(boxes))


def _read(value: Any) -> Reading[Any]:
    return Reading(value=value, read_at=NOW)


def test_lines_that_say_the_same_are_the_same_objects() -> None:
    before = board_of(account(inboxes=12))
    boxes = list(account(inboxes=12).inboxes.value or ())
    boxes[3] = replace(boxes[3], health_score=12.0)
    after = board_of(replace(account(inboxes=12), inboxes=_read(tuple(boxes))), before=before)
    old = {line.key: line for line in before.inboxes}
    assert [line.key for line in after.inboxes if line is not old[line.key]] == [boxes[3].email]


def test_a_board_after_another_says_what_one_made_anew_says() -> None:
    first = account(inboxes=12)
    before = board_of(first)
    assert board_of(first, before=before).lines is before.lines, "nothing was read again"
    left = replace(first, inboxes=_read((first.inboxes.value or ())[1:9]))
    fewer = board_of(left, before=before)
    assert fewer.inboxes_by_domain == board_of(left).inboxes_by_domain
    assert (fewer.inboxes, fewer.verdict) == (board_of(left).inboxes, board_of(left).verdict)
    trends = {box.email: (50.0, 60.0, 70.0) for box in left.inboxes.value or ()}
    drawn = board_of(left, before=fewer, trends=trends)
    assert {line.trend for line in drawn.inboxes} == {(50.0, 60.0, 70.0)}
    assert board_of(first, before=fewer).inboxes == before.inboxes


def test_counts_of_a_shared_sequence_name_belong_to_neither() -> None:
    twins = tuple(Sequence(id=f"sq_{n}", name="Webinar", status="active", steps=2) for n in (1, 2))
    rows = tuple(StatsRow(group="Webinar", sends=n) for n in (10, 20))
    stats = {**account().stats, "sequence": Reading(value=rows, read_at=NOW)}
    board = board_of(account(sequences=Reading(value=twins, read_at=NOW), stats=stats))
    # Rows with a name and no id can't be told apart, and a wrong count is worse than none.
    assert [line.stats for line in board.sequences] == [None, None]


def test_sequences_of_one_name_keep_their_own_counts_by_id() -> None:
    counts = ({"sends": 900, "replies": 90}, {"sends": 400, "replies": 4})
    body = [{"group": "Spring", "id": f"sq_{n}", **one} for n, one in enumerate(counts, start=1)]
    found = decode.stats({"data": body})
    twins = tuple(Sequence(id=key, name="Spring", status="active", steps=3) for key in ("sq_1", "sq_2"))
    snapshot = account(sequences=Reading(value=twins, read_at=NOW))
    rows = Reading(value=found, read_at=NOW)
    board = board_of(replace(snapshot, stats={**snapshot.stats, "sequence": rows}))
    assert [(line.key, line.stats and line.stats.sends) for line in board.sequences] == [
        ("sq_1", 900),
        ("sq_2", 400),
    ]
    assert [line.key for line in board.stats_by("sequence")] == ["sq_1", "sq_2"]
    best = Arrangement(order="reply-rate", descending=True).of(board.sequences, SEQUENCES)
    assert [line.key for line in best] == ["sq_1", "sq_2"]
    assert [line.label for line in board.sequences] == ["Spring (sq_1)", "Spring (sq_2)"]
    changed = Mark(at=NOW, kind=MarkKind.PAUSED, subject="Spring", text="paused", about="sq_2")
    frame = Frame(board=board, now=NOW, changes=(changed,))
    assert [bool(sequence_card(frame, line).footer) for line in board.sequences] == [False, True]
    assert [one["id"] for one in as_data(board)["stats_sequence"]] == [
        "sq_1",
        "sq_2",
    ]


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
