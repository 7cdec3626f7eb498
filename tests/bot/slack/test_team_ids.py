"""Ids name their team everywhere but on the wire: what is sent and what comes in."""

from __future__ import annotations

import json
from typing import Any

from bot.blockkit.actions import write_value
from bot.interactions.team_apps import scope_ids
from bot.slack.web_api import on_the_wire
from shared.commands.channels import Unsubscribe


def test_outgoing_ids_have_no_team() -> None:
    body = {
        "channel": "T1/C1",
        "user": "T1/U1",
        "text": "<@T1/U1> in <#T1/C1>, <!subteam^T1/S1>; <@T2/U1> elsewhere",
        "blocks": [{"elements": [{"text": "<#T1/C1|sales>", "value": "subscribe all <#T1/C1>"}]}],
        "accessory": {"value": write_value(Unsubscribe(events=("reply.ooo",), channel="T1/C1"))},
        "view": {"private_metadata": json.dumps({"channel": "T1/C1"})},
        "limit": 5,
    }
    sent = on_the_wire(body, team="T1")
    assert (sent["channel"], sent["user"], sent["limit"]) == ("C1", "U1", 5)
    assert sent["text"] == "<@U1> in <#C1>, <!subteam^S1>; <@T2/U1> elsewhere"
    assert sent["blocks"][0]["elements"][0] == {"text": "<#C1|sales>", "value": "subscribe all <#C1>"}
    assert sent["accessory"]["value"] == write_value(Unsubscribe(events=("reply.ooo",), channel="C1"))
    assert json.loads(sent["view"]["private_metadata"]) == {"channel": "T1/C1"}
    assert body["channel"] == "T1/C1"


def test_incoming_ids_get_their_team_in_front() -> None:
    click: dict[str, Any] = {
        "user": {"id": "U1", "username": "ann"},
        "channel": {"id": "C1", "name": "sales"},
        "container": {"channel_id": "C1", "message_ts": "1.2"},
        "team": {"id": "T1"},
    }
    scope_ids(click, "T1")
    assert (click["user"]["id"], click["channel"]["id"]) == ("T1/U1", "T1/C1")
    assert click["container"]["channel_id"] == "T1/C1"
    assert click["team"] == {"id": "T1"}
    event: dict[str, Any] = {"event": {"user": "U1", "channel": "C1", "item": {"channel": "C2"}, "ts": "1.2"}}
    scope_ids(event, "T1")
    assert event == {
        "event": {"user": "T1/U1", "channel": "T1/C1", "item": {"channel": "T1/C2"}, "ts": "1.2"}
    }
    renamed: dict[str, Any] = {"event": {"channel": {"id": "C1", "name": "new"}}}
    scope_ids(renamed, "T1")
    assert renamed["event"]["channel"]["id"] == "T1/C1"
    command: dict[str, Any] = {"user_id": "U1", "channel_id": "C1", "text": "status"}
    scope_ids(command, "T1")
    scope_ids(command, "T1")
    assert command == {"user_id": "T1/U1", "channel_id": "T1/C1", "text": "status"}


def test_an_id_that_claims_another_team_becomes_one_of_the_own() -> None:
    forged: dict[str, Any] = {"user_id": "T2/U1", "channel_id": "T3/T2/C1", "channel": {"id": "T2/C1"}}
    scope_ids(forged, "T1")
    assert forged == {"user_id": "T1/U1", "channel_id": "T1/C1", "channel": {"id": "T1/C1"}}
