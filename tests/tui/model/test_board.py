"""What the board says of a snapshot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from shared.api import decode
from shared.api.models import Inbox, Sequence, StatsRow
from shared.domain.card import Tone
from shared.domain.snapshot import Reading, Snapshot
from shared.domain.workspace_verdict import InboxCounts
from shared.history.measurements import measures
from shared.records.replies import InterestedReply
from tests.tui.accounts import NOW, account, board_of
from tui.entrypoints.once import as_data
from tui.model.board import Figure
from tui.model.changes import between, tone_of_change
from tui.model.columns import SEQUENCES, Arrangement
from tui.model.facts import sequence_card
from tui.model.frame import Frame
from tui.model.lines import ChangeLine, Freshness, PageRef


def inboxes(*boxes: Inbox) -> Snapshot:
    return replace(account(), inboxes=_read(boxes))


def _read(value: Any) -> Reading[Any]:
    return Reading(value=value, read_at=NOW)


def test_every_inbox_is_counted_once() -> None:
    board = board_of(account(inboxes=40))
    assert board.verdict.counts.all == 40
    assert sum(domain.inboxes for domain in board.domains) == 40


def test_unknown_health_is_never_good() -> None:
    board = board_of(inboxes(Inbox(email="a@x.example", status="active")))
    assert board.verdict.tone is Tone.UNKNOWN
    assert board.verdict.counts == InboxCounts(unknown=1)
    assert board.inboxes[0].tone is Tone.UNKNOWN


def test_nothing_read_yet_is_unknown_too() -> None:
    board = board_of(Snapshot(workspace="acme"))
    assert board.verdict.tone is Tone.UNKNOWN
    assert [figure.value for figure in board.figures] == [None] * 4


def test_lines_that_say_the_same_are_the_same_objects() -> None:
    before = board_of(account(inboxes=12))
    boxes = list(account(inboxes=12).inboxes.value or ())
    boxes[3] = replace(boxes[3], health_score=12.0)
    after = board_of(replace(account(inboxes=12), inboxes=_read(tuple(boxes))), before=before)
    old = {line.key: line for line in before.inboxes}
    assert [line.key for line in after.inboxes if line is not old[line.key]] == [boxes[3].email]


def test_figures_carry_rate_and_change() -> None:
    sends, replies, *_ = board_of(account()).figures
    assert sends.value == 4 * 4_000 + 731 * 6
    assert sends.rate == ""
    assert replies.rate
    assert replies.change.startswith("▼")


def test_a_figure_of_few_sends_shows_its_margin() -> None:
    few = Figure(label="Replies", metric="replies", value=3, today=0, sends=40)
    small = Figure(label="Replies", metric="replies", value=15, today=1, sends=210)
    large = Figure(label="Replies", metric="replies", value=900, today=30, sends=21_000)
    assert [few.rate, small.rate, large.rate] == ["too few", "7.1% ± 4.3", "4.3%"]


def test_age_makes_late_and_then_very_late() -> None:
    snapshot = account()
    stamp = board_of(snapshot).stamps["sequences"]
    assert snapshot.sequences.read_at

    def after(seconds: float) -> tuple[Freshness, str]:
        assert snapshot.sequences.read_at
        now = snapshot.sequences.read_at + timedelta(seconds=seconds)
        return stamp.freshness(now), stamp.words(now)

    assert after(0.4) == (Freshness.FRESH, "now")
    assert after(12) == (Freshness.FRESH, "12 s ago")
    assert after(70) == (Freshness.LATE, "late: 1 min ago")
    assert after(400) == (Freshness.VERY_LATE, "stale: 6 min ago")
    assert after(-3600) == (Freshness.FRESH, "now"), "a clock that steps back makes nothing late"


def test_changes_are_described_in_words() -> None:
    before = account()
    sequences = [*(before.sequences.value or ())]
    sequences[0] = replace(sequences[0], status="paused")
    boxes = [*(before.inboxes.value or ())]
    boxes[1] = replace(boxes[1], status="resting", health_score=40.0)
    after = replace(before, sequences=_read(tuple(sequences)), inboxes=_read(tuple(boxes[:-1])))
    assert before.inboxes.read_at
    texts = [f"{line.subject} {line.text}" for line in between(before, after, at=before.inboxes.read_at)]
    assert texts == [
        f"{boxes[1].email} active → resting",
        "SaaS founders – Europe is paused",
        f"{boxes[1].email} health 73 → 40",
        f"{boxes[-1].email} is no longer connected",
    ]


def test_the_first_read_is_no_change() -> None:
    after = account()
    assert after.inboxes.read_at
    assert between(Snapshot(workspace="acme"), after, at=after.inboxes.read_at) == ()


def test_a_sequence_of_unknown_status_is_unknown() -> None:
    strange = Sequence(id="sq_x", name="X", status="archived", steps=None)
    board = board_of(replace(account(), sequences=_read((strange,))))
    assert board.sequences[0].tone is Tone.UNKNOWN


def test_counts_of_a_shared_sequence_name_belong_to_neither() -> None:
    twins = tuple(Sequence(id=f"sq_{n}", name="Webinar", status="active", steps=2) for n in (1, 2))
    rows = tuple(StatsRow(group="Webinar", sends=n) for n in (10, 20))
    stats = {**account().stats, "sequence": Reading(value=rows, read_at=NOW)}
    board = board_of(account(sequences=Reading(value=twins, read_at=NOW), stats=stats))
    assert [line.stats for line in board.sequences] == [None, None]


def test_interested_leads_come_by_the_time_of_their_reply_where_the_bot_has_recorded_it() -> None:
    replies = (
        InterestedReply(email="LUCÍA@indigo.example", received_at=NOW, sequence="Q3", claimed_by="ann"),
        InterestedReply(email="sven@helio.example", received_at=NOW - timedelta(hours=1)),
    )
    lines = board_of(replace(account(), replies=replies)).interested
    assert [(line.name.split()[0], line.reply and line.reply.claimed_by) for line in lines] == [
        ("Lucía", "ann"),
        ("Sven", ""),
        ("Maya", None),
    ]


def test_a_page_of_a_longer_list_is_counted_as_such() -> None:
    snapshot = account()
    page = replace(snapshot.interested, more=True)
    stamp = board_of(replace(snapshot, interested=page)).stamps["interested"]
    assert (stamp.counted(50), board_of(snapshot).stamps["interested"].counted(50)) == ("50+", "50")


def test_an_inbox_that_warms_up_after_its_rest_is_an_improvement() -> None:
    assert tone_of_change("resting", "warming") is Tone.GOOD
    assert tone_of_change("active", "resting") is Tone.WARN
    assert tone_of_change("bad", "at risk") is Tone.GOOD
    assert tone_of_change("healthy", "at risk") is Tone.WARN


def test_a_stale_healthy_reading_becomes_unknown() -> None:
    board = board_of(inboxes(Inbox(email="a@x.example", status="active", health_score=95.0)))
    assert board.verdict_at(NOW).tone is Tone.GOOD
    late = board.verdict_at(NOW + timedelta(minutes=10))
    assert late.tone is Tone.UNKNOWN
    assert late.text == "Unknown since 14:32: the only inbox was healthy"


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
    assert [line.key for line in board.stats["sequence"]] == ["sq_1", "sq_2"]
    best = Arrangement(order="reply-rate", descending=True).of(board.sequences, SEQUENCES)
    assert [line.key for line in best] == ["sq_1", "sq_2"]
    assert [line.label for line in board.sequences] == ["Spring (sq_1)", "Spring (sq_2)"]
    changed = ChangeLine(NOW, "Spring", "is paused", ref=PageRef(kind="sequence", key="sq_2"))
    frame = Frame(board=board, now=NOW, changes=(changed,))
    assert [bool(sequence_card(frame, line).footer) for line in board.sequences] == [False, True]
    assert [one["id"] for one in as_data(board.snapshot, board)["stats_sequence"]] == [
        "sq_1",
        "sq_2",
    ]
    series = measures({"stats": rows})
    assert series["sequence", "sq_1", "sends"] == 900
    assert series["sequence", "sq_2", "sends"] == 400
