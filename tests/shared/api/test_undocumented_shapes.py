"""Shapes that the document doesn't show: each of these means the same to the client."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from shared.api import OutreachClient
from tests.shared.api.scripted_server import Answer, ScriptedServer

Json = dict[str, Any]

SEQUENCE = {"id": "sq_1", "name": "Founders", "status": "active", "steps": 4}
INBOX = {
    "id": "ib_1",
    "email": "mia@getacme.example",
    "health_score": 91.5,
    "daily_limit": 40,
    "status": "active",
}
STATS = {"group": "Founders", "id": "sq_1", "sends": 12, "replies": 3, "positive_replies": 2, "meetings": 1}
ENVELOPES = ("data", "bare", "named", "nested")
SPELLINGS: dict[str, dict[str, str]] = {
    "snake": {},
    "camel": {
        "health_score": "healthScore",
        "daily_limit": "dailyLimit",
        "positive_replies": "positiveReplies",
    },
    "synonyms": {
        "health_score": "health",
        "daily_limit": "daily_cap",
        "steps": "step_count",
        "sends": "sent",
        "replies": "reply_count",
        "positive_replies": "positive",
        "meetings": "meetings_booked",
    },
}
FORMS = list(product(ENVELOPES, SPELLINGS, (False, True)))


def enclosed(name: str, item: Json, envelope: str) -> Any:
    """A list of one, where a service might put it."""
    bodies: dict[str, Any] = {
        "data": {"data": [item]},
        "bare": [item],
        "named": {name: [item]},
        "nested": {"data": {name: [item]}},
    }
    return bodies[envelope]


def spelt(item: Json, spelling: str, *, as_text: bool) -> Json:
    """An object under the keys of a spelling, with unknown members, and its numbers perhaps as text."""
    keys = SPELLINGS[spelling]
    said = {
        keys.get(key, key): str(value) if as_text and isinstance(value, int | float) else value
        for key, value in item.items()
    }
    return said | {"x_region": "eu-1", "links": {"self": None}}


@pytest.mark.parametrize(("envelope", "spelling", "as_text"), FORMS)
async def test_lists_mean_the_same_in_every_form(
    server: ScriptedServer, client: OutreachClient, envelope: str, spelling: str, *, as_text: bool
) -> None:
    async def read(name: str, item: Json, call: Any) -> Any:
        body = enclosed(name, spelt(item, spelling, as_text=as_text), envelope)
        server.play = lambda _: Answer(body=body)
        [found] = await call()
        return found

    sequence = await read("sequences", SEQUENCE, client.list_sequences)
    assert (sequence.id, sequence.name, sequence.status, sequence.steps) == ("sq_1", "Founders", "active", 4)
    inbox = await read("inboxes", INBOX, client.list_inboxes)
    assert (inbox.email, inbox.health_score, inbox.daily_limit) == ("mia@getacme.example", 91.5, 40)
    row = await read("stats", STATS, client.stats)
    assert (row.sends, row.replies, row.positive_replies, row.meetings) == (12, 3, 2, 1)


async def test_missing_fields_are_unknown_and_never_zero(
    server: ScriptedServer, client: OutreachClient
) -> None:
    server.play = lambda _: Answer(body={"data": [{"id": "sq_1", "email": "mia@getacme.example"}]})
    [sequence] = await client.list_sequences()
    [inbox] = await client.list_inboxes()
    assert (sequence.steps, inbox.health_score, inbox.daily_limit) == (None, None, None)
    server.play = lambda _: Answer(body={"data": [{"group": "Founders", "sends": 1}]})
    [row] = await client.stats()
    assert (row.meetings, row.positive_replies) == (None, None)


@pytest.mark.parametrize("answer", [{"status": 204}, {"body": {}}, {"body": SEQUENCE}])
async def test_a_change_has_succeeded_with_a_body_or_without(
    server: ScriptedServer, client: OutreachClient, answer: Json
) -> None:
    server.play = lambda _: Answer(**answer)
    await client.pause_sequence("sq_1")
    await client.remove_lead("ld_1")
