"""A snapshot as JSON and back, with what is in none of its readings."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from shared.api.models import Lead, StatsRow
from shared.domain.snapshot import (
    DailyCounts,
    Reading,
    Snapshot,
    delta_text,
    from_json,
    from_text,
    to_json,
    to_text,
    with_delta,
)
from shared.records.guardrails import Incident
from shared.records.replies import InterestedReply

NOW = datetime(2026, 3, 2, 14, 32, tzinfo=UTC)
MAYA = Lead(id="ld_1", email="Maya@harbor.example", status="interested", first_name="Maya")
SVEN = Lead(id="ld_9", email="sven@helio.example", status="interested")
DAILY = DailyCounts(
    days=((date(2026, 3, 1), StatsRow(group="day", sends=300)),),
    compared_at=NOW - timedelta(days=7),
    compared=StatsRow(group="compared", sends=280),
)
FIRED = Incident(
    id=1, workspace="acme", rule="bounces", sentence="pause when bounces rise", action="pause", subject="sq_1",
    label="Q3 CTOs", began_at=5.0, held_at=6.0, sequences=("sq_1",), note="9 %",
)  # fmt: skip


def claimed(by: str, *, email: str = "maya@harbor.example") -> InterestedReply:
    return InterestedReply(email=email, received_at=NOW, sequence="Q3 CTOs", claimed_by=by)


SNAPSHOT = Snapshot(
    workspace="acme",
    interested=Reading(value=(MAYA, SVEN), read_at=NOW, more=True),
    replies=(claimed("ann"), claimed("", email="sven@helio.example")),
    daily=DAILY,
    firings=(FIRED,),
)


def test_daily_counts_claims_and_guardrails_are_read_back() -> None:
    assert from_text("".join(to_text(SNAPSHOT)).encode()) == SNAPSHOT
    assert from_json(json.loads(json.dumps(to_json(SNAPSHOT)))) == SNAPSHOT


def test_only_replies_of_listed_leads_are_kept() -> None:
    stranger = claimed("bea", email="nobody@else.example")
    busy = replace(SNAPSHOT, replies=(*SNAPSHOT.replies, stranger))
    assert from_json(to_json(busy)) == SNAPSHOT


def test_a_delta_holds_what_is_different_and_nothing_else() -> None:
    after = replace(SNAPSHOT, replies=(claimed("bea"),), firings=())
    text = "".join(delta_text(SNAPSHOT, after))
    assert "daily" not in json.loads(text)
    assert with_delta(SNAPSHOT, text.encode()) == after


def test_a_snapshot_of_an_older_version_has_none_of_them() -> None:
    document = to_json(SNAPSHOT)
    for name in ("daily", "replies", "firings"):
        del document[name]
    assert from_json(document).daily == DailyCounts()
