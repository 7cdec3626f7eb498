"""A workspace's own fields may have any name and any value; none of them replaces a documented field."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api import Event, OutreachClient, Unreadable, decode, read_event
from tests.shared.api.scripted_server import Answer, ScriptedServer

LEAD = {
    "id": "ld_1",
    "email": "ada@x.io",
    "status": "active",
    "first_name": "Ada",
    "last_name": "King",
    "company": "Engines",
}
SEQUENCE = {"id": "sq_1", "name": "Q4", "status": "active", "steps": 4}
INBOX = {"id": "ib_1", "email": "a@b.io", "health_score": 91, "daily_limit": 40, "status": "active"}
ROW = {"group": "Q4", "sends": 9, "replies": 3, "positive_replies": 2, "meetings": 1}
PAYLOAD = {
    "event": "reply.interested",
    "lead": {"email": "ada@x.io", "first_name": "Ada", "company": "Engines"},
    "sequence": "Q4",
    "step": 2,
    "reply": "Yes.",
    "inbox": "a@b.io",
}
WORDS = [
    *("id", "email", "status", "first name", "last name", "company", "name", "steps", "health score", "daily limit"),
    *("sends", "replies", "positive replies", "meetings", "event", "lead", "sequence", "step", "reply", "inbox"),
]  # fmt: skip
OTHER_NAMES = [
    *("_id", "iD", "leadId", "lead_id", "lead.id", "attributes.id", "uid", "key", "mail", "state", "e-mail", "Title"),
    *("data", "leads", "next_cursor", "items", "attributes", "contact", "lead", "meta", "error", "has_more", "secret"),
    *("sent", "health", "limit", "type", "kind", "text", "mailbox", "campaign", "givenName", "surname", "employer"),
]  # fmt: skip
STYLES: dict[str, Callable[[list[str]], str]] = {
    "camel": lambda words: words[0] + "".join(word.title() for word in words[1:]),
    "kebab": "-".join,
    "pascal": lambda words: "".join(word.title() for word in words),
    "shout": lambda words: "_".join(words).upper(),
    "snake": "_".join,
}
NAMES = st.one_of(
    st.sampled_from(OTHER_NAMES),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(sorted(STYLES))).map(
        lambda chosen: STYLES[chosen[1]](chosen[0].split(" "))
    ),
)
SCALARS = st.sampled_from(["ld_evil", "evil@x.io", "paused", "Eve", 666, 6.6, True, None, ""])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
EXTRAS = st.dictionaries(NAMES, VALUES, max_size=6)

Wrap = Callable[[Any, str], Any]
ENVELOPES: dict[str, Wrap] = {
    "bare": lambda item, _: [item],
    "data": lambda item, _: {"data": [item], "next_cursor": "cu_2"},
    "own": lambda item, own: {own: [item]},
    "nested": lambda item, own: {"data": {own: [item]}},
}
envelopes = pytest.mark.parametrize("envelope", ENVELOPES)


def shuffled(data: st.DataObject, documented: dict[str, Any], extras: dict[str, Any]) -> dict[str, Any]:
    """Documented fields and the others, in any order of keys."""
    every = {**extras, **documented}
    return {key: every[key] for key in data.draw(st.permutations(list(every)))}


def read_as(model: Any, documented: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(model, name) for name in documented}


@envelopes
@given(st.data(), EXTRAS)
def test_documented_fields_of_a_lead_win(envelope: str, data: st.DataObject, extras: dict[str, Any]) -> None:
    body = ENVELOPES[envelope](shuffled(data, LEAD, extras), "leads")
    page = decode.leads(body)
    assert [read_as(lead, LEAD) for lead in page.items] == [LEAD]
    assert page.next_cursor == ("cu_2" if envelope == "data" else None)


@envelopes
@given(st.data(), EXTRAS)
def test_documented_words_of_other_objects_win(
    envelope: str, data: st.DataObject, extras: dict[str, Any]
) -> None:
    wrap = ENVELOPES[envelope]
    (sequence,) = decode.sequences(wrap(shuffled(data, SEQUENCE, extras), "sequences"))
    assert read_as(sequence, SEQUENCE) == SEQUENCE
    (inbox,) = decode.inboxes(wrap(shuffled(data, INBOX, extras), "inboxes"))
    assert read_as(inbox, INBOX) == INBOX
    counts = {name: value for name, value in ROW.items() if name != "group"}
    (row,) = decode.stats(wrap(shuffled(data, ROW, extras), "stats"))
    assert read_as(row, counts) == counts


@given(st.data(), EXTRAS, EXTRAS)
def test_documented_fields_of_a_delivery_win(
    data: st.DataObject, extras: dict[str, Any], of_lead: dict[str, Any]
) -> None:
    payload = shuffled(data, {**PAYLOAD, "lead": shuffled(data, PAYLOAD["lead"], of_lead)}, extras)  # type: ignore[arg-type]
    event = read_event(json.dumps(payload).encode())
    assert isinstance(event, Event)
    read = {name: getattr(event, name) for name in ("sequence", "step", "reply", "inbox")}
    lead = {name: getattr(event.lead, name) for name in ("email", "first_name", "company")}
    assert {"event": event.kind, "lead": lead, **read} == PAYLOAD


@given(st.data(), EXTRAS)
def test_documented_fields_of_other_answers_win(data: st.DataObject, extras: dict[str, Any]) -> None:
    made = shuffled(data, {"id": "wh_1", "secret": "right"}, extras)
    found = decode.subscription(made, url="https://x.io", events=())
    assert (found.id, found.secret) == ("wh_1", "right")
    skipped = {"email": "a@b.io", "reason": "duplicate"}
    answer = {
        "Skipped": 2,
        "ADDED": 7,
        "added": 1,
        "duplicates": [],
        "skipped": [shuffled(data, skipped, extras)],
    }
    result = decode.added(shuffled(data, {}, answer))
    assert (result.added, [(one.email, one.reason) for one in result.skipped]) == (
        1,
        [("a@b.io", "duplicate")],
    )


@given(st.data(), EXTRAS)
def test_the_order_of_keys_changes_nothing(data: st.DataObject, extras: dict[str, Any]) -> None:
    other = shuffled(data, {}, extras)
    for read in (decode.leads, decode.sequences, decode.inboxes, decode.stats):
        assert reading(read, [extras]) == reading(read, [other])
    assert read_event(json.dumps(extras).encode()) == read_event(json.dumps(other).encode())


def reading(read: Callable[[Any], Any], body: Any) -> Any:
    """What was read, or that it could not be."""
    try:
        return read(body)
    except Unreadable:
        return Unreadable


NO_ID = st.sampled_from([None, True, [], ["ld_1"], {}, {"is": "ld_1"}, "", float("nan"), float("inf")])


@given(st.data(), EXTRAS, NO_ID)
def test_an_id_of_the_wrong_type_is_an_error_and_no_other_field(
    data: st.DataObject, extras: dict[str, Any], wrong: Any
) -> None:
    item = shuffled(data, {**LEAD, "id": wrong}, extras)
    with pytest.raises(Unreadable, match="`id`"):
        decode.leads({"data": [item]})


@pytest.mark.parametrize("wrong", [None, True, [], {}, {"since": "today"}])
def test_another_value_of_the_wrong_type_is_unknown(wrong: Any) -> None:
    item = {**LEAD, "status": wrong, "Status": "interested", "state": "replied"}
    assert decode.leads({"data": [item]}).items[0].status is None
    inbox = {**INBOX, "health_score": wrong, "healthScore": 99, "health": 98}
    assert decode.inboxes([inbox])[0].health_score is None


@pytest.mark.parametrize(
    ("item", "status"),
    [
        ({"status": "active", "Status": "x", "state": "x", "attributes": {"status": "x"}}, "active"),
        ({"state": "active", "attributes": {"state": "x"}, "lead.status.x": "x"}, "active"),
    ],
)
def test_precedence_is_spelling_then_synonym(item: dict[str, Any], status: str) -> None:
    for keys in (list(item), list(reversed(item))):
        (lead,) = decode.leads([{"id": "ld_1", **{key: item[key] for key in keys}}]).items
        assert lead.status == status


def test_the_documented_list_wins_over_lists_beside_it() -> None:
    body = {"leads": [{"id": "ld_evil"}], "Data": [{"id": "ld_evil"}], "data": [{"id": "ld_1"}]}
    assert [lead.id for lead in decode.leads(body).items] == ["ld_1"]
    assert [one.id for one in decode.sequences({"sequences": None, "data": [{"id": "sq_1"}]})] == ["sq_1"]


@pytest.mark.parametrize(
    ("body", "cursor"),
    [
        (
            {"data": [], "next_cursor": "cu_2", "nextCursor": "x", "cursor": "x", "paging": {"next": "x"}},
            "cu_2",
        ),
        ({"data": [], "next_cursor": None, "nextCursor": "x"}, None),
        ({"data": [], "pagination": {"nextCursor": "cu_2"}}, "cu_2"),
        ({"data": [], "next_cursor": ""}, None),
        ([{"next_cursor": "x"}], None),
        ({"data": [], "next_cursor": "cu_2", "has_more": False}, None),
    ],
)
def test_the_documented_cursor_wins(body: Any, cursor: str | None) -> None:
    assert decode.next_cursor(body) == cursor


async def test_the_lead_that_is_removed_is_the_one_that_was_listed(
    client: OutreachClient, server: ScriptedServer
) -> None:
    listed = {"ID": "ld_other", "Id": "ld_other", "_id": "ld_other", **LEAD, "leadId": "ld_other"}
    server.play = lambda asked: (
        Answer(body={"data": [listed]}) if asked.method == "GET" else Answer(status=204)
    )
    page = await client.list_leads()
    await client.remove_lead(page.items[0].id)
    assert server.asked[-1].path == "/v1/leads/ld_1"
