"""What is read of any answer: every form that the document leaves open means the same, and nothing is guessed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api import AddResult, OutreachClient, Unreadable, decode, values
from shared.api.models import Inbox, Lead, Sequence, StatsRow
from tests.client.scripted_server import Answer, ScriptedServer

Json = dict[str, Any]

LEAD = {"id": "ld_1", "email": "ada@x.io", "status": "active", "first_name": "Ada", "last_name": "King", "company": "Engines"}  # fmt: skip
SEQUENCE = {"id": "sq_1", "name": "Q4", "status": "active", "steps": 4}
INBOX = {"id": "ib_1", "email": "a@b.io", "health_score": 91.5, "daily_limit": 40, "status": "active"}
ROW = {"group": "Q4", "id": "sq_1", "sends": 9, "replies": 3, "positive_replies": 2, "meetings": 1}
READS: dict[str, tuple[Callable[[Any], Any], Json]] = {
    "leads": (lambda body: decode.leads(body).items, LEAD),
    "sequences": (decode.sequences, SEQUENCE),
    "inboxes": (decode.inboxes, INBOX),
    "stats": (decode.stats, ROW),
}
ENVELOPES: dict[str, Callable[[Any, str], Any]] = {
    "bare": lambda item, _: [item],
    "data": lambda item, _: {"data": [item], "next_cursor": None},
    "own": lambda item, own: {own: [item]},
    "nested": lambda item, own: {"data": {own: [item]}},
}
SPELLINGS: dict[str, dict[str, str]] = {
    "snake": {},
    "camel": {
        "health_score": "healthScore", "daily_limit": "dailyLimit", "positive_replies": "positiveReplies",
        "first_name": "firstName", "last_name": "lastName",
    },
    "synonyms": {
        "health_score": "health", "daily_limit": "daily_cap", "steps": "step_count", "name": "title",
        "sends": "sent", "replies": "reply_count", "positive_replies": "positive", "meetings": "meetings_booked",
        "first_name": "given_name", "last_name": "surname", "company": "companyName", "email": "emailAddress",
    },
}  # fmt: skip


def as_read(model: Any, documented: Json) -> Json:
    return {name: getattr(model, name) for name in documented}


@pytest.mark.parametrize(("envelope", "spelling", "as_text"), product(ENVELOPES, SPELLINGS, (False, True)))
async def test_lists_mean_the_same_in_every_form(
    server: ScriptedServer, client: OutreachClient, envelope: str, spelling: str, *, as_text: bool
) -> None:
    async def leads() -> tuple[Lead, ...]:
        return (await client.list_leads()).items

    calls: tuple[Any, ...] = (leads, client.list_sequences, client.list_inboxes, client.stats)
    for call, (own, (_, item)) in zip(calls, READS.items(), strict=True):
        keys = SPELLINGS[spelling]
        spelt = {
            keys.get(key, key): str(value) if as_text and isinstance(value, int | float) else value
            for key, value in item.items()
        }
        sent = spelt | {"x_region": "eu-1", "links": {"self": None}}
        server.script = [Answer(body=ENVELOPES[envelope](sent, own))]
        (found,) = await call()
        assert as_read(found, item) == item
        assert found.raw == sent, "nothing that came is thrown away"


@pytest.mark.parametrize(
    ("read", "item", "meaning"),
    [
        (decode.sequences, {"sequenceId": 7, "label": "Q4", "steps": [{}, {}]}, Sequence(id="7", name="Q4", steps=2)),
        (decode.sequences, {"id": "sq_1", "status": " ARCHIVED "}, Sequence(id="sq_1", status="archived")),
        (decode.sequences, {"id": "sq_1", "touches": 4}, Sequence(id="sq_1")),
        (decode.inboxes, {"email": "a@b.io", "health": {"score": "91%"}}, Inbox(email="a@b.io", health_score=91)),
        (decode.inboxes, {"address": "a@b.io", "dailyLimit": "1,250"}, Inbox(email="a@b.io", daily_limit=1250)),
        (decode.inboxes, {"id": "ib_1", "health": None}, Inbox(email="ib_1", id="ib_1")),
        (decode.stats, {"group": "Q4", "sends": None, "replies": 0}, StatsRow(group="Q4", replies=0)),
    ],
)  # fmt: skip
def test_what_is_missing_or_odd_is_unknown_and_never_zero(
    read: Callable[[Any], Any], item: Json, meaning: Any
) -> None:
    assert read([item]) == (meaning,)
    assert Inbox(email="ib_1").domain == ""


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (91, 91), (91.5, 91.5), ("91", 91), ("91.5", 91.5), ("91%", 91), (" 91 % ", 91), ("1,250", 1250), ("1,250,000.5", 1250000.5),
        (True, None), (None, None), ("", None), ("good", None), ("9" * 5000, None), (float("nan"), None), ("inf", None),
        (float("inf"), None), (10**400, None), ("1e5", 100000), ("1e999", None), ([], None), ({}, None), ("1,25", None), ("--1", None),
    ],
)  # fmt: skip
def test_a_number_is_read_from_any_type_or_is_unknown(given: Any, number: float | None) -> None:
    assert values.as_number(given) == number


@pytest.mark.parametrize(
    "body",
    [
        {"sequences": None, "data": [{"id": "sq_1"}]},
        {"sequences": [{"id": "sq_evil"}], "Data": [{"id": "sq_evil"}], "data": [{"id": "sq_1"}]},
        {"campaigns": [{"id": "sq_1"}]},
        {"data": [{"id": "sq_1"}], "meta": {"count": 1}},
    ],
)
def test_the_documented_list_wins_over_lists_beside_it(body: Any) -> None:
    assert [one.id for one in decode.sequences(body)] == ["sq_1"]
    assert decode.sequences({"data": None}) == ()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ([{"name": "A", "color": "red"}], ["GET /sequences", "`id`", "name, color", '[fields.sequence]: id = "path.to.it"']),
        ({"sequence_list": 7, "ok": True}, ["GET /sequences", "no list was found", "sequence_list, ok", '[fields.sequence]: list = "']),
        ({}, ["no list was found", "an empty object"]),
        (None, ["no list was found", "null"]),
        ("sequences", ["no list was found", "a string"]),
        ([{"id": "sq_1"}, {}], ["`id`", "an empty object"]),
        ({"error": {"code": "oops", "message": "no"}}, ["no list was found", "error"]),
    ],
)  # fmt: skip
def test_an_unreadable_response_names_endpoint_field_keys_and_fix(body: Any, text: list[str]) -> None:
    with pytest.raises(Unreadable) as caught:
        decode.sequences(body)
    assert [part for part in text if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("item", "path", "score"),
    [
        ({"health": 1, "odd": {"a": {"b": 91}}}, "odd.a.b", 91),
        ({"health": 1, "dailyScores": [{"value": 80}, {"value": 91}]}, "daily_scores.1.value", 91),
        ({"health": 91}, "metrics.health", 91),
    ],
)
def test_a_fields_line_beats_the_names_unless_it_finds_nothing(item: Json, path: str, score: int) -> None:
    (inbox,) = decode.inboxes([{"email": "a@b.io", **item}], fields={"health_score": path})
    assert inbox.health_score == score


def test_a_fields_line_finds_a_list_and_the_name_of_a_row() -> None:
    body = {"rows_of": {"all": [{"what": "Q4", "sends": 3}]}}
    (row,) = decode.stats(body, fields={"list": "rows_of.all", "group": "what"})
    assert (row.group, row.sends) == ("Q4", 3)


@pytest.mark.parametrize(
    ("row", "group_by", "group", "key"),
    [
        ({"sequence": {"id": "sq_1", "name": "Q4"}}, "sequence", "Q4", "sq_1"),
        ({"group": "sequence", "name": "Q4"}, "sequence", "Q4", None),
        ({"group": "Q4", "id": "sq_1"}, "sequence", "Q4", "sq_1"),
        ({"group": {"value": 2}}, "step", "2", None),
        ({"step": 2, "sequence_id": "sq_1"}, "step", "2", None),
        ({"variant": "B"}, "variant", "B", None),
        ({"inbox_email": "a@b.io", "inbox_id": "ib_1"}, "inbox", "a@b.io", "ib_1"),
        ({"name": "Q4", "sequence_id": "sq_1"}, "sequence", "Q4", "sq_1"),
        ({"sequence_id": "sq_1"}, "sequence", "sq_1", "sq_1"),
    ],
)
def test_a_row_of_stats_is_called_by_its_name_and_keeps_its_id(
    row: Json, group_by: str, group: str, key: str | None
) -> None:
    (found,) = decode.stats({"data": [{**row, "sends": 1}]}, group_by=group_by)
    assert (found.group, found.id, found.sends, found.replies) == (group, key, 1, None)


@pytest.mark.parametrize(
    ("skipped", "read"),
    [
        ([], []),
        (None, []),
        ([{"email": "a@b.io", "reason": "duplicate"}], [("a@b.io", "duplicate")]),
        ([{"lead": {"email": "a@b.io"}, "error": {"code": "blocklisted"}}], [("a@b.io", "blocklisted")]),
        (["a@b.io"], [("a@b.io", None)]),
    ],
)
def test_what_was_skipped_is_read(skipped: Any, read: list[tuple[str | None, str | None]]) -> None:
    for result in (
        decode.added({"added": "3", "skipped": skipped}),
        decode.added({"data": {"added": [{}] * 3, "skipped": skipped}}),
    ):
        assert (result.added, [(one.email, one.reason) for one in result.skipped]) == (3, read)


@pytest.mark.parametrize("body", [None, "ok", [], 7, {}])
def test_an_answer_that_counts_nothing_leaves_the_count_unknown(body: Any) -> None:
    assert decode.added(body) == AddResult(added=None)


@pytest.mark.parametrize(
    "body",
    [
        {"id": "wh_1", "secret": "s"},
        {"data": {"id": "wh_1", "signing_secret": "s"}},
        {"webhook": {"id": "wh_1", "secret": "s"}},
        {"secret": "s"},
    ],
)
def test_a_secret_is_found_kept_without_an_id_and_never_shown(body: Any) -> None:
    made = decode.subscription(body, url="https://x.io", events=("lead.replied",))
    assert (made.id, made.secret) == ("wh_1" if len(str(body)) > 20 else "", "s")
    assert "secret" not in repr(made)


OTHERS: Json = {
    "Id": "evil",
    "leadId": "evil",
    "e-mail": "evil@x.io",
    "Email": "evil@x.io",
    "STATUS": "paused",
    "state": "paused",
}
OTHERS |= {
    "givenName": "Eve",
    "surname": "Evil",
    "employer": "Evil",
    "title": "Evil",
    "label": "Evil",
    "step_count": 6,
}
OTHERS |= {
    "health": 6,
    "limit": 6,
    "mailbox": "evil@x.io",
    "sent": 6,
    "interested": 6,
    "data": [{"id": "evil"}],
}


@pytest.mark.parametrize(("own", "envelope"), product(READS, ENVELOPES))
def test_no_field_of_a_workspaces_own_replaces_a_documented_one(own: str, envelope: str) -> None:
    read, documented = READS[own]
    # Whatever the order of the keys is.
    for item in ({**OTHERS, **documented}, {**documented, **OTHERS}):
        (found,) = read(ENVELOPES[envelope](item, own))
        assert as_read(found, documented) == documented


SECRETS = ("ada@x.io", "Top secret", "sq_1a2b", "42", "Berlin")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8) | st.sampled_from(SECRETS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "id", "email", "group", "leads", "raw"]) | st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_no_json_at_all_brings_the_decoder_down(body: Any) -> None:
    for read, _ in READS.values():
        with contextlib.suppress(Unreadable):
            assert read(body) is not None
    with contextlib.suppress(Unreadable):
        decode.subscription(body, url="https://x.io", events=())
    assert decode.added(body).repeated is False
    assert decode.changed_sequence(body, id="sq_1", status="paused").id == "sq_1"
