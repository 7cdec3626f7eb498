"""Single shapes and single values: what is read, what stays unknown, and what an error tells."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.api import AddResult, Unreadable, decode, values
from shared.api.models import Inbox, Lead, Sequence, Skipped, StatsRow
from shared.api.shapes import shape


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
    ("given", "count"),
    [(4, 4), ("4", 4), (4.0, 4), ("4.0", 4), (4.5, None), ([{}, {}], 2), ([], 0), (False, None)],
)
def test_a_count_is_whole_or_as_long_as_its_list(given: Any, count: int | None) -> None:
    assert values.as_count(given) == count


@given(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.lists(st.integers())
)
def test_no_value_brings_a_reading_down(value: Any) -> None:
    text = values.as_text(value)
    assert text is None or text.encode()
    assert values.as_word(value) is None or text
    values.as_number(value)
    values.as_count(value)


def test_an_unknown_status_is_kept_in_lower_case() -> None:
    assert decode.sequences([{"id": "sq_1", "status": " ARCHIVED "}])[0].status == "archived"


def test_nothing_that_came_is_thrown_away() -> None:
    item = {"id": "sq_1", "moon": {"phase": [1, 2]}}
    assert decode.sequences({"data": [item]})[0].raw == item


def test_an_identifier_may_be_a_number() -> None:
    assert [sequence.id for sequence in decode.sequences([{"id": 7}])] == ["7"]


def test_an_inbox_without_address_is_known_by_its_id_and_has_no_domain() -> None:
    inbox = decode.inboxes([{"id": "ib_1", "health": 91}])[0]
    assert (inbox.email, inbox.id, inbox.domain) == ("ib_1", "ib_1", "")


def test_a_list_is_bare_or_under_data_or_under_its_own_name() -> None:
    for body in (
        [{"id": "sq_1"}],
        {"data": [{"id": "sq_1"}], "meta": {"count": 1}},
        {"sequences": [{"id": "sq_1"}]},
        {"data": {"sequences": [{"id": "sq_1"}]}},
        {"campaigns": [{"id": "sq_1"}]},
        {"sequences": None, "data": [{"id": "sq_1"}]},
        {"sequences": [{"id": "sq_evil"}], "data": [{"id": "sq_1"}]},
    ):
        assert [one.id for one in decode.sequences(body)] == ["sq_1"], body
    assert decode.sequences({"data": None}) == ()


SPELLED: tuple[tuple[Callable[[Any], Any], Any, dict[str, Any]], ...] = (
    (
        lambda body: decode.leads(body).items[0],
        Lead(id="ld_1", email="ada@x.io", status="active", first_name="Ada", last_name="King", company="Engines"),
        {"id": "ld_1", "emailAddress": "ada@x.io", "state": "Active", "firstName": "Ada", "surname": "King", "companyName": "Engines"},
    ),
    (
        lambda body: decode.sequences(body)[0],
        Sequence(id="sq_1", name="Q4", status="paused", steps=4),
        {"sequenceId": "sq_1", "title": "Q4", "status": "paused", "stepCount": "4"},
    ),
    (
        lambda body: decode.sequences(body)[0],
        Sequence(id="sq_1", name="Q4", steps=2),
        {"id": "sq_1", "label": "Q4", "steps": [{}, {}]},
    ),
    (
        lambda body: decode.inboxes(body)[0],
        Inbox(email="a@b.io", health_score=91.5, daily_limit=1250, status="resting"),
        {"address": "a@b.io", "healthScore": "91.5", "dailyLimit": "1,250", "status": "resting"},
    ),
    (
        lambda body: decode.inboxes(body)[0],
        Inbox(email="a@b.io", id="ib_1", health_score=91, daily_limit=40),
        {"email": "a@b.io", "inbox_id": "ib_1", "health": {"score": "91%"}, "daily_send_limit": 40},
    ),
    (
        lambda body: decode.stats(body)[0],
        StatsRow(group="Q4", sends=9, replies=3, positive_replies=2, meetings=1),
        {"group": "Q4", "sent": 9, "replyCount": 3, "positiveReplies": 2, "meetingsBooked": "1"},
    ),
)  # fmt: skip


@pytest.mark.parametrize(("read", "meaning", "item"), SPELLED)
def test_names_come_in_camel_case_or_as_a_synonym_and_numbers_as_text(
    read: Callable[[Any], Any], meaning: Any, item: dict[str, Any]
) -> None:
    assert read([item]) == meaning
    assert read({"data": [item]}).raw == item


def test_a_missing_value_is_unknown() -> None:
    assert decode.inboxes([{"email": "a@b.io"}]) == (Inbox(email="a@b.io"),)
    assert decode.stats([{"group": "Q4", "sends": None}]) == (StatsRow(group="Q4"),)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ([{"name": "A", "color": "red"}], ["GET /sequences", "`id`", "name, color", '[fields.sequence]: id = "path.to.it"']),
        ({"sequence_list": 7, "ok": True}, ["GET /sequences", "no list was found", "sequence_list, ok", '[fields.sequence]: list = "']),
        ({}, ["GET /sequences", "no list was found", "an empty object"]),
        (None, ["GET /sequences", "no list was found", "null"]),
        ("sequences", ["GET /sequences", "no list was found", "a string"]),
        ([{"id": "sq_1"}, {}], ["`id`", "an empty object"]),
        ({"error": {"code": "oops", "message": "no"}}, ["no list was found", "error"]),
    ],
)  # fmt: skip
def test_an_unreadable_response_names_endpoint_field_keys_and_fix(body: Any, text: list[str]) -> None:
    with pytest.raises(Unreadable) as caught:
        decode.sequences(body)
    assert [part for part in text if part not in str(caught.value)] == []


def test_the_fix_in_an_error_works() -> None:
    body = {"sequence_list": {"all": [{"ref": {"no": "sq_1"}, "name": "A"}]}}
    fields = {"list": "sequence_list.all", "id": "ref.no"}
    assert decode.sequences(body, fields=fields)[0].id == "sq_1"
    rows = decode.stats([{"what": "Q4", "sends": 3}], fields={"group": "what"})
    assert (rows[0].group, rows[0].sends) == ("Q4", 3)


def test_a_fields_line_that_finds_nothing_leaves_the_table_in_force() -> None:
    inboxes = decode.inboxes([{"email": "a@b.io", "health": 91}], fields={"health_score": "metrics.health"})
    assert inboxes[0].health_score == 91


def test_a_rare_name_is_not_guessed_and_a_fields_line_tells_it() -> None:
    body = [{"id": "sq_1", "touches": 4}]
    assert decode.sequences(body)[0].steps is None
    assert decode.sequences(body, fields={"steps": "touches"})[0].steps == 4


@pytest.mark.parametrize(
    ("row", "group_by", "group"),
    [
        ({"sequence": {"id": "sq_1", "name": "Q4"}, "sends": 1}, "sequence", "Q4"),
        ({"group": "sequence", "name": "Q4", "sends": 1}, "sequence", "Q4"),
        ({"group": {"value": 2}, "sends": 1}, "step", "2"),
        ({"step": 2, "sequence_id": "sq_1", "sends": 1}, "step", "2"),
        ({"variant": "B", "sends": 1}, "variant", "B"),
        ({"inbox_email": "a@b.io", "inbox_id": "ib_1", "sends": 1}, "inbox", "a@b.io"),
        ({"sequence_id": "sq_1", "sends": 1}, "sequence", "sq_1"),
    ],
)
def test_a_row_of_stats_is_called_by_its_name_before_its_id(row: Any, group_by: str, group: str) -> None:
    (found,) = decode.stats({"data": [row]}, group_by=group_by)
    assert (found.group, found.sends, found.replies) == (group, 1, None)


@pytest.mark.parametrize(
    ("skipped", "read"),
    [
        ([], []),
        (None, []),
        ([{"email": "a@b.io", "reason": "duplicate"}], [("a@b.io", "duplicate")]),
        ([{"lead": {"email": "a@b.io"}, "error": {"code": "blocklisted"}}], [("a@b.io", "blocklisted")]),
        (["a@b.io"], [("a@b.io", None)]),
        (2, [(None, None)] * 2),
    ],
)
def test_what_was_skipped_is_read(skipped: Any, read: list[tuple[str | None, str | None]]) -> None:
    result = decode.added({"added": "3", "skipped": skipped})
    assert (result.added, [(one.email, one.reason) for one in result.skipped]) == (3, read)
    assert isinstance(decode.added({"data": {"added": 3, "skipped": skipped}}).skipped, tuple)


@pytest.mark.parametrize("body", [None, "ok", [], 7, {}])
def test_an_answer_that_counts_nothing_leaves_the_count_unknown(body: Any) -> None:
    assert decode.added(body) == AddResult(added=None)


def test_a_list_of_what_was_added_is_counted() -> None:
    result = decode.added({"added": [{"id": "ld_1"}, {"id": "ld_2"}], "skipped": [{"email": "a@b.io"}]})
    assert (result.added, result.skipped) == (2, (Skipped(email="a@b.io"),))


@pytest.mark.parametrize(
    "body",
    [
        {"id": "wh_1", "secret": "s"},
        {"data": {"id": "wh_1", "signing_secret": "s"}},
        {"webhook": {"id": "wh_1", "secret": "s"}},
    ],
)
def test_a_secret_is_found_and_never_shown(body: Any) -> None:
    made = decode.subscription(body, url="https://x.io", events=("lead.replied",))
    assert (made.id, made.secret, "secret" in repr(made)) == ("wh_1", "s", False)


def test_a_secret_without_an_id_is_not_lost() -> None:
    assert decode.subscription({"secret": "s"}, url="https://x.io", events=()).secret == "s"


SECRETS = st.sampled_from(["ada@x.io", "Top secret", "sq_1a2b", "42", "Q4 – Berlin"])


@given(
    st.recursive(
        SECRETS | st.integers(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["id", "name", "data", "email", "odd_field"]), inner, max_size=3
            )
        ),
    )
)
def test_a_shape_holds_no_value(body: Any) -> None:
    text = "\n".join(shape(body))
    assert not any(secret in text for secret in ("ada@x.io", "Top secret", "sq_1a2b", "42", "Berlin"))


def test_a_key_that_is_data_is_not_written_down() -> None:
    body = {"data": {"Q4 Berlin": {"sends": 1}, "ada@x.io": {"sends": 2}}, "Spring": {"sends": 3}}
    assert {line.partition(":")[0] for line in shape(body)} <= {
        ".",
        "data",
        "data.*",
        "data.*.sends",
        "*",
        "*.sends",
        "Spring",
        "Spring.sends",
    }


@pytest.mark.parametrize(
    ("row", "group_by", "key"),
    [
        ({"group": "Spring", "id": "sq_1"}, "sequence", "sq_1"),
        ({"name": "Spring", "sequence_id": "sq_1"}, "sequence", "sq_1"),
        ({"sequence": {"id": "sq_1", "name": "Spring"}}, "sequence", "sq_1"),
        ({"email": "ann@x.example", "id": "ib_1"}, "inbox", "ib_1"),
        ({"sequence": "Spring"}, "sequence", None),
    ],
)
def test_a_row_of_stats_keeps_the_id_of_its_group(
    row: dict[str, object], group_by: str, key: str | None
) -> None:
    (found,) = decode.stats({"data": [{**row, "sends": 3}]}, group_by=group_by)
    assert found.id == key


PATHS = st.lists(st.text(alphabet="abcdefgh", min_size=1, max_size=6), min_size=1, max_size=4)


@given(PATHS, st.integers(min_value=0, max_value=100))
def test_a_fields_line_finds_a_value_wherever_it_is(path: list[str], score: int) -> None:
    item: Any = score
    for name in reversed(path):
        item = {name: item}
    body = [{"email": "a@b.io", "odd": item, "health": 1}]
    dotted = ".".join(["odd", *path])
    assert decode.inboxes(body, fields={"health_score": dotted})[0].health_score == score


def test_a_fields_line_leads_into_a_list_and_through_either_spelling() -> None:
    item = {"email": "a@b.io", "dailyScores": [{"value": 80}, {"value": 91}]}
    fields = {"health_score": "daily_scores.1.value"}
    assert decode.inboxes([item], fields=fields)[0].health_score == 91


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "id", "email", "group", "leads", "raw"]) | st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_no_json_at_all_brings_the_decoder_down(body: Any) -> None:
    for read in (decode.leads, decode.sequences, decode.inboxes, decode.stats):
        with contextlib.suppress(Unreadable):
            assert read(body) is not None
    with contextlib.suppress(Unreadable):
        decode.subscription(body, url="https://x.io", events=())
    assert decode.added(body).repeated is False
    assert decode.changed_sequence(body, id="sq_1", status="paused").id == "sq_1"
