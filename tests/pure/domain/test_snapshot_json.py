"""A snapshot as JSON and back, with what is in none of its readings."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from shared.api.models import Lead
from shared.domain.snapshot import Reading, Snapshot, from_json, to_json
from shared.records import Incident, InterestedReply

NOW = datetime(2026, 3, 2, 14, 32, tzinfo=UTC)
MAYA = Lead(id="ld_1", email="Maya@harbor.example", status="interested", first_name="Maya")
SVEN = Lead(id="ld_9", email="sven@helio.example", status="interested")
FIRED = Incident(
    id=1, workspace="acme", rule="bounces", sentence="pause when bounces rise", action="pause", subject="sq_1",
    label="Q3 CTOs", began_at=5.0, held_at=6.0, sequences=("sq_1",), note="9 %",
)  # fmt: skip


SNAPSHOT = Snapshot(
    workspace="acme",
    interested=Reading(value=(MAYA, SVEN), read_at=NOW, more=True),
    firings=(FIRED,),
)


def kept(snapshot: Snapshot) -> Snapshot:
    return from_json(to_json(snapshot))


def test_guardrails_and_leads_are_read_back_and_replies_are_not() -> None:
    reply = InterestedReply(email="maya@harbor.example", received_at=NOW)
    assert kept(replace(SNAPSHOT, replies=(reply,))) == SNAPSHOT
    assert kept(Snapshot(workspace="acme", pauses=())) == Snapshot(workspace="acme", pauses=())


def test_what_another_version_wrote_besides_is_left_out() -> None:
    document = json.loads(to_json(SNAPSHOT))
    document |= {"daily": {"days": []}}
    document["weather"] = {"value": None}
    document["firings"][0]["colour"] = "red"
    del document["replies"]
    assert from_json(json.dumps(document).encode()) == SNAPSHOT
